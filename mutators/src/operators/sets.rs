//! Operators on the connections of events: bugs that take many of them at once are not found one by one.

use corpus::{ConnectionSet, Event};
use rand::RngExt;

use super::traffic::operators;
use super::{Applied, Bench, Operator};
use crate::draw;

operators! {
    "set" 1.0 "Any other connections." |on| on.sets(|on, _| draw::set(on.space, on.test, on.rng));
    "set-one" 0.5 "One connection only." |on| on.sets(|on, _| {
        ConnectionSet::One(on.rng.random_range(1..=on.test.traffic.load.connections()))
    });
    "set-half" 0.5 "The first half of all connections." |on| on.sets(|on, _| {
        ConnectionSet::First((on.test.traffic.load.connections() / 2).max(1))
    });
    "set-all" 0.5 "All connections; all but one where one has to stay without events." |on| on.sets(|_, _| ConnectionSet::All);
    "set-more" 1.0 "One to four connections more." |on| on.resize(u32::saturating_add);
    "set-fewer" 1.0 "One to four connections fewer." |on| on.resize(u32::saturating_sub);
    "set-double" 1.0 "Twice as many connections." |on| on.resize(|n, _| n.saturating_mul(2));
    "set-halve" 1.0 "Half as many connections." |on| on.resize(|n, _| n / 2);
    "set-same" 0.5 "All events on the connections of one of them." |on| {
        let Some(at) = on.pick() else { return Applied::NotApplicable };
        let set = on.test.events[at].connections.clone();
        on.test.events.iter_mut().for_each(|event| event.connections = set.clone());
        (on.test.events.len() > 1).into()
    };
}

impl Bench<'_> {
    /// Gives any event, or all, another set made of its own.
    fn sets(&mut self, mut other: impl FnMut(&mut Self, &ConnectionSet) -> ConnectionSet) -> Applied {
        let Some(at) = self.pick() else { return Applied::NotApplicable };
        let set = other(self, &self.test.events[at].connections.clone());
        let all = self.rng.random_ratio(1, 2);
        let events: &mut [Event] =
            if all { &mut self.test.events } else { std::slice::from_mut(&mut self.test.events[at]) };
        events.iter_mut().for_each(|event| event.connections = set.clone());
        Applied::Changed
    }

    /// Gives any event, or all, so many connections as `to` makes of their number and of 1 to 4: the first ones, or any
    /// where the set is a list.
    fn resize(&mut self, to: fn(u32, u32) -> u32) -> Applied {
        self.sets(|on, set| {
            let connections = on.test.traffic.load.connections();
            let count = set.members(connections).count() as u32;
            let wanted = to(count, on.rng.random_range(1..=4)).clamp(1, connections);
            match set {
                ConnectionSet::List(_) => draw::list(connections, wanted, on.rng),
                ConnectionSet::One(qpn) if wanted == 1 => ConnectionSet::One(*qpn),
                _ => ConnectionSet::First(wanted),
            }
        })
    }
}
