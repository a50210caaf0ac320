//! What keeps losses from ending in time-outs: copies that the network makes, and dummies behind messages (docs/corruption.md).

use crate::config::{Action, Copies, Event, Points, Repeat, Target, TestConfig, TrafficField};

impl TestConfig {
    /// Returns true if the network copies packets, or dummies follow messages.
    #[must_use]
    pub fn mitigates(&self) -> bool {
        self.network.repeat.is_on() || self.traffic.dummy_headers > 0
    }

    /// The same test without copies and dummies. Losses at random are the same, as each is drawn for itself. Events on data packets act on
    /// the same packets, whose PSNs differ where dummies are left out; those on dummies and copies are left out with them. Events on the n-th
    /// packet of another kind stay as they are: dummies are answered, so that without them it may be another one. A test that loses CNPs is not valid where no marks are left for
    /// them.
    #[must_use]
    pub fn without_mitigation(&self) -> Self {
        let mut test = self.clone();
        test.network.repeat = Repeat::default();
        for field in [TrafficField::DUMMY_HEADERS, TrafficField::DUMMY_IDLE_NS, TrafficField::DUMMY_RULE] {
            (field.set)(&mut test.traffic, field.default);
        }
        let original = self.events.iter().filter_map(Event::of_original);
        test.events = original.flat_map(|event| self.without_dummies(event)).collect();
        test
    }

    /// The events that do the same to the same packets where no dummies are sent.
    fn without_dummies(&self, event: Event) -> Vec<Event> {
        let shape = self.traffic.shape();
        let end = u32::try_from(shape.packets()).unwrap_or(u32::MAX);
        let Target::Data { iter, .. } = event.target else { return vec![event] };
        let Some(points) = event.points(end).filter(|_| self.traffic.dummy_headers > 0) else {
            return vec![event];
        };
        let kept: Vec<u32> = points.iter().filter_map(|psn| shape.psn_without_dummies(psn)).collect();
        let same = |points: Points| Event {
            target: Target::Data { psn: points.first, iter },
            progression: points.progression(),
            ..event.clone()
        };
        Points::of(&kept).into_iter().map(same).collect()
    }
}

impl Event {
    /// What it does to packets themselves; none if it is on copies alone.
    fn of_original(&self) -> Option<Self> {
        let action = match self.action {
            Action::Drop(Copies::One(_)) => return None,
            Action::Drop(Copies::All) => Action::DROP,
            other => other,
        };
        Some(Self { action, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::config::Progression;
    use crate::testing::complete_configs;

    /// Data packets that events name: connection, message, packet in it, round and action.
    fn named(config: &TestConfig) -> BTreeSet<(u32, u32, u32, u32, String)> {
        let (shape, connections) = (config.traffic.shape(), config.traffic.load.connections());
        let mut named = BTreeSet::new();
        for event in config.events.iter().filter_map(Event::of_original) {
            let Target::Data { iter, .. } = event.target else { continue };
            let points = event.points(shape.packets() as u32).into_iter().flat_map(Points::iter);
            for place in points.filter_map(|psn| shape.locate(psn)) {
                let action = format!("{:?}", event.action);
                let members = event.connections.members(connections);
                let of = |qpn| (qpn, place.message, place.packet, iter, action.clone());
                named.extend(members.filter(|_| place.packet < shape.own_packets()).map(of));
            }
        }
        named
    }

    proptest! {
        #[test]
        fn events_name_the_same_packets_without_dummies(config in complete_configs(), dummies in 0..4u8) {
            let mut config = config;
            config.traffic.dummy_headers = dummies;
            prop_assume!(config.is_valid());
            let without = config.without_mitigation();
            prop_assert!(!without.mitigates());
            // Without the marks on dummies there may be no CNPs to be lost.
            let marks = config.events.iter().any(|event| event.action == Action::Ecn);
            prop_assert!(without.is_valid() || marks, "{config}\n{without}");
            prop_assert_eq!(named(&without), named(&config));
            prop_assert_eq!(without.without_mitigation(), without);
        }
    }

    #[test]
    fn a_test_without_mitigation_stays_as_it_is() {
        let text = "[[event]]\nqpn = 1\npsn = 2\nevery = 3\ntype = \"drop\"\n[[event]]\nqpn = 1\npacket = \"nak\"\nnth = 1\ntype = \"ecn\"\n";
        let config = crate::from_toml("t.toml", text).unwrap();
        assert!(!config.mitigates());
        assert_eq!(config.without_mitigation(), config);
    }

    #[test]
    fn packets_keep_their_events_where_dummies_and_copies_go() {
        let text = "[traffic]\nmessage-size = 2048\nnum-msgs-per-qp = 4\ndummy-headers = 1\n\
            [network.repeat]\nnaks = 2\ntails = 3\n\
            [[event]]\nqpn = 1\npsn = 2\nevery = 1\ntype = \"ecn\"\n\
            [[event]]\nqpn = 1\npacket = \"nak\"\nnth = 3\ntype = \"drop\"\ncopies = \"all\"\n\
            [[event]]\nqpn = 1\npsn = 5\ntype = \"drop\"\ncopies = 2\n";
        let without = crate::from_toml("t.toml", text).unwrap().without_mitigation();
        let targets: Vec<_> = without.events.iter().map(|event| (event.target, event.action)).collect();
        let nak = Target::Control { packet: crate::ControlPacket::Nak, nth: 3 };
        assert_eq!(targets, [(Target::Data { psn: 2, iter: 1 }, Action::Ecn), (nak, Action::DROP)]);
        assert_eq!(without.events[0].progression, Some(Progression { every: 1, count: Some(7) }));
    }
}
