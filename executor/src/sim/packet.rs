//! A packet on the simulated wire.

use dumper::Psn;
use dumper::wire::{AethRepr, Opcode, RethRepr};

/// One RoCEv2 packet, with the fields that its opcode has; the others are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet {
    /// QP of the sender, from 0, which with the host gives its route.
    pub(super) qp: u32,
    /// QP number at the receiver.
    pub(super) dest_qpn: u32,
    /// Operation.
    pub(super) opcode: Opcode,
    /// Packet sequence number.
    pub(super) psn: Psn,
    /// True if the sender requests an acknowledgement (AckReq).
    pub(super) ack_req: bool,
    /// Backward congestion notification, of CNPs.
    pub(super) becn: bool,
    /// MigReq.
    pub(super) mig_req: bool,
    /// DSCP and ECN.
    pub(super) traffic_class: u8,
    /// Payload in bytes.
    pub(super) payload: u16,
    /// Acknowledgement header.
    pub(super) aeth: AethRepr,
    /// RDMA header.
    pub(super) reth: RethRepr,
    /// Identity of the payload: the address, in the memory of the side that has the data, of its first byte.
    /// The address of a byte identifies it, so that nothing need be filled and compared.
    pub(super) content: u64,
    /// True if the ICRC is wrong.
    pub(super) corrupt: bool,
    /// True if the receiver discards it for its headers before any QP sees it (IBA vol. 1, 9.6.1.1 and
    /// 10.9.3).
    pub(super) undeliverable: bool,
    /// Length of its frame without FCS, in bytes; 0 until it is sent.
    pub(super) frame_len: u32,
}

/// Ethernet, IPv4, UDP, BTH and ICRC, in bytes.
const HEADERS: u32 = 14 + 20 + 8 + 12 + 4;

/// Ethernet, IPv6, UDP, BTH and ICRC, in bytes.
const HEADERS_V6: u32 = HEADERS + 20;

/// Bytes of a frame on the cable besides its own: preamble, FCS and the gap between frames (IEEE 802.3).
const CABLE_OVERHEAD: u32 = 8 + 4 + 12;

/// Headers of a VXLAN tunnel before those of its packet: Ethernet, IPv4, UDP and VXLAN (RFC 7348), in bytes.
pub(super) const TUNNEL: u32 = 14 + 20 + 8 + 8;

impl Packet {
    /// Length of the frame that it is sent in, without FCS, in bytes.
    pub(super) fn frame_len_over(&self, ipv6: bool) -> u32 {
        let headers = if ipv6 { HEADERS_V6 } else { HEADERS };
        headers + self.opcode.extensions_len() as u32 + u32::from(self.payload).next_multiple_of(4)
    }
    /// Bytes of its frame on the cable.
    pub(super) const fn cable_len(&self) -> u32 {
        self.frame_len + CABLE_OVERHEAD
    }
}
