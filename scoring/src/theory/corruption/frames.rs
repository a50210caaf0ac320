//! Packets of a message on the wire.

use corpus::Verb;

/// Bytes of Ethernet, IPv4, UDP, BTH, ICRC and frame check sequence.
const HEADERS: u32 = 14 + 20 + 8 + 12 + 4 + 4;
/// Bytes of the header that a Write begins with, and a Read request has.
const RETH: u32 = 16;
/// Bytes of the header of answers, and of all responses but those in the middle.
const AETH: u32 = 4;

/// Bytes of the packets of a message, with frame check sequence, over IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames {
    /// FIRST or ONLY; of a Read, of its response.
    pub first: u32,
    /// MIDDLE.
    pub middle: u32,
    /// LAST; of one packet that is `first`.
    pub last: u32,
    /// Packets, at least one.
    pub packets: u64,
    /// The request of a Read.
    pub request: Option<u32>,
    /// A dummy.
    pub dummy: u32,
    /// An ACK or a NAK.
    pub answer: u32,
}

impl Frames {
    /// Those of a Send, a Write or a Read of so many bytes.
    #[must_use]
    pub fn of(verb: Verb, bytes: u64, mtu: u32) -> Self {
        let is_read = verb == Verb::Read;
        let (begins, ends) = match verb {
            Verb::Read => (HEADERS + AETH, HEADERS + AETH),
            Verb::Write => (HEADERS + RETH, HEADERS),
            _ => (HEADERS, HEADERS),
        };
        let packets = bytes.div_ceil(u64::from(mtu)).max(1);
        let last = (bytes - (packets - 1) * u64::from(mtu)) as u32;
        let last = last.next_multiple_of(4);
        Self {
            first: begins + if packets == 1 { last } else { mtu },
            middle: HEADERS + mtu,
            last: if packets == 1 { begins } else { ends } + last,
            packets,
            request: is_read.then_some(HEADERS + RETH),
            // A Send would take a Receive, so that a dummy is always a Write, or a Read.
            dummy: HEADERS + RETH,
            answer: HEADERS + AETH,
        }
    }

    /// Returns true for a Read, whose data comes from the responder.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        self.request.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_bytes_of_the_wire() {
        let one = Frames::of(Verb::Write, 1024, 1024);
        assert_eq!((one.first, one.packets, one.dummy, one.answer), (1102, 1, 78, 66));
        let three = Frames::of(Verb::Write, 2049, 1024);
        assert_eq!((three.first, three.middle, three.last, three.packets), (1102, 1086, 66, 3));
        let none = Frames::of(Verb::Send, 0, 1024);
        assert_eq!((none.first, none.packets), (62, 1));
    }

    #[test]
    fn a_read_is_a_request_and_responses() {
        let three = Frames::of(Verb::Read, 2049, 1024);
        assert_eq!((three.request, three.first, three.middle, three.last), (Some(78), 1090, 1086, 70));
        assert_eq!(Frames::of(Verb::Write, 2049, 1024).request, None);
    }
}
