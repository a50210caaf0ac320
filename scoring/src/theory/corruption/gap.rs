//! A PSN that is lost, until it has arrived.

use super::behaviour::Asking;
use super::outcome::Outcome;
use super::time_outs::TimeOuts;

/// Less than this is no probability: the shares of late messages that somebody asks for are far above it.
const NOTHING: f64 = 1e-20;

/// Probabilities that none of the packets behind one arrives, that one does, and so on; the last one is that of as many or more.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Behind {
    packets: Vec<f64>,
    /// The least and the greatest number that has a probability: few have one, as most packets arrive.
    least: usize,
    greatest: usize,
}

impl Behind {
    /// There is none; numbers up to `horizon`, and at least 0 and 1, are told apart.
    pub(super) fn nothing(horizon: usize) -> Self {
        let mut packets = vec![0.0; horizon.max(1) + 1];
        packets[0] = 1.0;
        Self { packets, least: 0, greatest: 0 }
    }

    /// As many arrive as are told apart.
    pub(super) fn plenty(horizon: usize) -> Self {
        let mut packets = Self::nothing(horizon).packets;
        packets.reverse();
        let most = packets.len() - 1;
        Self { packets, least: most, greatest: most }
    }

    /// One more, which is lost with a probability.
    pub(super) fn also(&mut self, lost: f64) {
        let most = self.packets.len() - 1;
        self.greatest = (self.greatest + 1).min(most);
        for number in (self.least..=self.greatest).rev() {
            let stays = if number == most { 1.0 } else { lost };
            let comes = number.checked_sub(1).map_or(0.0, |before| self.packets[before] * (1.0 - lost));
            self.packets[number] = self.packets[number] * stays + comes;
        }
        while self.least < most && self.packets[self.least] < NOTHING {
            self.packets[self.least] = 0.0;
            self.least += 1;
        }
    }

    /// This, and one more.
    pub(super) fn and(&self, lost: f64) -> Self {
        let mut all = self.clone();
        all.also(lost);
        all
    }

    /// Returns true if as many arrive as are told apart.
    pub(super) fn is_plenty(&self) -> bool {
        self.least + 1 == self.packets.len()
    }

    fn none(&self) -> f64 {
        self.packets[0]
    }

    /// Mean of something over the numbers of packets, but for none.
    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        (self.least.max(1)..=self.greatest).map(|number| self.packets[number] * of(number)).sum()
    }
}

/// How it is asked for.
pub(super) struct Ask<'b> {
    pub(super) asking: &'b Asking,
    /// Probability that a NAK is lost, with its copies.
    pub(super) lost: f64,
}

/// Probabilities that it is lost: when it is sent first, for a NAK, and after a time-out.
pub(super) struct Gap {
    pub(super) lost: f64,
    pub(super) asked: f64,
    pub(super) again: f64,
    /// A requester begins anew after a time-out, while a responder remembers its NAK.
    pub(super) is_response: bool,
}

impl Gap {
    /// Its time-outs, where numbers up to `allowed` are told apart. `tails` is the probability that a packet behind which nothing
    /// arrives is timed out on.
    pub(super) fn outcome(&self, ask: &Ask<'_>, behind: &Behind, tails: f64, allowed: usize) -> Outcome {
        let Self { lost, asked, again, is_response } = *self;
        let Ask { asking, lost: ask_lost } = ask;
        let sent = behind.mean(|packets| asking.first.behind(packets));
        let twice = behind.mean(|packets| asking.first.behind(packets) * asking.repeated.behind(packets));
        // As many as behind the first transmission come behind the next one.
        let once_more = behind.mean(|packets| asking.again.behind(2 * packets));
        // The first transmission is lost, and then ...
        let passes = (1.0 - ask_lost) * (sent + ask_lost * twice);
        let heard = passes * asking.obeyed;
        let tail = behind.none() * tails;
        let nak_lost = ask_lost * (sent - (1.0 - ask_lost) * twice);
        let unsent = 1.0 - behind.none() - sent;
        let ignored = passes - heard;
        // Another transmission is lost, after a NAK.
        let heard_again = once_more * (1.0 - ask_lost) * asking.obeyed;
        // Expiries before any NAK, and after one.
        let (fresh, asked_before) = match is_response {
            true => (tail + unsent + nak_lost + ignored, 0.0),
            false => (tail + unsent, nak_lost + ignored),
        };
        let unheard = 1.0 - heard_again;
        // Numbers of time-outs once it is lost: before any NAK, and after one.
        let (mut new, mut old) = (vec![0.0; allowed + 1], vec![0.0; allowed + 1]);
        for number in 0..=allowed {
            let at = |which: usize| if number == which { 1.0 } else { 0.0 };
            let before = |all: &[f64]| number.checked_sub(1).map_or(0.0, |one| all[one]);
            let [new_before, old_before] =
                [&new, &old].map(|all| at(1) * (1.0 - again) + again * before(all));
            let after = if is_response { new_before } else { old_before };
            old[number] =
                (heard_again * (1.0 - asked) * at(0) + unheard * after) / (1.0 - heard_again * asked);
            new[number] = (behind.none() - tail) * at(0)
                + heard * ((1.0 - asked) * at(0) + asked * old[number])
                + fresh * new_before
                + asked_before * old_before;
        }
        // Expected ones: old = old_alone + old_new new.
        let (old_alone, old_new) = match is_response {
            true => (unheard / (1.0 - heard_again * asked), unheard * again / (1.0 - heard_again * asked)),
            false => (unheard / (1.0 - heard_again * asked - unheard * again), 0.0),
        };
        let from_old = heard * asked + asked_before * again;
        let all = (fresh + asked_before + from_old * old_alone) / (1.0 - fresh * again - from_old * old_new);
        let at_first = tail + nak_lost + unsent + ignored;
        let time_outs = TimeOuts {
            tail_lost: tail,
            nak_lost,
            lost_again: (all - at_first).max(0.0),
            ack_lost: 0.0,
            faults: unsent + ignored,
        };
        new.iter_mut().for_each(|share| *share *= lost);
        new[0] += 1.0 - lost;
        Outcome { time_outs: time_outs * lost, numbers: new }
    }
}

