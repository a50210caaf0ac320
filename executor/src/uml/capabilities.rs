//! Capabilities of `rdma_rxe` in user-mode guests.

use std::collections::BTreeSet;

use corpus::{Capabilities, ControlPacket, Quick, RoceParameters};

use crate::guests::ADDRESSES;

/// Lanes of a campaign, whatever the number of jobs.
pub(super) const LANES: u8 = 4;

/// Message bytes of a test: each host has 128 MB of memory for all that it runs.
const MAX_BYTES: u64 = 16 << 20;

/// Connections of a test: each takes both hosts about a millisecond to make and destroy.
const MAX_CONNECTIONS: u32 = 64;

/// Tests of some tens of milliseconds: a packet takes both hosts about 0.1 ms. Time-outs cost nothing, whatever their exponent.
const QUICK: Quick = Quick { max_connections: 16, max_bytes: 2 << 20, timeouts: 1..=31 };

/// Capabilities of the testbed of user-mode guests.
#[must_use]
pub fn capabilities() -> Capabilities {
    let all = Capabilities::all();
    Capabilities {
        // rdma_rxe answers no ECN mark with a CNP.
        control_packets: all
            .control_packets
            .iter()
            .copied()
            .filter(|packet| *packet != ControlPacket::Cnp)
            .collect(),
        max_connections: MAX_CONNECTIONS,
        max_bytes: MAX_BYTES,
        max_addresses: ADDRESSES.into(),
        // It has neither DCQCN nor traffic classes, and no vendor's parameters.
        settings: BTreeSet::new(),
        fixed: RoceParameters {
            dcqcn_np_enable: false,
            dcqcn_rp_enable: false,
            adaptive_retrans: false,
            slow_restart: false,
            ..RoceParameters::default()
        },
        swaps_nics: false,
        lanes: Some(LANES),
        quick: Some(QUICK),
        ..all
    }
}
