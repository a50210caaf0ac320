//! Effect of the injector's rewriting of a header field: here packets are structs, so the receiver's reading
//! of the bytes is computed.

use corpus::{HeaderField, SetField};
use dumper::wire::{AethRepr, Class, Opcode, Syndrome};

use crate::sim::packet::Packet;

/// Content of bytes that belong nowhere: a receiver took headers for payload, or the other way round.
const ALIEN: u64 = 0;

/// Ethernet header, and IP header by version, in bytes.
const ETHERNET: u32 = 14;
const IP: [u32; 2] = [20, 40];

/// Required value of the low 15 bits of a partition key (IBA vol. 1, 10.9.3): all packets here have the
/// default partition's.
const PARTITION: u64 = 0x7fff;

/// Rewrites a field; false if the packet has none, or has that value already.
pub(super) fn rewrite(packet: &mut Packet, set: SetField, ipv6: bool) -> bool {
    let SetField { field, value } = set;
    let (has_reth, has_aeth) = (has_reth(packet.opcode), has_aeth(packet.opcode));
    let before = *packet;
    let apply = |old: u64| set.apply(old);
    match field {
        HeaderField::MigReq => packet.mig_req = value != 0,
        HeaderField::Opcode => set_opcode(packet, Opcode::from(value as u8)),
        HeaderField::Psn => packet.psn = dumper::Psn::new(apply(packet.psn.value().into()) as u32),
        HeaderField::DestQpn => packet.dest_qpn = apply(packet.dest_qpn.into()) as u32,
        HeaderField::AckReq => packet.ack_req = value != 0,
        HeaderField::PartitionKey => packet.undeliverable |= value & PARTITION != PARTITION,
        HeaderField::PadCount => {
            packet.payload = packet.payload.next_multiple_of(4).saturating_sub(value as u16);
        }
        HeaderField::UdpLength => {
            packet.undeliverable |= value != u64::from(before.frame_len - ETHERNET - IP[usize::from(ipv6)]);
        }
        HeaderField::IpLength => {
            let own = if ipv6 { IP[1] } else { 0 };
            packet.undeliverable |= value != u64::from(before.frame_len - ETHERNET - own);
        }
        HeaderField::RethAddress if has_reth => {
            packet.reth.virtual_address = apply(packet.reth.virtual_address);
        }
        HeaderField::RethKey if has_reth => {
            packet.reth.remote_key = apply(packet.reth.remote_key.into()) as u32;
        }
        HeaderField::RethLength if has_reth => packet.reth.dma_length = value as u32,
        HeaderField::AethSyndrome if has_aeth => packet.aeth.syndrome = Syndrome::from(value as u8),
        HeaderField::Msn if has_aeth => packet.aeth.msn = apply(packet.aeth.msn.into()) as u32,
        HeaderField::Payload => truncate(packet, value as u16),
        HeaderField::RethAddress
        | HeaderField::RethKey
        | HeaderField::RethLength
        | HeaderField::AethSyndrome
        | HeaderField::Msn => {}
    }
    *packet != before
}

/// Another operation: the bytes behind the BTH are read with the headers of that one.
fn set_opcode(packet: &mut Packet, opcode: Opcode) {
    let (old, new) = (packet.opcode.extensions_len() as u16, opcode.extensions_len() as u16);
    let pad = packet.payload.next_multiple_of(4) - packet.payload;
    let behind = old + packet.payload.next_multiple_of(4);
    if new != old {
        packet.payload = behind.saturating_sub(new + pad);
        packet.content = ALIEN;
    }
    packet.undeliverable |= new > behind;
    if has_reth(opcode) && !has_reth(packet.opcode) {
        // Eight other bytes are never a valid key.
        packet.reth.remote_key = !packet.reth.remote_key;
    }
    if has_aeth(opcode) && !has_aeth(packet.opcode) {
        packet.aeth = AethRepr::from(0);
    }
    packet.opcode = opcode;
}

/// Cuts the payload; the pad count stays, and removes so many bytes from the end.
fn truncate(packet: &mut Packet, most: u16) {
    let padded = packet.payload.next_multiple_of(4);
    if packet.payload > most {
        let pad = padded - packet.payload;
        packet.frame_len -= u32::from(padded - most);
        packet.payload = most.saturating_sub(pad);
    }
}

fn has_reth(opcode: Opcode) -> bool {
    match opcode.class() {
        Class::Request(dumper::wire::Verb::Write, position) => position.starts(),
        class => class == Class::ReadRequest,
    }
}

fn has_aeth(opcode: Opcode) -> bool {
    opcode.class() == Class::Acknowledge
        || (matches!(opcode.class(), Class::ReadResponse(_)) && opcode != Opcode::ReadResponseMiddle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumper::Psn;
    use dumper::wire::RethRepr;

    fn write(opcode: Opcode, payload: u16) -> Packet {
        let mut packet = Packet {
            qp: 0,
            dest_qpn: 0x44,
            opcode,
            psn: Psn::new(7),
            ack_req: false,
            becn: false,
            mig_req: true,
            traffic_class: 0,
            payload,
            aeth: AethRepr { syndrome: Syndrome::Ack(0), msn: 0 },
            reth: RethRepr { virtual_address: 0x1000, remote_key: 5, dma_length: payload.into() },
            content: 0x1000,
            corrupt: false,
            undeliverable: false,
            frame_len: 0,
        };
        packet.frame_len = packet.frame_len_over(false);
        packet
    }

    fn after(opcode: Opcode, payload: u16, field: HeaderField, value: u64) -> Packet {
        let mut packet = write(opcode, payload);
        rewrite(&mut packet, SetField { field, value }, false);
        packet
    }

    #[test]
    fn receivers_read_what_the_bytes_say() {
        // 16 bytes of RETH become payload.
        let middle = after(Opcode::WriteOnly, 100, HeaderField::Opcode, 0x07);
        assert_eq!((middle.opcode, middle.payload, middle.content), (Opcode::WriteMiddle, 116, ALIEN));
        // An empty packet has no RETH to give.
        assert!(after(Opcode::WriteMiddle, 0, HeaderField::Opcode, 0x0a).undeliverable);
        assert_eq!(after(Opcode::WriteOnly, 10, HeaderField::PadCount, 0).payload, 12);
        let cut = after(Opcode::WriteOnly, 10, HeaderField::Payload, 8);
        assert_eq!((cut.payload, cut.frame_len), (6, write(Opcode::WriteOnly, 10).frame_len - 4));
        assert_eq!(after(Opcode::WriteOnly, 10, HeaderField::Psn, 0xff_ffff).psn, Psn::new(6));
        assert!(after(Opcode::WriteOnly, 10, HeaderField::PartitionKey, 0x1234).undeliverable);
        assert!(!after(Opcode::WriteOnly, 10, HeaderField::PartitionKey, 0x7fff).undeliverable);
        let length = u64::from(write(Opcode::WriteOnly, 10).frame_len) - 34;
        assert!(!after(Opcode::WriteOnly, 10, HeaderField::UdpLength, length).undeliverable);
        assert!(after(Opcode::WriteOnly, 10, HeaderField::IpLength, length).undeliverable);
    }

    #[test]
    fn what_a_packet_does_not_have_passes() {
        let mut packet = write(Opcode::WriteMiddle, 256);
        for field in [HeaderField::RethKey, HeaderField::RethLength, HeaderField::Msn] {
            assert!(!rewrite(&mut packet, SetField { field, value: 9 }, true), "{field:?}");
        }
        assert!(!rewrite(&mut packet, SetField { field: HeaderField::Payload, value: 256 }, true));
    }
}
