//! Capabilities of `rdma_rxe` in user-mode guests.

use corpus::config::fields::LOSS_PPB;
use corpus::{Capabilities, Quick};

use crate::guests::of_rxe;

/// Lanes of a campaign, whatever the number of jobs.
pub(super) const LANES: u8 = 4;

/// Message bytes of a test: each host has 128 MB of memory for all that it runs.
const MAX_BYTES: u64 = 16 << 20;

/// Tests of some tens of milliseconds: a packet takes both hosts about 0.1 ms. Time-outs cost nothing, whatever their exponent.
const QUICK: Quick =
    Quick { max_connections: 16, max_bytes: 2 << 20, timeouts: 1..=31, max_loss_ppb: LOSS_PPB.max as u32 };

/// Capabilities of the testbed of user-mode guests.
#[must_use]
pub fn capabilities() -> Capabilities {
    Capabilities { max_bytes: MAX_BYTES, lanes: Some(LANES), quick: Some(QUICK), ..of_rxe() }
}
