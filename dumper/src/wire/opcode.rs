//! BTH opcodes (IBA vol. 1, 9.2, table of opcodes; annex A17.9.3 for the CNP).

use std::fmt;

use super::{AethRepr, AtomicAckEthRepr, AtomicEthRepr, DethRepr, IethRepr, ImmDtRepr, Layer, RethRepr};

/// Position of a packet in its message or response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Position {
    /// First of several.
    First,
    /// Neither first nor last.
    Middle,
    /// Last of several.
    Last,
    /// The only one.
    Only,
}

impl Position {
    /// Returns true if a message or response starts with this packet.
    #[inline]
    pub const fn starts(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Returns true if a message or response ends with this packet.
    #[inline]
    pub const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// Operation that carries data from requester to responder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Verb {
    /// Send, with or without immediate or invalidate.
    Send,
    /// RDMA Write, with or without immediate.
    Write,
}

/// Class of an opcode in a reliable connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Class {
    /// Packet of a Send or Write request.
    Request(Verb, Position),
    /// Read request: one packet that stands for as many PSNs as its response has packets.
    ReadRequest,
    /// CmpSwap or FetchAdd request.
    AtomicRequest,
    /// Packet of a Read response.
    ReadResponse(Position),
    /// ACK, NAK or RNR NAK, distinguished by the AETH syndrome.
    Acknowledge,
    /// Atomic acknowledgement.
    AtomicAcknowledge,
    /// Congestion notification.
    Cnp,
    /// Unreliable datagram.
    Datagram,
    /// Not an operation that this crate knows; carried and counted, not judged.
    Unknown,
}

impl Class {
    /// Returns true if packets of this class flow from requester to responder and take PSNs.
    #[inline]
    pub const fn is_request(self) -> bool {
        matches!(self, Self::Request(..) | Self::ReadRequest | Self::AtomicRequest)
    }

    /// Returns true if packets of this class answer requests, from responder to requester.
    #[inline]
    pub const fn is_response(self) -> bool {
        matches!(self, Self::ReadResponse(_) | Self::Acknowledge | Self::AtomicAcknowledge)
    }

    /// Returns true if this is a *data* packet to the injector: Send and Write requests, Read responses
    /// (Lumina §3.3).
    #[inline]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Request(..) | Self::ReadResponse(_))
    }
}

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $text:literal, $class:expr, [$($ext:ident),*];)*) => {
        /// BTH operation code. Unknown codes survive a round trip.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Opcode {
            $($(#[$doc])* $name,)*
            /// A code that this crate does not know.
            Unknown(u8),
        }

        impl Opcode {
            /// Every known opcode.
            pub const KNOWN: &'static [Self] = &[$(Self::$name),*];

            const INFO: [Info; 256] = {
                let mut table = [Info::new("UNKNOWN", Class::Unknown, 0); 256];
                $(table[$value] = Info::new($text, $class, 0 $(| Extensions::$ext)*);)*
                table
            };
        }

        impl From<u8> for Opcode {
            #[inline]
            fn from(value: u8) -> Self {
                match value {
                    $($value => Self::$name,)*
                    other => Self::Unknown(other),
                }
            }
        }

        impl Opcode {
            /// The code as it stands in the BTH.
            #[inline]
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$name => $value,)*
                    Self::Unknown(other) => other,
                }
            }
        }

        impl From<Opcode> for u8 {
            fn from(opcode: Opcode) -> Self {
                opcode.code()
            }
        }
    };
}

#[derive(Clone, Copy)]
struct Info {
    name: &'static str,
    class: Class,
    extensions: u8,
    /// Length of all of them together, in bytes.
    extensions_len: u8,
}

impl Info {
    const fn new(name: &'static str, class: Class, extensions: u8) -> Self {
        Self { name, class, extensions, extensions_len: Extensions::len(extensions) }
    }
}

/// Extension headers behind the BTH, as bits; they stand in the order of the constants.
pub(crate) struct Extensions;

