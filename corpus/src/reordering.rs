//! What makes packets overtake each other (docs/multipath.md).

use crate::config::{Action, Event, TestConfig};

impl TestConfig {
    /// Returns true if packets of a connection may leave in another order than they came: over several paths, or by events.
    #[must_use]
    pub fn reorders(&self) -> bool {
        self.network.paths.len() > 1 || self.events.iter().any(Event::reorders)
    }

    /// The same test with one path for all packets, as slow as the slowest, to which the longest delay of an event is added; without
    /// the events that make packets overtake each other.
    #[must_use]
    pub fn over_slowest_path(&self) -> Self {
        let delays = self.events.iter().filter_map(|event| match event.action {
            Action::Delay { ns } | Action::Hold { ns } => Some(ns),
            _ => None,
        });
        let mut test = self.clone();
        test.network = self.network.over_slowest_path();
        test.network.paths[0].delay_ns += delays.max().unwrap_or_default();
        test.events.retain(|event| !event.reorders());
        test
    }
}

impl Event {
    /// Returns true if packets behind the event's may overtake them.
    fn reorders(&self) -> bool {
        matches!(self.action, Action::Delay { .. } | Action::Hold { .. } | Action::Reorder { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConnectionSet, Path, Target};

    #[test]
    fn one_path_is_as_slow_as_the_slowest_and_the_longest_delay_of_an_event() {
        let event = |action| Event {
            connections: ConnectionSet::All,
            target: Target::Data { psn: 1, iter: 1 },
            progression: None,
            action,
        };
        let mut test = TestConfig::default();
        assert!(!test.reorders());
        let path = |delay_ns, rate_gbps| Path { delay_ns, rate_gbps, ..Path::default() };
        test.network.paths = vec![path(3_000, 100), path(9_000, 0), path(0, 25)];
        test.events = [Action::Ecn, Action::Delay { ns: 400 }, Action::Delay { ns: 70 }].map(event).into();
        assert!(test.reorders());
        let alone = test.over_slowest_path();
        assert!(!alone.reorders());
        assert_eq!(alone.network.paths, [path(9_400, 25)]);
        assert_eq!(alone.events, [event(Action::Ecn)]);
    }
}
