//! Classification of packets into data packets and control packets.

use corpus::ControlPacket;
use dumper::Psn;
use dumper::wire::{NakCode, Opcode, Syndrome};
use p4::{Kind, Packet};

#[test]
fn acknowledgements_are_told_apart_by_their_syndrome() {
    for (byte, kind) in (0..=255u8).map(|byte| {
        let kind = match byte >> 5 {
            0b000 => Kind::Control(ControlPacket::Ack),
            0b001 | 0b011 => Kind::Control(ControlPacket::Nak),
            _ => Kind::Other,
        };
        (byte, kind)
    }) {
        let packet = Packet::new(Opcode::Acknowledge, Some(Syndrome::from(byte)), Psn::new(5), 62);
        let asks_again = byte == 0b011_00000;
        assert_eq!(packet, Packet { kind, psn: Psn::new(5), frame_bytes: 62, asks_again }, "{byte:#04x}");
    }
    assert_eq!(Packet::new(Opcode::Acknowledge, None, Psn::new(5), 62).kind, Kind::Other);
}

#[test]
fn opcodes() {
    let nak = Some(Syndrome::Nak(NakCode::PsnSequenceError));
    let kind = |opcode| Packet::new(opcode, nak, Psn::new(1), 62).kind;
    for opcode in Opcode::KNOWN {
        let name = opcode.to_string();
        let expected = match *opcode {
            Opcode::ReadRequest => Kind::Control(ControlPacket::ReadRequest),
            Opcode::Cnp => Kind::Control(ControlPacket::Cnp),
            Opcode::Acknowledge => Kind::Control(ControlPacket::Nak),
            Opcode::AtomicAcknowledge | Opcode::CompareSwap | Opcode::FetchAdd => Kind::Other,
            Opcode::UdSendOnly | Opcode::UdSendOnlyImm => Kind::Other,
            _ => {
                let is = |words: [&str; 2]| words.iter().any(|word| name.contains(word));
                Kind::Data { starts: is(["FIRST", "ONLY"]), ends: is(["LAST", "ONLY"]) }
            }
        };
        assert_eq!(kind(*opcode), expected, "{name}");
    }
    assert_eq!(kind(Opcode::Unknown(0xff)), Kind::Other);
}
