//! Time-outs of a message, without approximations.
//!
//! A connection with one message in flight, after which the next one follows at once. The responder sends one NAK for each PSN that it expects
//! (IBA vol. 1, 9.7.5.1.1), and the requester goes back to it; each transmission is lost for itself. A QP that runs out of retries is left out, and
//! so are losses of a second answer before the first one's time-out is over, which are of the next order.

use corpus::{Repeat, Verb};

use super::links::Links;
use super::protection::{Acks, Protection};
use super::sizes::Sizes;
use super::time_outs::TimeOuts;

/// Bytes of Ethernet, IPv4, UDP, BTH, ICRC and frame check sequence.
const HEADERS: u32 = 14 + 20 + 8 + 12 + 4 + 4;
/// Bytes of the header that a Write begins with.
const RETH: u32 = 16;
/// An ACK or a NAK.
const ANSWER: u32 = HEADERS + 4;
/// PSNs before the end of a message for which it matters what follows them.
pub(super) const DEPTH: u64 = 64;

/// Bytes of the packets of a message, with frame check sequence, over IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames {
    /// FIRST or ONLY.
    pub first: u32,
    /// MIDDLE.
    pub middle: u32,
    /// LAST; of one packet that is `first`.
    pub last: u32,
    /// Packets, at least one.
    pub packets: u64,
    /// A dummy.
    pub dummy: u32,
    /// An ACK or a NAK.
    pub answer: u32,
}

impl Frames {
    /// Those of a Send or a Write of so many bytes.
    #[must_use]
    pub fn of(verb: Verb, bytes: u64, mtu: u32) -> Self {
        let begins = HEADERS + if verb == Verb::Write { RETH } else { 0 };
        let packets = bytes.div_ceil(u64::from(mtu)).max(1);
        let last = (bytes - (packets - 1) * u64::from(mtu)) as u32;
        let last = last.next_multiple_of(4);
        Self {
            first: begins + if packets == 1 { last } else { mtu },
            middle: HEADERS + mtu,
            last: if packets == 1 { begins } else { HEADERS } + last,
            packets,
            // A Send would take a Receive, so that a dummy is always a Write.
            dummy: HEADERS + RETH,
            answer: ANSWER,
        }
    }
}

/// What decides how many losses end in time-outs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Conditions {
    /// Links of each direction.
    pub links: Links,
    /// Copies and dummies.
    pub protection: Protection,
    /// ACKs.
    pub acks: Acks,
}

/// Expected time-outs of a message.
#[must_use]
pub fn of_message(frames: &Frames, conditions: &Conditions) -> TimeOuts {
    let of = |way: &Way| {
        let near = frames.packets.min(DEPTH);
        let nearest = way.messages().nth(near as usize - 1).unwrap_or_default();
        nearest + way.further() * (frames.packets - near) as f64
    };
    let states = conditions.links.states().into_iter();
    states.fold(TimeOuts::default(), |sum, (there, back, share)| {
        sum + of(&Way::of(frames, conditions, there, back)) * share
    })
}

/// Expected time-outs of a message whose size is drawn, and of a packet of such a message: the mean over messages of theirs over their
/// number of packets. All packets are full.
#[must_use]
pub fn of_sizes(frames: &Frames, sizes: &Sizes, conditions: &Conditions) -> [TimeOuts; 2] {
    let frames = Frames { last: frames.middle, ..*frames };
    let longer = sizes.beyond(DEPTH);
    let [mut message, mut packet] = [TimeOuts::default(); 2];
    for (there, back, share) in conditions.links.states() {
        let way = Way::of(&frames, conditions, there, back);
        let mut of_this = TimeOuts::default();
        for (of_packets, (packets, drawn)) in way.messages().zip(sizes.up_to(DEPTH)) {
            message += of_packets * (share * drawn);
            packet += of_packets * (share * drawn / packets as f64);
            of_this = of_packets;
        }
        if longer.share > 0.0 {
            let depth = DEPTH as f64;
            message += of_this * (share * longer.share);
            message += way.further() * (share * (longer.packets - depth * longer.share));
            packet += of_this * (share * longer.of_packets);
            packet += way.further() * (share * (longer.share - depth * longer.of_packets));
        }
    }
    [message, packet]
}

/// A connection over links of which it is known which ones damage packets.
struct Way {
    protection: Protection,
    acks: Acks,
    /// Probabilities that the packets of a message are lost.
    first: f64,
    middle: f64,
    last: f64,
    dummy: f64,
    answer: f64,
    /// Probability that a NAK is lost with its copies.
    nak: f64,
}

