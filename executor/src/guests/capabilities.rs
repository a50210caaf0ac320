//! Capabilities of `rdma_rxe` in guests, whatever these are.

use std::collections::BTreeSet;

use corpus::{Capabilities, ControlPacket, RoceParameters};

use super::ADDRESSES;

/// Connections of a test: each takes both hosts, which have one processor each, about a millisecond to make and destroy.
const MAX_CONNECTIONS: u32 = 64;

/// All but what rdma_rxe has not: the limits of the guests come beside.
pub(crate) fn of_rxe() -> Capabilities {
    let mut all = Capabilities::all();
    // It answers no ECN mark with a CNP.
    all.control_packets.retain(|packet| *packet != ControlPacket::Cnp);
    Capabilities {
        pfc: false,
        control: false,
        max_connections: MAX_CONNECTIONS,
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
        ..all
    }
}
