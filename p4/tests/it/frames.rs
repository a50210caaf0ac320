//! Frames: those that a real stack sent, and made ones of every kind.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dumper::Psn;
use dumper::wire::frame::{ExtensionReprs, Frame, IpRepr, Parsed, UdpPorts};
use dumper::wire::{AethRepr, BthRepr, FrameRepr, Ipv4Repr, Ipv6Repr, Mac, Opcode, RethRepr, Syndrome, icrc};

/// Addresses of the two hosts, requester's first.
pub(crate) const MACS: [Mac; 2] = [Mac(0x5254_0000_0001), Mac(0x5254_0000_0002)];

/// A packet between the hosts of the tests' connections.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) v6: bool,
    pub(crate) to_responder: bool,
    pub(crate) connection: u32,
    pub(crate) traffic_class: u8,
    pub(crate) opcode: Opcode,
    pub(crate) psn: u32,
    pub(crate) payload: u16,
    pub(crate) vlan: Option<u16>,
    pub(crate) mig_req: bool,
    /// Of the AETH, in packets that have one.
    pub(crate) syndrome: u8,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            v6: false,
            to_responder: true,
            connection: 1,
            traffic_class: 2,
            opcode: Opcode::WriteMiddle,
            psn: 1,
            payload: 1024,
            vlan: None,
            mig_req: true,
            // A NAK of a PSN sequence error.
            syndrome: 0x60,
        }
    }
}

impl Made {
    pub(crate) fn frame(&self) -> Vec<u8> {
        let (from, to) = if self.to_responder { (0, 1) } else { (1, 0) };
        let ip = if self.v6 {
            let address = |host: usize| Ipv6Addr::from_bits((0xfd00 << 112) + host as u128 + 1);
            IpRepr::V6(Ipv6Repr {
                traffic_class: self.traffic_class,
                flow_label: 0xabcde,
                payload_length: 0,
                next_header: 0,
                hop_limit: 64,
                source: address(from),
                destination: address(to),
            })
        } else {
            let address = |host: usize| Ipv4Addr::new(10, 0, 0, host as u8 + 1);
            IpRepr::V4(Ipv4Repr {
                traffic_class: self.traffic_class,
                total_length: 0,
                identification: 0x1234,
                dont_fragment: true,
                ttl: 64,
                protocol: 0,
                source: address(from),
                destination: address(to),
            })
        };
        let syndrome = Syndrome::from(self.syndrome);
        let qpn = 0x100 + 0x100 * to as u32 + self.connection;
        let mut bth = BthRepr::new(self.opcode, qpn, Psn::new(self.psn));
        bth.ack_req = true;
        bth.mig_req = self.mig_req;
        let repr = FrameRepr {
            destination: MACS[to],
            source: MACS[from],
            vlan: self.vlan,
            ip,
            src_port: 49_152,
            bth,
            extensions: ExtensionReprs {
                reth: Some(RethRepr { virtual_address: 0x7000_1000, remote_key: 0x55, dma_length: 4096 }),
                aeth: Some(AethRepr { syndrome, msn: 77 }),
                ..ExtensionReprs::default()
            },
            payload_len: self.payload,
        };
        let mut frame = Vec::new();
        repr.emit(&mut frame).unwrap();
        frame
    }
}

/// A frame's packet.
pub(crate) fn parse(frame: &[u8]) -> Frame<'_> {
    match Frame::parse(frame, UdpPorts::Roce) {
        Ok(Parsed::Roce(frame)) => frame,
        other => panic!("{other:?}"),
    }
}

/// Destination address of a frame's packet, where it is of IPv4.
pub(crate) fn v4(frame: &[u8], at: usize) -> IpAddr {
    IpAddr::from(<[u8; 4]>::try_from(&frame[at..at + 4]).unwrap())
}

/// Internet checksum over the IPv4 header of a frame: 0 where the one that it has is right.
pub(crate) fn ip_checksum(frame: &[u8]) -> u32 {
    let at = if frame[12..14] == [0x81, 0] { 18 } else { 14 };
    let words = frame[at..at + 20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) & 0xffff
}

/// The frames of a capture of a real stack, as they were before they were mirrored and trimmed: with the hosts' MAC
/// addresses and TTL, as long as the IP header says, and with a right ICRC.
pub(crate) fn captured(name: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    let (mut rest, mut frames) = (&bytes[24..], Vec::new());
    while !rest.is_empty() {
        let number = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
        let (kept, len) = (number(8), number(12));
        let mut frame = rest[16..16 + kept].to_vec();
        frame.resize(len, 0x5a);
        let from = usize::from(frame[29] == 2);
        frame[..6].copy_from_slice(&MACS[1 - from].0.to_be_bytes()[2..]);
        frame[6..12].copy_from_slice(&MACS[from].0.to_be_bytes()[2..]);
        frame[22] = 64;
        frame[24..26].fill(0);
        let checksum = ip_checksum(&frame) as u16;
        frame[24..26].copy_from_slice(&checksum.to_be_bytes());
        let crc = icrc::compute(&frame[14..len - icrc::LEN]).unwrap();
        frame[len - icrc::LEN..].copy_from_slice(&crc.to_le_bytes());
        frames.push(frame);
        rest = &rest[16 + kept..];
    }
    frames
}