impl Way {
    fn of(frames: &Frames, conditions: &Conditions, there: u64, back: u64) -> Self {
        let Conditions { links, protection, acks } = conditions;
        let answer = links.loss_of(frames.answer, back);
        Self {
            protection: *protection,
            acks: *acks,
            first: links.loss_of(frames.first, there),
            middle: links.loss_of(frames.middle, there),
            last: links.loss_of(frames.last, there),
            dummy: links.loss_of(frames.dummy, there),
            answer,
            nak: power(answer, protection.repeat.naks),
        }
    }

    /// Time-outs of messages of one packet, of two, and so on.
    fn messages(&self) -> impl Iterator<Item = TimeOuts> + '_ {
        let none_behind = power(self.dummy, self.protection.dummies);
        let [only, last] = [self.first, self.last].map(|once| {
            let behind = power(once, self.protection.repeat.tails) * none_behind;
            (self.tail(once, none_behind) + self.unanswered(once), behind)
        });
        // A LAST, and MIDDLEs before it.
        let mut end = last;
        let more = std::iter::repeat_with(move || {
            let (sum, behind) = end;
            let message = sum + self.packet(self.first, behind) + self.dummies(self.first * behind);
            end = (sum + self.packet(self.middle, behind), self.middle * behind);
            message
        });
        std::iter::once(only.0 + self.dummies(only.1)).chain(more)
    }

    /// Time-outs that one more packet brings to a long message.
    fn further(&self) -> TimeOuts {
        self.packet(self.middle, 0.0)
    }

    /// Time-outs for a packet that is lost with a probability.
    fn packet(&self, once: f64, none_behind: f64) -> TimeOuts {
        self.gap(once, power(once, self.protection.repeat.retransmissions), none_behind)
    }

    /// The same of the last packet of a message.
    fn tail(&self, once: f64, none_behind: f64) -> TimeOuts {
        let Repeat { tails, retransmissions, .. } = self.protection.repeat;
        self.gap(power(once, tails), power(once, tails.max(retransmissions)), none_behind)
    }

    /// The same of dummies, where the next message is lost with a probability.
    fn dummies(&self, next: f64) -> TimeOuts {
        let others = 0..self.protection.dummies;
        others.fold(TimeOuts::default(), |sum, others| {
            sum + self.packet(self.dummy, power(self.dummy, others) * next)
        })
    }

    /// Time-outs for a PSN that is lost with a probability, and with another one when a NAK has asked for it, if with the
    /// probability `none_behind` nothing arrives behind it.
    fn gap(&self, lost: f64, asked: f64, none_behind: f64) -> TimeOuts {
        let nak = self.nak;
        let shown = lost * (1.0 - none_behind);
        let hidden = lost * none_behind;
        // Once its only NAK was sent, each loss is a time-out; from a time-out or a retransmission that was lost, so many follow in all.
        let once_more = 1.0 / (1.0 - lost);
        // After a time-out before any NAK.
        let after = (hidden + shown * (nak + (1.0 - nak) * asked) * once_more) / (1.0 - hidden);
        TimeOuts {
            tail_lost: hidden,
            nak_lost: shown * nak,
            lost_again: hidden * after + shown * (nak * lost + (1.0 - nak) * asked) * once_more,
            ack_lost: 0.0,
        }
    }

    /// Time-outs after everything has arrived, the last packet of which is lost with a probability.
    fn unanswered(&self, once: f64) -> TimeOuts {
        let Protection { repeat, dummies } = self.protection;
        let lost = power(once, repeat.tails);
        // The requester sends the message again, with its dummies.
        let again = lost * power(self.dummy, dummies);
        let (first, unheard) = match self.acks {
            Acks::Each => {
                let quiet = power(once + (1.0 - once) * self.answer, repeat.tails) - lost;
                (quiet / (1.0 - lost) * self.silence(), (lost + quiet) * self.silence() - again)
            }
            Acks::Merged => (self.answer, (1.0 - again) * self.answer),
        };
        let rounds = first / (1.0 - again - unheard);
        TimeOuts { ack_lost: first + rounds * unheard, lost_again: rounds * again, ..TimeOuts::default() }
    }

    /// Probability that no dummy shows that the message has arrived: each that arrives is answered, by an ACK, or after one was
    /// lost by one NAK for all that follow.
    fn silence(&self) -> f64 {
        let (mut whole, mut gap) = (1.0, 1.0);
        for _ in 0..self.protection.dummies {
            whole = (1.0 - self.dummy) * self.answer * whole + self.dummy * gap;
            gap = self.dummy * gap + (1.0 - self.dummy) * self.nak;
        }
        whole
    }
}

