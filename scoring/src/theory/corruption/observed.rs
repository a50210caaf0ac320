//! What NICs do about losses, from what was seen of them.

use super::behaviour::{Asking, Behaviour, Chance};
use crate::losses::{Asked, ByPackets, Confidence, LossKind, Losses, Share};

/// A place in the interval of what was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interval {
    /// Every probability at the end of its interval with more time-outs.
    Worst,
    /// What was seen.
    Seen,
    /// Every probability at the end with fewer time-outs.
    Best,
}

impl Interval {
    const fn of_good(self) -> Confidence {
        match self {
            Self::Worst => Confidence::Least,
            Self::Seen => Confidence::Seen,
            Self::Best => Confidence::Most,
        }
    }

    const fn of_bad(self) -> Confidence {
        match self {
            Self::Worst => Confidence::Most,
            Self::Seen => Confidence::Seen,
            Self::Best => Confidence::Least,
        }
    }
}

/// What has to be seen of NICs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// See [`Asking::first`].
    Asked,
    /// See [`Asking::repeated`].
    AskedTwice,
    /// See [`Asking::again`].
    AskedAgain,
    /// See [`Asking::obeyed`].
    Obeyed,
    /// See [`Behaviour::own_acks`].
    OwnAcks,
    /// See [`Behaviour::tails_time_out`].
    Tails,
    /// See [`Behaviour::lost_acks_time_out`].
    LostAcks,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Asked,
        Self::AskedTwice,
        Self::AskedAgain,
        Self::Obeyed,
        Self::OwnAcks,
        Self::Tails,
        Self::LostAcks,
    ];

    /// What its occasions are, for messages or for Reads.
    #[must_use]
    pub const fn occasions(self, reads: bool) -> &'static str {
        match (self, reads) {
            (Self::Asked, false) => "lost packets behind which others arrived",
            (Self::Asked, true) => "lost Read responses behind which others arrived",
            (Self::AskedTwice, false) => "lost NAKs",
            (Self::AskedTwice, true) => "lost requests of Reads that were issued again",
            (Self::AskedAgain, false) => "packets that were lost again after a NAK",
            (Self::AskedAgain, true) => "Read responses that were lost again",
            (Self::Obeyed, false) => "NAKs that arrived",
            (Self::Obeyed, true) => "Reads that were issued again",
            (Self::OwnAcks, _) => "messages right behind which a dummy arrived",
            (Self::Tails, _) => "lost packets behind which nothing arrived",
            (Self::LostAcks, _) => "lost ACKs of everything that was sent",
        }
    }

    /// How many of them were seen.
    #[must_use]
    pub fn seen(self, losses: &Losses, reads: bool) -> u64 {
        let asked = if reads { &losses.implied_naks } else { &losses.naks };
        match self {
            Self::Asked => asked.first.total().of,
            Self::AskedTwice => asked.repeated.total().of,
            Self::AskedAgain => asked.again.total().of,
            Self::Obeyed => asked.obeyed.of,
            Self::OwnAcks => losses.own_acks.of,
            Self::Tails => losses.of(LossKind::TailLost).of + losses.of(LossKind::ResponseTailLost).of,
            Self::LostAcks => losses.of(LossKind::AckLost).of,
        }
    }
}

/// What was seen of NICs, maybe as if it had been seen more often.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    losses: &'a Losses,
    /// By quantity.
    at_least: [u64; Quantity::ALL.len()],
}

impl<'a> Observed<'a> {
    /// As it was seen.
    #[must_use]
    pub const fn new(losses: &'a Losses) -> Self {
        Self { losses, at_least: [0; Quantity::ALL.len()] }
    }

    /// As if there had been at least so many occasions of a quantity: with the shares that were seen, or where there was none, with
    /// that of the standard.
    #[must_use]
    pub const fn with_at_least(mut self, quantity: Quantity, occasions: u64) -> Self {
        self.at_least[quantity as usize] = occasions;
        self
    }

    /// The same of all quantities.
    #[must_use]
    pub fn with_all_at_least(self, occasions: u64) -> Self {
        Self { at_least: [occasions; Quantity::ALL.len()], ..self }
    }

    /// The occasions that are assumed of a quantity, at the least.
    #[must_use]
    pub const fn at_least(&self, quantity: Quantity) -> u64 {
        self.at_least[quantity as usize]
    }

    /// What they do.
    #[must_use]
    pub fn behaviour(&self, interval: Interval) -> Behaviour {
        let Losses { naks, implied_naks, acks, own_acks, .. } = self.losses;
        let good = interval.of_good();
        let time_outs = |quantity, kinds: &[LossKind]| {
            let mut share = Share::default();
            kinds.iter().for_each(|kind| share += self.losses.of(*kind));
            self.probability(quantity, share, interval.of_bad())
        };
        Behaviour {
            requests: self.asking(naks, good),
            responses: self.asking(implied_naks, good),
            // A fault that needs no loss counts if it was seen: no number of ACKs excludes it.
            acknowledged: if acks.yes == acks.of { 1.0 } else { acks.at(good, 1.0) },
            own_acks: self.probability(Quantity::OwnAcks, *own_acks, good),
            tails_time_out: time_outs(Quantity::Tails, &[LossKind::TailLost, LossKind::ResponseTailLost]),
            lost_acks_time_out: time_outs(Quantity::LostAcks, &[LossKind::AckLost]),
        }
    }

