//! Mirror metadata: values that the switch writes into unused header fields of a mirrored packet (Lumina
//! §3.4).
//!
//! | field | carries |
//! |---|---|
//! | Ethernet source | mirror sequence number, 1 to 0x7fff_ffff, then 1 again |
//! | Ethernet destination | switch time in ns at ingress, modulo 2^48 |
//! | IPv4 TTL, IPv6 hop limit | event code |
//! | IP ECN bits | congestion experienced where the event is ECN and the packet is ECN-capable |
//! | UDP destination port | another port on the mirror wire, for receive-side scaling; 4791 in files |
//! | UDP checksum | the original source port on the mirror wire |

use crate::event::Event;
use crate::wire::frame::{IpRepr, UdpPorts};
use crate::wire::layout::{Layout, Located};
use crate::wire::{Ethernet, EthernetRepr, FrameRepr, Mac, ROCE_PORT};
use crate::{ActionKind, Nanos};

/// Largest mirror sequence number; the next one is 1.
pub const MAX_SEQUENCE: u32 = 0x7fff_ffff;
/// Switch time wraps at this many nanoseconds, 2^48 (78 hours).
pub const TIME_SPAN: u64 = 1 << 48;

/// Metadata of one mirrored packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MirrorMeta {
    /// Mirror sequence number, 1 to [`MAX_SEQUENCE`].
    pub sequence: u32,
    /// Switch time modulo [`TIME_SPAN`].
    pub time: Nanos,
    /// Action of the injector on the packet.
    pub event: Event,
}

impl MirrorMeta {
    /// Reads the metadata; `None` where the source address cannot be a sequence number.
    #[inline]
    pub fn read(source: Mac, destination: Mac, ttl: u8) -> Option<Self> {
        Some(Self {
            sequence: sequence_of(source)?,
            time: Nanos(destination.0),
            event: Event::from_code(ttl),
        })
    }

    /// Writes the metadata into a frame.
    pub fn write(self, frame: &mut FrameRepr) {
        frame.source = Mac(u64::from(self.sequence));
        frame.destination = Mac(self.time.0 % TIME_SPAN);
        match &mut frame.ip {
            IpRepr::V4(ip) => {
                ip.ttl = self.event.code();
                ip.traffic_class = mirrored_class(ip.traffic_class, self.event);
            }
            IpRepr::V6(ip) => {
                ip.hop_limit = self.event.code();
                ip.traffic_class = mirrored_class(ip.traffic_class, self.event);
            }
        }
    }
}

/// The ECN bits of a traffic class.
const ECN_BITS: u8 = 0b11;
/// ECN-capable transport, ECT(0) (RFC 3168): the value that RoCEv2 senders set for DCQCN.
const ECT0: u8 = 0b10;

/// The traffic class of a mirrored packet that entered with another one.
const fn mirrored_class(entered: u8, event: Event) -> u8 {
    match event {
        Event::Action(ActionKind::Ecn) if entered & ECN_BITS != 0 => entered | ECN_BITS,
        _ => entered,
    }
}

/// The traffic class that a packet entered with, from that of its mirrored copy: one that the injector marked
/// was sent as ECT(0), as RoCEv2 senders do. A copy with the mark does not tell it from ECT(1), so that one
/// without is read likewise.
#[inline]
pub const fn entered_class(mirrored: u8, event: Event) -> u8 {
    match event {
        Event::Action(ActionKind::Ecn) if mirrored & ECN_BITS != 0 => mirrored & !ECN_BITS | ECT0,
        _ => mirrored,
    }
}

/// The mirror sequence number in a source address; `None` where it cannot be one.
#[inline]
pub fn sequence_of(source: Mac) -> Option<u32> {
    u32::try_from(source.0).ok().filter(|sequence| (1..=MAX_SEQUENCE).contains(sequence))
}

/// The mirror sequence number of a frame; `None` where it has none.
pub fn sequence_in(frame: &[u8]) -> Option<u32> {
    sequence_of(EthernetRepr::parse(&Ethernet::new_checked(frame).ok()?).source)
}

/// Signed steps from mirror sequence number `earlier` to `later`, the shorter way round the ring of
/// [`MAX_SEQUENCE`] numbers.
#[inline]
pub fn sequence_distance(later: u32, earlier: u32) -> i64 {
    let ring = i64::from(MAX_SEQUENCE);
    let distance = i64::from(later) - i64::from(earlier);
    if distance > ring / 2 {
        distance - ring
    } else if distance < -(ring / 2) {
        distance + ring
    } else {
        distance
    }
}

/// Gives a mirrored packet the UDP destination port of RoCEv2 back.
pub fn restore_port(frame: &mut [u8]) {
    let located = Layout::locate(frame, UdpPorts::Any);
    if let Ok(Located::Roce(layout)) = located {
        let at = layout.udp_at() + 2;
        frame[at..at + 2].copy_from_slice(&ROCE_PORT.to_be_bytes());
    }
}

/// Steps forward from mirror sequence number `from` to `to`, round the ring where `to` is the smaller; 0 for the
/// same number.
#[inline]
pub const fn steps_forward(from: u32, to: u32) -> u32 {
    if to >= from { to - from } else { MAX_SEQUENCE - from + to }
}

/// Signed nanoseconds from switch time `earlier` to `later`, both modulo [`TIME_SPAN`].
#[inline]
pub fn time_distance(later: u64, earlier: u64) -> i64 {
    // Shifting the 48-bit difference to the top and back extends its sign.
    ((later.wrapping_sub(earlier) << 16) as i64) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_cross_the_wraps() {
        assert_eq!(sequence_distance(1, MAX_SEQUENCE), 1);
        assert_eq!(sequence_distance(MAX_SEQUENCE, 1), -1);
        assert_eq!(sequence_distance(7, 3), 4);
        assert_eq!(steps_forward(MAX_SEQUENCE, 1), 1);
        assert_eq!(steps_forward(1, MAX_SEQUENCE), MAX_SEQUENCE - 1);
        assert_eq!(steps_forward(7, 7), 0);
        assert_eq!(time_distance(5, TIME_SPAN - 5), 10);
        assert_eq!(time_distance(TIME_SPAN - 5, 5), -10);
    }

    #[test]
    fn marks_are_in_the_ecn_bits_of_what_can_carry_them() {
        for (entered, event, mirrored) in [
            (0x6a, Event::Action(ActionKind::Ecn), 0x6b),
            (0x68, Event::Action(ActionKind::Ecn), 0x68),
            (0x6a, Event::Action(ActionKind::Drop), 0x6a),
            (0x6b, Event::None, 0x6b),
        ] {
            assert_eq!(mirrored_class(entered, event), mirrored);
            assert_eq!(entered_class(mirrored, event), entered);
        }
    }

    #[test]
    fn what_a_copy_says_survives_writing_it_again() {
        for mirrored in 0..=u8::MAX {
            for event in [Event::None, Event::Action(ActionKind::Drop), Event::Action(ActionKind::Ecn)] {
                let entered = entered_class(mirrored, event);
                assert_eq!(
                    entered_class(mirrored_class(entered, event), event),
                    entered,
                    "{mirrored:#x} {event:?}"
                );
            }
        }
    }

    #[test]
    fn a_real_mac_is_no_sequence_number() {
        let meta = |source| MirrorMeta::read(Mac(source), Mac(0), 0);
        assert!(meta(0).is_none());
        assert!(meta(0x0c42_a1b2_c3d4).is_none());
        assert!(meta(0x8000_0000).is_none());
        assert_eq!(meta(0x7fff_ffff).map(|meta| meta.sequence), Some(MAX_SEQUENCE));
    }
}