fn power(probability: f64, copies: u8) -> f64 {
    probability.powi(copies.into())
}

#[cfg(test)]
mod tests {
    use super::super::sizes::WEB_SEARCH;
    use super::*;

    fn conditions(loss: f64, links: u8, repeat: Repeat, dummies: u8) -> Conditions {
        Conditions {
            links: Links { loss, of_bytes: 1086, links, corrupted: 1.0 },
            protection: Protection { repeat, dummies },
            acks: Acks::Each,
        }
    }

    fn copies(naks: u8, retransmissions: u8) -> Repeat {
        Repeat { naks, retransmissions, ..Repeat::default() }
    }

    fn is_near(value: f64, expected: f64, percent: f64) {
        assert!((value / expected - 1.0).abs() < percent / 100.0, "{value} and not {expected}");
    }

    #[test]
    fn frames_have_the_bytes_of_the_wire() {
        let one = Frames::of(Verb::Write, 1024, 1024);
        assert_eq!((one.first, one.packets, one.dummy, one.answer), (1102, 1, 78, 66));
        let three = Frames::of(Verb::Write, 2049, 1024);
        assert_eq!((three.first, three.middle, three.last, three.packets), (1102, 1086, 66, 3));
        let none = Frames::of(Verb::Send, 0, 1024);
        assert_eq!((none.first, none.packets), (62, 1));
    }

    /// Ping-pong of Writes of 1,024 bytes: two messages an iteration.
    #[test]
    fn a_hundred_thousand_iterations_of_ping_pong() {
        let write = Frames::of(Verb::Write, 1024, 1024);
        let of =
            |loss, repeat, dummies| of_message(&write, &conditions(loss, 1, repeat, dummies)) * 200_000.0;
        let bare = of(1.0 / 128.0, Repeat::default(), 0);
        is_near(bare.total(), 1694.0, 0.1);
        assert_eq!(bare.nak_lost, 0.0);
        // Every loss of the tail, and of its repetition.
        is_near(bare.tail_lost, 1585.5, 0.1);
        is_near(of(1.0 / 128.0, copies(2, 2), 1).total(), 1.09, 1.0);
        assert!(of(1.0 / 128.0, copies(2, 2), 2).total() < 0.12);
        is_near(of(1.0 / 128.0, copies(2, 1), 2).total(), 12.6, 2.0);
        is_near(of(1.0 / 32.0, copies(2, 2), 1).total(), 22.4, 2.0);
        // With the dummies' own: a tenth more than without.
        is_near(of(1.0 / 128.0, copies(1, 2), 2).total(), 0.86 + 2.0 * 200_000.0 * 5.63e-4 * 4.77e-4, 1.0);
    }

    /// Flows of the WebSearch distribution over four links, 10,000 of them.
    #[test]
    fn ten_thousand_flows() {
        let sizes = Sizes::of(WEB_SEARCH, 1024).unwrap();
        let full = Frames::of(Verb::Send, 1024, 1024);
        let of = |loss| of_sizes(&full, &sizes, &conditions(loss, 4, Repeat::default(), 0))[0] * 10_000.0;
        for (loss, tails, acks, naks, again) in
            [(1e-3, 40.0, 2.43, 16.1, 266.0), (1e-4, 4.0, 0.243, 0.161, 2.66)]
        {
            let flows = of(loss);
            is_near(flows.tail_lost, tails, 1.0);
            is_near(flows.ack_lost, acks, 1.0);
            is_near(flows.nak_lost, naks, 2.0);
            is_near(flows.lost_again, again, 2.0);
        }
    }

    /// Omega between 0 and 1: neither of the paper's approximations.
    #[test]
    fn links_that_may_damage_packets() {
        // 1e6 packets behind which others come.
        let long = Frames { packets: 1_000_000, ..Frames::of(Verb::Send, 1024, 1024) };
        let again = |corrupted| {
            let mut conditions = conditions(1e-3, 4, Repeat::default(), 0);
            conditions.links.corrupted = corrupted;
            of_message(&long, &conditions).lost_again / 1e6
        };
        is_near(again(1.0), 1.595e-5, 1.0);
        is_near(again(0.25), 1.75e-6, 1.0);
        // Where a second corrupted link is unlikely, one of them is met twice.
        is_near(again(1e-6), 4.0 * 1e-6 * 1e-6, 0.5);
    }
}