    fn asking(&self, asked: &Asked, good: Confidence) -> Asking {
        Asking {
            first: self.chance(Quantity::Asked, &asked.first, good),
            repeated: self.chance(Quantity::AskedTwice, &asked.repeated, good),
            again: self.chance(Quantity::AskedAgain, &asked.again, good),
            // What was never seen is not assumed: only a NIC that sends more NAKs than one does it.
            in_passing: asked.in_passing.each_ref().map(|shares| match shares.total().yes {
                0 => Chance::never(),
                _ => chance(shares, good, 1.0),
            }),
            obeyed: self.probability(Quantity::Obeyed, asked.obeyed, good),
        }
    }

    fn probability(&self, quantity: Quantity, share: Share, confidence: Confidence) -> f64 {
        let at_least = self.at_least(quantity);
        if share.of > 0 {
            return share.at(confidence, (at_least as f64 / share.of as f64).max(1.0));
        }
        let is_certain = !matches!(quantity, Quantity::AskedTwice | Quantity::AskedAgain);
        match confidence {
            Confidence::Seen => f64::from(u8::from(is_certain)),
            _ if at_least == 0 => share.at(confidence, 1.0),
            _ => Share { of: at_least, yes: if is_certain { at_least } else { 0 } }.at(confidence, 1.0),
        }
    }

    fn chance(&self, quantity: Quantity, shares: &ByPackets, confidence: Confidence) -> Chance {
        let seen = shares.total().of;
        if seen == 0 {
            return Chance::of(vec![0.0, self.probability(quantity, Share::default(), confidence)]);
        }
        chance(shares, confidence, (self.at_least(quantity) as f64 / seen as f64).max(1.0))
    }
}

/// The probabilities behind shares, as if they came from `times` as many trials.
fn chance(shares: &ByPackets, confidence: Confidence, times: f64) -> Chance {
    let mut by_packets = vec![0.0];
    let mut known = None;
    for (packets, share) in shares.growing() {
        let probability = share.at(confidence, times);
        // Fewer packets than ever arrived: as the fewest that did, or at the worst nothing.
        let fewer = match (known, confidence) {
            (Some(fewer), _) => fewer,
            (None, Confidence::Least) => 0.0,
            (None, _) => probability,
        };
        by_packets.resize((packets as usize).max(1), fewer);
        by_packets.push(probability);
        known = Some(probability);
    }
    Chance::of(by_packets)
}

#[cfg(test)]
mod tests {
    use super::super::{Behaviour, Conditions, Frames, Links, Protection, of_message};
    use super::*;

    fn share(of: u64, yes: u64) -> Share {
        Share { of, yes }
    }

    fn total(behaviour: Behaviour) -> f64 {
        let links = Links { loss: 1e-3, of_bytes: 1086, links: 1, corrupted: 1.0 };
        let protection = Protection { dummies: 1, ..Protection::default() };
        let frames = Frames::of(corpus::Verb::Write, 20 * 1024, 1024);
        of_message(&frames, &Conditions { links, protection, behaviour }).total()
    }

    #[test]
    fn what_was_not_seen_is_as_the_standard_has_it_and_may_be_anything() {
        let none = Losses::default();
        let observed = Observed::new(&none);
        assert_eq!(total(observed.behaviour(Interval::Seen)), total(Behaviour::standard()));
        let [worst, best] = [Interval::Worst, Interval::Best].map(|end| total(observed.behaviour(end)));
        let seen = total(Behaviour::standard());
        assert!(worst > 10.0 * seen && best < seen / 10.0, "{worst} {best}");
        let many = observed.with_all_at_least(1_000_000);
        let [worst, best] = [Interval::Worst, Interval::Best].map(|end| total(many.behaviour(end)));
        assert!(worst < 1.01 * seen && best > 0.99 * seen, "{worst} {best}");
    }

    #[test]
    fn more_occasions_make_a_smaller_interval() {
        let mut losses = Losses::default();
        losses.kinds.insert(LossKind::TailLost, share(50, 50));
        losses.kinds.insert(LossKind::AckLost, share(50, 50));
        losses.naks.obeyed = share(400, 380);
        losses.own_acks = share(100, 100);
        let width = |occasions| {
            let observed = Observed::new(&losses).with_all_at_least(occasions);
            let [worst, best] = [Interval::Worst, Interval::Best].map(|end| total(observed.behaviour(end)));
            assert!(best < total(observed.behaviour(Interval::Seen)));
            worst / best
        };
        let widths = [0, 300, 3_000, 300_000].map(width);
        assert!(widths.is_sorted_by(|one, next| one > next), "{widths:?}");
    }
}
