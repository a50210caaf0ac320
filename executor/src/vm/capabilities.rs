//! Capabilities of `rdma_rxe` in emulated guests.

use corpus::{Capabilities, Quick, RoceSetting};

use crate::guests::of_rxe;

/// Message bytes of a test: each host has 256 MB of memory for all that it runs.
const MAX_BYTES: u64 = 32 << 20;

/// Entries of a flow table in each direction.
const MAX_FLOWS: u32 = 4_096;

/// Exponents of the ACK timer: a timer shorter than 67 ms expires on its own in an emulated host, and retries
/// longer than a second take more time of a test than their findings are worth.
const TIMEOUTS: std::ops::RangeInclusive<u8> = 14..=18;

/// Longest that a packet is held, for the same reason.
const MAX_DELAY_NS: u64 = 100_000_000;

/// Tests that run in some tenths of a second, so that a campaign gets through several of them each second: a
/// QP takes each host about 1 ms to make, connect and destroy, 2 MB of messages a quarter of a second to
/// send, and a loss at the end of a message the shortest timer: with one of 200 packets lost at each link that is some times.
const QUICK: Quick =
    Quick { max_connections: 16, max_bytes: 2 << 20, timeouts: 14..=14, max_loss_ppb: 5_000_000 };

/// Capabilities of the VM testbed.
#[must_use]
pub fn capabilities() -> Capabilities {
    Capabilities {
        max_delay_ns: MAX_DELAY_NS,
        max_bytes: MAX_BYTES,
        timeouts: TIMEOUTS,
        deterministic: false,
        // The kernel's, which looks up each packet of rdma_rxe.
        settings: [RoceSetting::Offload].into(),
        max_flows: MAX_FLOWS,
        quick: Some(QUICK),
        ..of_rxe()
    }
}
