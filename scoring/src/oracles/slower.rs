//! Messages that take longer than those of another run, by more than chance.

use std::collections::BTreeMap;

use dumper::{Completion, Nanos};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::baseline::Mct;
use crate::thresholds::{FEWEST_MESSAGES, LATENCY_BY_CHANCE};

/// Times of messages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Slower {
    /// Their mean.
    pub(super) here: Nanos,
    /// Mean of as many messages of the same connections in the other run.
    pub(super) there: Nanos,
    /// Mean that they have at the least, whatever chance has added to it.
    pub(super) at_least: Nanos,
}

impl Slower {
    /// Compares messages with those of the same connections in another run, where a connection posts so many at once. These share what happens to
    /// them, as an ACK that comes late, and count as one: a burst. Bursts of one connection differ by chance, those of others by their flows too.
    /// `None` where they are too few to tell.
    pub(super) fn of<'a>(
        messages: impl Iterator<Item = &'a Completion>,
        at_once: u32,
        usual: &[Mct],
    ) -> Option<Self> {
        let at_once = at_once.max(1);
        let mut bursts: BTreeMap<u32, BTreeMap<u32, (u64, u64)>> = BTreeMap::new();
        for one in messages {
            let of_connection = bursts.entry(one.connection).or_default();
            let (total, count) = of_connection.entry(one.message.saturating_sub(1) / at_once).or_default();
            *total += (one.completed_ns - one.posted_ns).0;
            *count += 1;
        }
        let (mut total, mut usual_total, mut messages, mut usual_messages) = (0, 0, 0, 0);
        let mut chance = Chance::default();
        for (connection, bursts) in bursts {
            let usual = usual.get(connection.checked_sub(1)? as usize).filter(|mct| mct.completed > 0)?;
            let count: u64 = bursts.values().map(|(_, count)| count).sum();
            total += bursts.values().map(|(total, _)| total).sum::<u64>();
            usual_total += usual.mean.0 * count;
            messages += count;
            usual_messages += u64::from(usual.completed);
            let means = bursts.values().map(|(total, count)| *total as f64 / *count as f64);
            chance.add(&means.collect::<Vec<_>>());
        }
        if messages < FEWEST_MESSAGES as u64 {
            return None;
        }
        let (here, there) = (total.checked_div(messages)?, usual_total.checked_div(messages)?);
        let at_least = here as f64 - chance.of_means(usual_messages as f64 / f64::from(at_once))?;
        Some(Self { here: Nanos(here), there: Nanos(there), at_least: Nanos(at_least.max(0.0) as u64) })
    }
}

/// How far the times of bursts differ within connections.
#[derive(Default)]
struct Chance {
    bursts: f64,
    /// Squares of the distances from the means of the connections, and their degrees of freedom.
    squares: f64,
    freedom: f64,
}

impl Chance {
    /// The bursts of a connection.
    fn add(&mut self, times: &[f64]) {
        let number = times.len() as f64;
        let mean = times.iter().sum::<f64>() / number;
        self.bursts += number;
        self.squares += times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
        self.freedom += number - 1.0;
    }

    /// The most by which their mean is above that of so many others by chance, by Student's t; `None` if no connection has two.
    fn of_means(&self, others: f64) -> Option<f64> {
        let quantile = StudentsT::new(0.0, 1.0, self.freedom).ok()?.inverse_cdf(1.0 - LATENCY_BY_CHANCE);
        let variance = self.squares / self.freedom;
        Some(quantile * (variance / self.bursts + variance / others.max(1.0)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use dumper::observation::CompletionStatus;

    use super::*;

    fn message((connection, message, took): (u32, u32, u64)) -> Completion {
        Completion {
            connection,
            message,
            posted_ns: Nanos::ZERO,
            completed_ns: Nanos(took),
            bytes: 1,
            status: CompletionStatus::Success,
        }
    }

    fn usual(mean: u64) -> Mct {
        Mct { completed: 10, mean: Nanos(mean), ..Mct::default() }
    }

    fn compare(messages: &[(u32, u32, u64)], at_once: u32, usual: &[Mct]) -> Option<Slower> {
        let messages: Vec<_> = messages.iter().copied().map(message).collect();
        Slower::of(messages.iter(), at_once, usual)
    }

    /// Messages that were posted in the moment in which a flow was removed, at a NIC whose ACKs take up to 15 µs: two late ACKs, for ten of them.
    #[test]
    fn late_acks_of_a_few_bursts_are_chance() {
        let late = [
            (3, 8, 2_183),
            (3, 9, 15_512),
            (3, 10, 15_449),
            (11, 10, 2_354),
            (13, 9, 3_754),
            (13, 10, 3_715),
        ];
        let bursts =
            [(6, 17_382), (14, 17_308)].map(|(qpn, took)| (6..=10).map(move |message| (qpn, message, took)));
        let messages: Vec<_> = late.into_iter().chain(bursts.into_iter().flatten()).collect();
        assert_eq!(compare(&messages, 5, &[usual(10_500); 14]), None);
        // With ten messages more, after another pause.
        let more = [6, 14].map(|qpn| (11..=15).map(move |message| (qpn, message, 3_000)));
        let messages: Vec<_> = messages.into_iter().chain(more.into_iter().flatten()).collect();
        let Slower { there, at_least, .. } = compare(&messages, 5, &[usual(5_000); 14]).unwrap();
        assert!(at_least < there, "{at_least}");
    }

    /// The first connection's flow is behind many masks: it is slower than the other one in either run.
    #[test]
    fn what_takes_longer_each_time_is_no_chance() {
        let messages: Vec<_> = (1..=5)
            .flat_map(|message| [(1, message, 4_000 + u64::from(message)), (2, message, 1_500)])
            .collect();
        let Slower { at_least, .. } = compare(&messages, 1, &[usual(3_000), usual(1_000)]).unwrap();
        assert!((Nanos(2_740)..Nanos(2_752)).contains(&at_least), "{at_least}");
    }

    #[test]
    fn few_messages_say_nothing() {
        let messages = |number: u32| (1..=number).map(|message| (1, message, 1_000)).collect::<Vec<_>>();
        assert_eq!(compare(&messages(9), 1, &[usual(100)]), None);
        assert_eq!(compare(&messages(10), 10, &[usual(100)]), None, "one burst");
        assert_eq!(compare(&messages(10), 5, &[]), None, "the other run has no such connection");
        let same = compare(&messages(10), 5, &[usual(1_000)]).unwrap();
        assert_eq!(same, Slower { here: Nanos(1_000), there: Nanos(1_000), at_least: Nanos(1_000) });
    }
}