#[cfg(test)]
mod tests {
    use super::super::behaviour::Chance;
    use super::*;

    fn behind(packets: usize, horizon: usize) -> Behind {
        let mut behind = Behind::nothing(horizon);
        (0..packets).for_each(|_| behind.also(0.0));
        behind
    }

    /// Few numbers of many packets have a probability, and those are binomial.
    #[test]
    fn what_arrives_of_many_is_binomial() {
        let mut behind = Behind::nothing(64);
        (0..50).for_each(|_| behind.also(0.01));
        let arrive = |lost: i32| {
            let ways: f64 = (0..lost).map(|at| f64::from(50 - at) / f64::from(at + 1)).product();
            ways * 0.01_f64.powi(lost) * 0.99_f64.powi(50 - lost)
        };
        for lost in 0..8 {
            let seen = behind.packets[50 - lost as usize];
            assert!((seen / arrive(lost) - 1.0).abs() < 1e-9, "{lost}: {seen}");
        }
        assert!(behind.least > 30 && behind.greatest == 50 && behind.none() == 0.0, "{}", behind.least);
        assert!((behind.mean(|_| 1.0) - 1.0).abs() < 1e-12);
    }

    /// The mean of the numbers is what is expected, whatever an end does.
    #[test]
    fn numbers_have_the_expected_mean() {
        let asking = Asking {
            first: Chance::of(vec![0.0, 0.5, 0.9]),
            repeated: Chance::of(vec![0.0, 0.0, 0.3]),
            again: Chance::of(vec![0.0, 0.2]),
            in_passing: [Chance::never(), Chance::never()],
            obeyed: 0.8,
        };
        for is_response in [false, true] {
            for packets in [0, 1, 2, 9] {
                let gap = Gap { lost: 0.3, asked: 0.1, again: 0.35, is_response };
                let ask = Ask { asking: &asking, lost: 0.2 };
                let outcome = gap.outcome(&ask, &behind(packets, 2).and(0.25), 0.9, 60);
                let mean: f64 = (0..).zip(&outcome.numbers).map(|(n, share)| f64::from(n) * share).sum();
                assert!((mean - outcome.time_outs.total()).abs() < 1e-9, "{mean} {:?}", outcome.time_outs);
                assert!(outcome.beyond() < 1e-9);
            }
        }
    }

    /// By the standard each loss after the only NAK is a time-out; with a NAK for each packet none but tails is.
    #[test]
    fn one_nak_or_many() {
        let gap = || Gap { lost: 0.1, asked: 0.1, again: 0.1, is_response: false };
        let of = |asking: &Asking, packets| {
            let outcome = gap().outcome(&Ask { asking, lost: 0.0 }, &behind(packets, 4), 1.0, 0);
            outcome.time_outs.total()
        };
        let once = Asking::once();
        assert!((of(&once, 3) - 0.1 * 0.1 / 0.9).abs() < 1e-12);
        assert!((of(&once, 0) - 0.1 / 0.9).abs() < 1e-12);
        let each = Asking { again: Chance::always(), repeated: Chance::always(), ..Asking::once() };
        assert!(of(&each, 3) < 1e-12);
        let every_fourth = Asking { again: Chance::of(vec![0.0, 0.0, 0.0, 0.0, 1.0]), ..Asking::once() };
        // Two packets behind each of two transmissions are four.
        assert!(of(&every_fourth, 2) < 1e-12 && of(&every_fourth, 1) > 0.01);
    }
}
