//! Time-outs of a message, without approximations.
//!
//! A connection with one message in flight, after which the next one follows at once. What the ends do about a loss is a
//! [`Behaviour`]: by the standard a responder sends one NAK for each PSN that it expects (IBA vol. 1, 9.7.5.1.1), and the requester goes
//! back to it; each transmission is lost for itself. A QP that runs out of retries is left out, and so are losses of a second answer
//! before the first one's time-out is over, which are of the next order.

use corpus::Repeat;

use super::behaviour::{Asking, Behaviour, Chance};
use super::frames::Frames;
use super::gap::{Ask, Behind, Gap};
use super::links::Links;
use super::outcome::{Outcome, Powers};
use super::protection::Protection;
use super::sizes::Sizes;
use super::time_outs::TimeOuts;

/// Most PSNs before the end of a message for which it matters what follows them, where an end acts at once on what arrives.
const DEPTH: u64 = 64;

/// What decides how many losses end in time-outs.
#[derive(Clone, PartialEq, Debug)]
pub struct Conditions {
    /// Links of each direction.
    pub links: Links,
    /// Copies and dummies.
    pub protection: Protection,
    /// What the ends do.
    pub behaviour: Behaviour,
}

/// Expected time-outs of a message.
#[must_use]
pub fn of_message(frames: &Frames, conditions: &Conditions) -> TimeOuts {
    conditions.mean(frames, 0, |way, share| way.message(frames.packets).time_outs * share)
}

/// Expected time-outs of a message whose size is drawn, and of a packet of such a message: the mean over messages of theirs over their
/// number of packets. All packets are full.
#[must_use]
pub fn of_sizes(frames: &Frames, sizes: &Sizes, conditions: &Conditions) -> [TimeOuts; 2] {
    let frames = Frames { last: frames.middle, ..*frames };
    let [mut message, mut packet] = [TimeOuts::default(); 2];
    for (there, back, share) in conditions.links.states() {
        let way = Way::of(&frames, conditions, [there, back], 0);
        let near = way.depth();
        let longer = sizes.beyond(near);
        let mut of_this = TimeOuts::default();
        for (outcome, (packets, drawn)) in way.messages().zip(sizes.up_to(near)) {
            of_this = outcome.time_outs;
            message += of_this * (share * drawn);
            packet += of_this * (share * drawn / packets as f64);
        }
        if longer.share > 0.0 {
            let (further, near) = (way.further(1.0).time_outs, near as f64);
            message += of_this * (share * longer.share);
            message += further * (share * (longer.packets - near * longer.share));
            packet += of_this * (share * longer.of_packets);
            packet += further * (share * (longer.share - near * longer.of_packets));
        }
    }
    [message, packet]
}

/// Probability that a message has more than so many time-outs.
#[must_use]
pub fn beyond(allowed: usize, frames: &Frames, conditions: &Conditions) -> f64 {
    conditions.mean(frames, allowed, |way, share| way.message(frames.packets).beyond() * share)
}

/// The same of a message whose size is drawn. All packets are full.
#[must_use]
pub fn beyond_of_sizes(allowed: usize, frames: &Frames, sizes: &Sizes, conditions: &Conditions) -> f64 {
    let frames = Frames { last: frames.middle, ..*frames };
    conditions.mean(&frames, allowed, |way, share| {
        let (near, mut further) = (way.depth(), Powers::of(way.further(1.0)));
        let mut longest = Outcome::none(allowed);
        let mut late = 0.0;
        for (outcome, (_, drawn)) in way.messages().zip(sizes.up_to(near)) {
            late += drawn * outcome.beyond();
            longest = outcome;
        }
        // Of those further ones each adds the same. To go through all of millions of sizes would change a digit that nobody is shown.
        let mut packets = near;
        for (mean, drawn) in sizes.about(near) {
            longest.add(&further.times(mean - packets));
            packets = mean;
            late += drawn * longest.beyond();
        }
        share * late
    })
}

impl Conditions {
    /// The mean over the links that may damage packets.
    fn mean<T: std::iter::Sum>(&self, frames: &Frames, allowed: usize, of: impl Fn(&Way<'_>, f64) -> T) -> T {
        let states = self.links.states().into_iter();
        states.map(|(there, back, share)| of(&Way::of(frames, self, [there, back], allowed), share)).sum()
    }
}

/// A connection over links of which it is known which ones damage packets.
struct Way<'b> {
    protection: Protection,
    behaviour: &'b Behaviour,
    /// Time-outs up to which their number is told apart.
    allowed: usize,
    /// Probabilities that the packets of a message are lost, in one direction; of a Read the responses.
    first: f64,
    middle: f64,
    last: f64,
    /// A Read request is lost; 0 for other messages.
    request: f64,
    /// A dummy is lost, and where it is a Read it or its response.
    dummy: f64,
    dummy_request: f64,
    answer: f64,
    /// Probability that a NAK is lost with its copies.
    nak: f64,
    is_read: bool,
}

