//! Congestion Notification Packet (annex A17.9.3): a BTH with BECN set and 16 reserved bytes of zero.

use super::{BthRepr, Opcode};
use crate::Psn;

/// Length of the reserved payload of a CNP in bytes; all of it is zero.
pub const CNP_PAYLOAD_LEN: usize = 16;

/// The BTH of a CNP to `dest_qpn`: PSN 0, BECN set, no AckReq.
pub const fn cnp_bth(dest_qpn: u32) -> BthRepr {
    let mut bth = BthRepr::new(Opcode::Cnp, dest_qpn, Psn::new(0));
    bth.becn = true;
    bth
}
