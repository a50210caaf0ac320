//! ACK Extended Transport Header (IBA vol. 1, 9.3.5; syndromes: 9.7.5.1, 9.7.5.2).

use std::fmt;

use super::error::Layer;
use super::view::{be, put_be, view};

mod field {
    use std::ops::Range;

    pub(super) const SYNDROME: usize = 0;
    pub(super) const MSN: Range<usize> = 1..4;
}

view! {
    /// View of an ACK Extended Transport Header, 4 bytes: on ACK and NAK, on Read responses FIRST, LAST and
    /// ONLY, and on atomic acknowledgements.
    Aeth, Layer::Aeth, 4
}

impl<T: AsRef<[u8]>> Aeth<T> {
    /// Kind of acknowledgement.
    pub fn syndrome(&self) -> Syndrome {
        Syndrome::from(self.bytes()[field::SYNDROME])
    }

    /// Message sequence number: messages completed by the responder, modulo 2^24 (IBA vol. 1, 9.7.7).
    pub fn msn(&self) -> u32 {
        be(self.bytes(), field::MSN) as u32
    }
}

/// Reasons of a negative acknowledgement (IBA vol. 1, 9.7.5.2, table of NAK codes).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum NakCode {
    /// Packet out of sequence; the requester retransmits from the NAKed PSN.
    PsnSequenceError,
    /// Malformed or unexpected request; ends the QP.
    InvalidRequest,
    /// Key, bounds or permission violation; ends the QP.
    RemoteAccessError,
    /// The responder cannot complete the request; ends the QP.
    RemoteOperationalError,
    /// Reserved for reliable datagrams.
    InvalidRdRequest,
    /// A reserved code.
    Reserved(u8),
}

/// AETH syndrome byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Syndrome {
    /// Positive acknowledgement with its 5-bit credit count code (31: no credits advertised).
    Ack(u8),
    /// Receiver not ready, with its 5-bit timer code (IBA vol. 1, 9.7.5.2.8).
    RnrNak(u8),
    /// Negative acknowledgement.
    Nak(NakCode),
    /// A reserved combination, whole byte.
    Reserved(u8),
}

impl From<u8> for Syndrome {
    fn from(byte: u8) -> Self {
        let low = byte & 0x1f;
        match byte >> 5 {
            0b000 => Self::Ack(low),
            0b001 => Self::RnrNak(low),
            0b011 => Self::Nak(match low {
                0 => NakCode::PsnSequenceError,
                1 => NakCode::InvalidRequest,
                2 => NakCode::RemoteAccessError,
                3 => NakCode::RemoteOperationalError,
                4 => NakCode::InvalidRdRequest,
                other => NakCode::Reserved(other),
            }),
            _ => Self::Reserved(byte),
        }
    }
}

impl From<Syndrome> for u8 {
    fn from(syndrome: Syndrome) -> Self {
        match syndrome {
            Syndrome::Ack(credits) => credits & 0x1f,
            Syndrome::RnrNak(timer) => 0x20 | (timer & 0x1f),
            Syndrome::Nak(code) => {
                0x60 | match code {
                    NakCode::PsnSequenceError => 0,
                    NakCode::InvalidRequest => 1,
                    NakCode::RemoteAccessError => 2,
                    NakCode::RemoteOperationalError => 3,
                    NakCode::InvalidRdRequest => 4,
                    NakCode::Reserved(other) => other & 0x1f,
                }
            }
            Syndrome::Reserved(byte) => byte,
        }
    }
}

impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ack(_) => f.write_str("ACK"),
            Self::RnrNak(timer) => write!(f, "RNR NAK timer {timer}"),
            Self::Nak(NakCode::PsnSequenceError) => f.write_str("NAK PSN sequence error"),
            Self::Nak(NakCode::InvalidRequest) => f.write_str("NAK invalid request"),
            Self::Nak(NakCode::RemoteAccessError) => f.write_str("NAK remote access error"),
            Self::Nak(NakCode::RemoteOperationalError) => f.write_str("NAK remote operational error"),
            Self::Nak(NakCode::InvalidRdRequest) => f.write_str("NAK invalid RD request"),
            Self::Nak(NakCode::Reserved(code)) => write!(f, "NAK reserved code {code}"),
            Self::Reserved(byte) => write!(f, "reserved syndrome {byte:#04x}"),
        }
    }
}

/// Meaning of an ACK Extended Transport Header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AethRepr {
    /// Kind of acknowledgement.
    pub syndrome: Syndrome,
    /// Message sequence number, 24 bits.
    pub msn: u32,
}

impl AethRepr {
    /// Length in bytes.
    pub const LEN: usize = 4;
    /// Credit count code that advertises no end-to-end credits.
    pub const NO_CREDITS: u8 = 0x1f;

    /// Reads the header.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(aeth: &Aeth<T>) -> Self {
        Self { syndrome: aeth.syndrome(), msn: aeth.msn() }
    }

    /// Writes the header.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, aeth: &mut Aeth<T>) {
        let bytes = aeth.bytes_mut();
        bytes[field::SYNDROME] = self.syndrome.into();
        put_be(bytes, field::MSN, u64::from(self.msn));
    }
}

/// From the header's four bytes as one big-endian number, which is how a trace record keeps them.
impl From<u32> for AethRepr {
    fn from(bits: u32) -> Self {
        Self { syndrome: Syndrome::from((bits >> 24) as u8), msn: bits & 0xff_ffff }
    }
}

impl From<AethRepr> for u32 {
    fn from(aeth: AethRepr) -> Self {
        (Self::from(u8::from(aeth.syndrome)) << 24) | (aeth.msn & 0xff_ffff)
    }
}