impl<'b> Way<'b> {
    fn of(frames: &Frames, conditions: &'b Conditions, [there, back]: [u64; 2], allowed: usize) -> Self {
        let Conditions { links, protection, behaviour } = conditions;
        let data = if frames.is_read() { back } else { there };
        let answer = links.loss_of(frames.answer, back);
        let dummy_request = links.loss_of(frames.dummy, there);
        let passes = |loss: f64| 1.0 - loss;
        Self {
            protection: *protection,
            behaviour,
            allowed,
            first: links.loss_of(frames.first, data),
            middle: links.loss_of(frames.middle, data),
            last: links.loss_of(frames.last, data),
            request: frames.request.map_or(0.0, |bytes| links.loss_of(bytes, there)),
            dummy: match frames.is_read() {
                // The response of 0 bytes has the size of an ACK.
                true => 1.0 - passes(dummy_request) * passes(answer),
                false => dummy_request,
            },
            dummy_request,
            answer,
            nak: power(answer, protection.repeat.naks),
            is_read: frames.is_read(),
        }
    }

    /// PSNs before the end of a message for which it matters what follows them: until as many packets arrive as are told apart.
    fn depth(&self) -> u64 {
        let horizon = self.asking().horizon();
        let most = DEPTH + 2 * horizon as u64;
        // The first packet of a message is none of the MIDDLEs, nor is the last one.
        let mut depth = 2;
        let mut behind = Behind::nothing(horizon);
        while depth < most && !behind.is_plenty() {
            behind.also(self.middle);
            depth += 1;
        }
        depth
    }