impl Extensions {
    pub(crate) const DETH: u8 = 1;
    pub(crate) const RETH: u8 = 2;
    pub(crate) const ATOMIC: u8 = 4;
    pub(crate) const AETH: u8 = 8;
    pub(crate) const ATOMIC_ACK: u8 = 16;
    pub(crate) const IMM: u8 = 32;
    pub(crate) const IETH: u8 = 64;

    /// Bit, layer and length in bytes of each, in wire order.
    const IN_ORDER: [(u8, Layer, usize); 7] = [
        (Self::DETH, Layer::Deth, DethRepr::LEN),
        (Self::RETH, Layer::Reth, RethRepr::LEN),
        (Self::ATOMIC, Layer::AtomicEth, AtomicEthRepr::LEN),
        (Self::AETH, Layer::Aeth, AethRepr::LEN),
        (Self::ATOMIC_ACK, Layer::AtomicAckEth, AtomicAckEthRepr::LEN),
        (Self::IMM, Layer::ImmDt, ImmDtRepr::LEN),
        (Self::IETH, Layer::Ieth, IethRepr::LEN),
    ];

    const fn len(bits: u8) -> u8 {
        let (mut at, mut len) = (0, 0);
        while at < Self::IN_ORDER.len() {
            let (bit, _, bytes) = Self::IN_ORDER[at];
            if bits & bit != 0 {
                len += bytes as u8;
            }
            at += 1;
        }
        len
    }
}

use Class::{Acknowledge, AtomicAcknowledge, AtomicRequest, Datagram, ReadRequest, ReadResponse, Request};
use Position::{First, Last, Middle, Only};

opcodes! {
    /// RC Send First.
    SendFirst = 0x00, "SEND_FIRST", Request(Verb::Send, First), [];
    /// RC Send Middle.
    SendMiddle = 0x01, "SEND_MIDDLE", Request(Verb::Send, Middle), [];
    /// RC Send Last.
    SendLast = 0x02, "SEND_LAST", Request(Verb::Send, Last), [];
    /// RC Send Last with Immediate.
    SendLastImm = 0x03, "SEND_LAST_IMM", Request(Verb::Send, Last), [IMM];
    /// RC Send Only.
    SendOnly = 0x04, "SEND_ONLY", Request(Verb::Send, Only), [];
    /// RC Send Only with Immediate.
    SendOnlyImm = 0x05, "SEND_ONLY_IMM", Request(Verb::Send, Only), [IMM];
    /// RC RDMA Write First.
    WriteFirst = 0x06, "WRITE_FIRST", Request(Verb::Write, First), [RETH];
    /// RC RDMA Write Middle.
    WriteMiddle = 0x07, "WRITE_MIDDLE", Request(Verb::Write, Middle), [];
    /// RC RDMA Write Last.
    WriteLast = 0x08, "WRITE_LAST", Request(Verb::Write, Last), [];
    /// RC RDMA Write Last with Immediate.
    WriteLastImm = 0x09, "WRITE_LAST_IMM", Request(Verb::Write, Last), [IMM];
    /// RC RDMA Write Only.
    WriteOnly = 0x0a, "WRITE_ONLY", Request(Verb::Write, Only), [RETH];
    /// RC RDMA Write Only with Immediate.
    WriteOnlyImm = 0x0b, "WRITE_ONLY_IMM", Request(Verb::Write, Only), [RETH, IMM];
    /// RC RDMA Read Request.
    ReadRequest = 0x0c, "READ_REQUEST", ReadRequest, [RETH];
    /// RC RDMA Read Response First.
    ReadResponseFirst = 0x0d, "READ_RESPONSE_FIRST", ReadResponse(First), [AETH];
    /// RC RDMA Read Response Middle.
    ReadResponseMiddle = 0x0e, "READ_RESPONSE_MIDDLE", ReadResponse(Middle), [];
    /// RC RDMA Read Response Last.
    ReadResponseLast = 0x0f, "READ_RESPONSE_LAST", ReadResponse(Last), [AETH];
    /// RC RDMA Read Response Only.
    ReadResponseOnly = 0x10, "READ_RESPONSE_ONLY", ReadResponse(Only), [AETH];
    /// RC Acknowledge.
    Acknowledge = 0x11, "ACK", Acknowledge, [AETH];
    /// RC Atomic Acknowledge.
    AtomicAcknowledge = 0x12, "ATOMIC_ACK", AtomicAcknowledge, [AETH, ATOMIC_ACK];
    /// RC Compare and Swap.
    CompareSwap = 0x13, "COMPARE_SWAP", AtomicRequest, [ATOMIC];
    /// RC Fetch and Add.
    FetchAdd = 0x14, "FETCH_ADD", AtomicRequest, [ATOMIC];
    /// RC Send Last with Invalidate.
    SendLastInv = 0x16, "SEND_LAST_INV", Request(Verb::Send, Last), [IETH];
    /// RC Send Only with Invalidate.
    SendOnlyInv = 0x17, "SEND_ONLY_INV", Request(Verb::Send, Only), [IETH];
    /// UD Send Only.
    UdSendOnly = 0x64, "UD_SEND_ONLY", Datagram, [DETH];
    /// UD Send Only with Immediate.
    UdSendOnlyImm = 0x65, "UD_SEND_ONLY_IMM", Datagram, [DETH, IMM];
    /// RoCEv2 Congestion Notification Packet.
    Cnp = 0x81, "CNP", Class::Cnp, [];
}

