//! Names of packets: those of opcodes, and of acknowledgements by their syndrome.

use std::fmt;

use super::{ControlKind, Field, nearest};
use crate::Record;
use crate::wire::{Class, Layer, NakCode, Opcode, Syndrome};

/// Kind of packet that a line names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Any opcode but ACK.
    Opcode(Opcode),
    /// An ACK by its syndrome, without credits and timer.
    Answer(Syndrome),
}

/// Acknowledgements that have a name of their own; others are written as a number.
const ANSWERS: [(Syndrome, &str); 7] = [
    (Syndrome::Ack(0), "ACK"),
    (Syndrome::RnrNak(0), "RNR-NAK"),
    (Syndrome::Nak(NakCode::PsnSequenceError), "NAK-SEQ"),
    (Syndrome::Nak(NakCode::InvalidRequest), "NAK-INVALID"),
    (Syndrome::Nak(NakCode::RemoteAccessError), "NAK-ACCESS"),
    (Syndrome::Nak(NakCode::RemoteOperationalError), "NAK-OPERATIONAL"),
    (Syndrome::Nak(NakCode::InvalidRdRequest), "NAK-INVALID-RD"),
];

impl Name {
    /// The name of an opcode; an ACK is a positive one.
    pub const fn opcode(opcode: Opcode) -> Self {
        match opcode {
            Opcode::Acknowledge => Self::answer(Syndrome::Ack(0)),
            other => Self(Kind::Opcode(other)),
        }
    }

    /// The name of an acknowledgement.
    pub const fn answer(syndrome: Syndrome) -> Self {
        Self(Kind::Answer(match syndrome {
            Syndrome::Ack(_) => Syndrome::Ack(0),
            Syndrome::RnrNak(_) => Syndrome::RnrNak(0),
            other => other,
        }))
    }

    /// The name of a packet.
    pub fn of(record: &Record) -> Self {
        match record.opcode() {
            Opcode::Acknowledge => Self::answer(record.aeth().syndrome),
            other => Self::opcode(other),
        }
    }

    /// The opcode.
    pub const fn to_opcode(self) -> Opcode {
        match self.0 {
            Kind::Opcode(opcode) => opcode,
            Kind::Answer(_) => Opcode::Acknowledge,
        }
    }

    /// Class of the packet in a reliable connection.
    pub fn class(self) -> Class {
        self.to_opcode().class()
    }

    /// Kind of control packet to the injector; `None` for data packets.
    pub fn control(self) -> Option<ControlKind> {
        match self.0 {
            Kind::Answer(Syndrome::Ack(_)) => Some(ControlKind::Ack),
            Kind::Answer(Syndrome::Nak(_) | Syndrome::RnrNak(_)) => Some(ControlKind::Nak),
            Kind::Opcode(Opcode::ReadRequest) => Some(ControlKind::ReadRequest),
            Kind::Opcode(Opcode::Cnp) => Some(ControlKind::Cnp),
            Kind::Answer(Syndrome::Reserved(_)) | Kind::Opcode(_) => None,
        }
    }

    /// Returns true if packets of this name have a field that lines can check.
    pub fn has(self, field: Field) -> bool {
        let carries = |layer| self.to_opcode().extension_layers().any(|(carried, _)| carried == layer);
        match field {
            Field::Psn => self.class() != Class::Cnp,
            Field::Iter => self.class().is_data(),
            Field::Nth => self.control().is_some(),
            Field::Msn => carries(Layer::Aeth),
            Field::Dma | Field::Offset => carries(Layer::Reth),
            Field::Timer => self.0 == Kind::Answer(Syndrome::RnrNak(0)),
            Field::AckReq | Field::Len | Field::MigReq | Field::Ce => true,
        }
    }

    /// Reads a name; otherwise gives the nearest known one, if one is near.
    pub(super) fn read(text: &str) -> Result<Self, Option<String>> {
        let number = |prefix| {
            let digits = text.strip_prefix(prefix)?;
            (digits.len() <= 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
        };
        if let Some((syndrome, _)) = ANSWERS.iter().find(|(_, name)| *name == text) {
            return Ok(Self::answer(*syndrome));
        }
        if let Some(byte) = number("AETH_0x") {
            return Ok(Self::answer(Syndrome::from(byte)));
        }
        if let Some(byte) = number("OPCODE_0x") {
            return Ok(Self::opcode(Opcode::from(byte)));
        }
        let known = Opcode::KNOWN.iter().filter(|opcode| **opcode != Opcode::Acknowledge);
        let known: Vec<(Opcode, String)> = known.map(|opcode| (*opcode, opcode.to_string())).collect();
        if let Some((opcode, _)) = known.iter().find(|(_, name)| name == text) {
            return Ok(Self::opcode(*opcode));
        }
        let answers = ANSWERS.iter().map(|(_, name)| *name);
        let names = answers.chain(known.iter().map(|(_, name)| name.as_str()));
        Err(nearest(text, names).map(str::to_owned))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Opcode(opcode) => f.pad(&opcode.to_string()),
            Kind::Answer(syndrome) => match ANSWERS.iter().find(|(known, _)| *known == syndrome) {
                Some((_, name)) => f.pad(name),
                None => f.pad(&format!("AETH_{:#04x}", u8::from(syndrome))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_and_syndrome_has_a_name() {
        for byte in 0..=255 {
            let opcode = Name::opcode(Opcode::from(byte));
            assert_eq!(Name::read(&opcode.to_string()), Ok(opcode));
            let answer = Name::answer(Syndrome::from(byte));
            assert_eq!(Name::read(&answer.to_string()), Ok(answer));
        }
    }
}