    /// How the receiver of the message's data asks for it.
    fn asking(&self) -> &'b Asking {
        if self.is_read { &self.behaviour.responses } else { &self.behaviour.requests }
    }

    /// A message of so many packets.
    fn message(&self, packets: u64) -> Outcome {
        let near = packets.min(self.depth());
        let unasked = |place: u64| self.unasked(packets - place, place);
        let nearest =
            self.ends(unasked).nth(near as usize - 1).unwrap_or_else(|| Outcome::none(self.allowed));
        // The first ones have few before them, if that matters.
        let few = if self.repairs_in_passing() { (packets - near).min(DEPTH) } else { 0 };
        let first = (0..few).map(|before| self.further(self.unasked(before, packets - before)));
        let nearest = first.fold(nearest, |all, one| all.and(&one));
        nearest.and(&self.further(self.unasked(DEPTH, near + 1)).times(packets - near - few))
    }

    /// Messages of one packet, of two, and so on, of which no packet is repaired in passing.
    fn messages(&self) -> impl Iterator<Item = Outcome> + '_ {
        self.ends(|_| 1.0)
    }

    fn repairs_in_passing(&self) -> bool {
        !self.asking().in_passing.iter().all(Chance::is_never)
    }

    /// Probability that a lost packet, the `place`-th from the end of its message and with so many before it, is not repaired in passing.
    fn unasked(&self, before: u64, place: u64) -> f64 {
        if !self.repairs_in_passing() {
            return 1.0;
        }
        let [one, more] = &self.asking().in_passing;
        let behind = (place - 1 + u64::from(self.protection.dummies)).min(DEPTH) as usize;
        // They are under way together, as far as that matters.
        let before = before.min(DEPTH) as i32;
        let arrives = 1.0 - self.middle;
        let no_loss = arrives.powi(before);
        let one_loss = f64::from(before) * self.middle * arrives.powi((before - 1).max(0));
        1.0 - one.behind(behind) * one_loss - more.behind(behind) * (1.0 - no_loss - one_loss)
    }

    /// Ends of a message of one packet, of two, and so on, with a FIRST at the beginning. A lost packet is to be asked for with a
    /// probability, by its place from the end.
    fn ends<'w>(&'w self, unasked: impl Fn(u64) -> f64 + 'w) -> impl Iterator<Item = Outcome> + 'w {
        let mut none = Behind::nothing(self.asking().horizon());
        (0..self.protection.dummies).for_each(|_| none.also(self.dummy));
        let [only, last] = [self.first, self.last].map(|once| {
            let outcome = self.tail(once, unasked(1), &none).and(&self.request()).and(&self.unanswered(once));
            (outcome, none.and(power(once, self.protection.repeat.tails)))
        });
        // A LAST, and MIDDLEs before it.
        let mut end = last;
        let more = (2..).map(move |place| {
            let (outcome, behind) = &end;
            let unasked = unasked(place);
            let message = outcome.and(&self.packet(self.first, unasked, behind));
            let message = message.and(&self.dummies(&behind.and(self.first)));
            end = (outcome.and(&self.packet(self.middle, unasked, behind)), behind.and(self.middle));
            message
        });
        std::iter::once(only.0.and(&self.dummies(&only.1))).chain(more)
    }

    /// What one more packet brings to a long message, which is to be asked for with a probability.
    fn further(&self, unasked: f64) -> Outcome {
        self.packet(self.middle, unasked, &Behind::plenty(self.asking().horizon()))
    }

    /// A packet that is lost with a probability, and is to be asked for with another one.
    fn packet(&self, once: f64, unasked: f64, behind: &Behind) -> Outcome {
        self.lost(once * unasked, once, power(once, self.protection.repeat.retransmissions), behind)
    }

    /// The last packet of a message.
    fn tail(&self, once: f64, unasked: f64, behind: &Behind) -> Outcome {
        let Repeat { tails, retransmissions, .. } = self.protection.repeat;
        let lost = power(once, tails);
        self.lost(lost * unasked, lost, power(once, tails.max(retransmissions)), behind)
    }

    /// Dummies, behind which the next message comes.
    fn dummies(&self, next: &Behind) -> Outcome {
        let mut behind = next.clone();
        let mut outcome = Outcome::none(self.allowed);
        for _ in 0..self.protection.dummies {
            outcome = outcome.and(&self.packet(self.dummy, 1.0, &behind));
            behind.also(self.dummy);
        }
        outcome
    }

    /// A PSN that is lost and missed with a probability; lost with another one when it is sent again, and with a third one when a NAK has
    /// asked for it.
    fn lost(&self, lost: f64, again: f64, asked: f64, behind: &Behind) -> Outcome {
        let gap = if self.is_read {
            // The switch copies what a NAK asks for, and no responses.
            let reissued = 1.0 - (1.0 - self.request) * (1.0 - again);
            Gap { lost, asked: again, again: reissued, is_response: true }
        } else {
            Gap { lost, asked, again, is_response: false }
        };
        // A Read is issued again by a request, a NAK is an answer.
        let ask = Ask { asking: self.asking(), lost: if self.is_read { self.request } else { self.nak } };
        gap.outcome(&ask, behind, self.behaviour.tails_time_out, self.allowed)
    }

    /// The request of a Read.
    fn request(&self) -> Outcome {
        if !self.is_read {
            return Outcome::none(self.allowed);
        }
        let asking = &self.behaviour.requests;
        let mut behind = Behind::nothing(asking.horizon());
        (0..self.protection.dummies).for_each(|_| behind.also(self.dummy_request));
        let asked = power(self.request, self.protection.repeat.retransmissions);
        let gap = Gap { lost: self.request, asked, again: self.request, is_response: false };
        let ask = Ask { asking, lost: self.nak };
        gap.outcome(&ask, &behind, self.behaviour.tails_time_out, self.allowed)
    }

    /// After everything has arrived, the last packet of which is lost with a probability. A Read has no ACK.
    fn unanswered(&self, once: f64) -> Outcome {
        if self.is_read {
            return Outcome::none(self.allowed);
        }
        let Protection { repeat, dummies } = self.protection;
        let Behaviour { acknowledged, own_acks, lost_acks_time_out, .. } = *self.behaviour;
        let lost = power(once, repeat.tails);
        // An ACK that is due does not arrive, and one more beside it.
        let quiet = 1.0 - acknowledged * (1.0 - self.answer);
        let more = 1.0 - own_acks * (1.0 - quiet);
        // At least one of those that arrive is answered.
        let least = if more > 0.0 { quiet / more } else { 1.0 };
        // The requester sends the message again, with its dummies.
        let again = lost * power(self.dummy, dummies);
        let arrives = power(once + (1.0 - once) * more, repeat.tails);
        let silence = self.silence(more);
        let first = (arrives - lost) / (1.0 - lost) * silence * least * lost_acks_time_out;
        let unheard = (arrives * silence - again) * least;
        let rounds = first / (1.0 - again - unheard);
        let unsent = if quiet > 0.0 { (1.0 - acknowledged) / quiet } else { 0.0 };
        let quiet_rounds = first + rounds * unheard;
        let time_outs = TimeOuts {
            ack_lost: quiet_rounds * (1.0 - unsent),
            faults: quiet_rounds * unsent,
            lost_again: rounds * again,
            ..TimeOuts::default()
        };
        Outcome::repeated(time_outs, first, again + unheard, self.allowed)
    }

    /// Probability that no dummy shows that the message has arrived, where one that arrives has no ACK of its own that arrives with a
    /// probability: after one was lost there is one NAK for all that follow.
    fn silence(&self, quiet: f64) -> f64 {
        let (mut whole, mut gap) = (1.0, 1.0);
        for _ in 0..self.protection.dummies {
            whole = (1.0 - self.dummy) * quiet * whole + self.dummy * gap;
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
    use corpus::Verb;

    use super::super::sizes::WEB_SEARCH;
    use super::*;

    fn conditions(loss: f64, links: u8, repeat: Repeat, dummies: u8) -> Conditions {
        Conditions {
            links: Links { loss, of_bytes: 1086, links, corrupted: 1.0 },
            protection: Protection { repeat, dummies },
            behaviour: Behaviour::standard(),
        }
    }

    fn copies(naks: u8, retransmissions: u8) -> Repeat {
        Repeat { naks, retransmissions, ..Repeat::default() }
    }

    fn is_near(value: f64, expected: f64, percent: f64) {
        assert!((value / expected - 1.0).abs() < percent / 100.0, "{value} and not {expected}");
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