impl Opcode {
    /// Class of the operation in a reliable connection.
    #[inline]
    pub fn class(self) -> Class {
        Self::INFO[usize::from(self.code())].class
    }

    pub(super) fn extensions(self) -> u8 {
        Self::extensions_of(self.code())
    }

    /// The extension headers by the code as it stands in the BTH, as bits of [`Extensions`].
    #[inline]
    pub(crate) fn extensions_of(code: u8) -> u8 {
        Self::INFO[usize::from(code)].extensions
    }

    /// Total length of the extension headers that follow the BTH, in bytes.
    pub fn extensions_len(self) -> usize {
        Self::extensions_len_of(self.code())
    }

    /// The same by the code.
    #[inline]
    pub(super) fn extensions_len_of(code: u8) -> usize {
        Self::INFO[usize::from(code)].extensions_len.into()
    }

    /// The extension headers that follow the BTH, in order, with their lengths in bytes.
    pub(crate) fn extension_layers(self) -> impl Iterator<Item = (Layer, usize)> {
        let present = self.extensions();
        let in_order = Extensions::IN_ORDER.into_iter();
        in_order.filter(move |(bit, ..)| present & bit != 0).map(|(_, layer, len)| (layer, len))
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(code) => write!(f, "OPCODE_{code:#04x}"),
            known => f.pad(Self::INFO[usize::from(known.code())].name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_a_round_trip() {
        for byte in 0..=255u8 {
            assert_eq!(u8::from(Opcode::from(byte)), byte);
        }
    }

    /// The RC column of the opcode table: 0x00 to 0x17 without the reserved 0x15.
    #[test]
    fn every_rc_opcode_is_known() {
        for byte in (0x00..=0x17u8).filter(|byte| *byte != 0x15) {
            assert_ne!(Opcode::from(byte).class(), Class::Unknown, "{byte:#x}");
        }
        assert_eq!(Opcode::from(0x15), Opcode::Unknown(0x15));
        assert_eq!(Opcode::KNOWN.len(), 23 + 3);
    }

    /// The reader of captures looks for these two right after the BTH.
    #[test]
    fn nothing_comes_before_reth_and_aeth() {
        for opcode in Opcode::KNOWN {
            let layers: Vec<_> = opcode.extension_layers().map(|(layer, _)| layer).collect();
            let at = layers.iter().position(|layer| matches!(layer, Layer::Reth | Layer::Aeth));
            assert!(matches!(at, None | Some(0)), "{opcode}: {layers:?}");
        }
    }

    #[test]
    fn aeth_sits_on_all_read_responses_but_middle() {
        for opcode in Opcode::KNOWN {
            if let ReadResponse(position) = opcode.class() {
                assert_eq!(opcode.extensions() & Extensions::AETH != 0, position != Middle, "{opcode}");
            }
        }
    }
}
