//! Connections: classes that a test does not distinguish, and ways to use fewer.

use corpus::config::fields;
use corpus::{ConnectionSet, Event, Load, Role, TestConfig, TrafficClass, Verb};
use rand::seq::IteratorRandom as _;
use rand_chacha::ChaCha8Rng;

/// The connections of a test in classes: those of the same verbs, events and traffic classes are as good as each other.
/// Those of more and earlier events come first, those without events last.
pub(super) struct Classes {
    /// Class of each connection, counted from 0.
    class_of: Vec<usize>,
    count: usize,
}

impl Classes {
    pub(super) fn of(config: &TestConfig) -> Self {
        let load = config.traffic.load;
        let connections = load.connections();
        let mut classes = Self { class_of: vec![0; connections as usize], count: 1 };
        if let Load::Split { send, .. } = load {
            classes.split((1..=connections).map(|qpn| qpn <= send));
        }
        for event in &config.events {
            classes.split(membership(&event.connections, connections).into_iter());
        }
        classes.split((1..=connections).map(|qpn| config.network.touches(qpn)));
        for role in Role::ALL {
            if let Some(TrafficClass::PerConnection(list)) = &config.host(role).traffic_class {
                for class in 0..=fields::TRAFFIC_CLASS.max {
                    classes.split(list.iter().map(|one| u64::from(*one) == class));
                }
            }
        }
        classes
    }

    /// Splits each class in those inside of something and those outside, in this order.
    fn split(&mut self, inside: impl Iterator<Item = bool>) {
        let mut used = vec![false; 2 * self.count];
        for (class, inside) in self.class_of.iter_mut().zip(inside) {
            *class = 2 * *class + usize::from(!inside);
            used[*class] = true;
        }
        let numbers: Vec<usize> = used
            .iter()
            .scan(0, |next, used| {
                *next += usize::from(*used);
                Some(*next)
            })
            .collect();
        for class in &mut self.class_of {
            *class = numbers[*class] - 1;
        }
        self.count = numbers.last().copied().unwrap_or_default();
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Connections in a class.
    pub(super) fn count(&self, class: usize) -> u64 {
        self.class_of.iter().filter(|one| **one == class).count() as u64
    }

    /// Relative QPNs of a class, ascending.
    pub(super) fn members(&self, class: usize) -> impl Iterator<Item = u32> + '_ {
        (1..).zip(&self.class_of).filter(move |(_, one)| **one == class).map(|(qpn, _)| qpn)
    }

    /// Returns true if any event names a class, or the network loses its packets.
    pub(super) fn are_eventful(&self, class: usize, config: &TestConfig) -> bool {
        self.members(class).next().is_some_and(|first| config.has_events_on(first))
    }

    /// Returns true if an event names a class: as a whole, or else not at all.
    fn are_in(&self, class: usize, event: &Event) -> bool {
        self.members(class).next().is_some_and(|first| event.connections.contains(first))
    }

    /// All relative QPNs, class by class.
    fn in_order(&self) -> Vec<u32> {
        let mut qpns: Vec<u32> = (1..).take(self.class_of.len()).collect();
        qpns.sort_by_key(|qpn| self.class_of[*qpn as usize - 1]);
        qpns
    }
}

/// True for each connection that is in a set.
fn membership(set: &ConnectionSet, connections: u32) -> Vec<bool> {
    let mut inside = vec![false; connections as usize];
    for qpn in set.members(connections) {
        inside[qpn as usize - 1] = true;
    }
    inside
}

/// Leaves only the first `to` connections of a class.
pub(super) fn reduce(config: &mut TestConfig, class: usize, to: u64) {
    let classes = Classes::of(config);
    let gone: Vec<u32> = classes.members(class).skip(to as usize).collect();
    let kept: Vec<u32> =
        (1..=config.traffic.load.connections()).filter(|qpn| gone.binary_search(qpn).is_err()).collect();
    renumber(config, &kept);
}

/// Returns true if [`order`] changes nothing.
pub(super) fn is_ordered(config: &TestConfig) -> bool {
    Classes::of(config).in_order().is_sorted()
}

/// Puts connections in the order of their classes, so that sets become short to say.
pub(super) fn order(config: &mut TestConfig) {
    let order = Classes::of(config).in_order();
    renumber(config, &order);
}

/// Every event with every class that it names.
pub(super) fn memberships(config: &TestConfig) -> Vec<(usize, usize)> {
    let classes = Classes::of(config);
    (0..config.events.len())
        .flat_map(|event| (0..classes.len()).map(move |class| (event, class)))
        .filter(|(event, class)| classes.are_in(*class, &config.events[*event]))
        .collect()
}

/// Number of connections of a class that an event names.
pub(super) fn members_in(config: &TestConfig, event: usize, class: usize) -> u64 {
    let classes = Classes::of(config);
    match config.events.get(event) {
        Some(event) if classes.are_in(class, event) => classes.count(class),
        _ => 0,
    }
}

/// Leaves only the first `to` connections of a class in an event.
pub(super) fn reduce_members(config: &mut TestConfig, event: usize, class: usize, to: u64) {
    let gone: Vec<u32> = Classes::of(config).members(class).skip(to as usize).collect();
    let connections = config.traffic.load.connections();
    take_out(&mut config.events[event].connections, &gone, connections);
}

/// Sets of connections in events and in the network.
fn sets(config: &mut TestConfig) -> impl Iterator<Item = &mut ConnectionSet> {
    config.events.iter_mut().map(|event| &mut event.connections).chain([&mut config.network.loss_qpn])
}

/// Leaves only the first `to` connections of a class in any event, or losing packets.
pub(super) fn leave_in_peace(config: &mut TestConfig, class: usize, to: u64) {
    let gone: Vec<u32> = Classes::of(config).members(class).skip(to as usize).collect();
    let connections = config.traffic.load.connections();
    for set in sets(config) {
        take_out(set, &gone, connections);
    }
}

/// Takes connections, ascending, out of a set.
fn take_out(set: &mut ConnectionSet, gone: &[u32], connections: u32) {
    *set = ConnectionSet::List(
        set.members(connections).filter(|qpn| gone.binary_search(qpn).is_err()).collect(),
    );
}

/// Keeps so many of these connections, drawn, in their order.
pub(super) fn keep(
    config: &mut TestConfig,
    these: impl IntoIterator<Item = u32>,
    count: usize,
    rng: &mut ChaCha8Rng,
) {
    let mut kept = these.into_iter().sample(rng, count);
    kept.sort_unstable();
    renumber(config, &kept);
}

/// Makes a test of some of its connections, given by their old numbers in their new order, senders of a split load
/// first.
pub(crate) fn renumber(config: &mut TestConfig, old: &[u32]) {
    let before = config.traffic.load.connections();
    for set in sets(config) {
        let inside = membership(set, before);
        let new = (1..).zip(old).filter(|(_, old)| inside[**old as usize - 1]).map(|(new, _)| new).collect();
        *set = ConnectionSet::List(new);
    }
    for role in Role::ALL {
        if let Some(TrafficClass::PerConnection(classes)) = &mut config.host_mut(role).traffic_class {
            *classes = old.iter().filter_map(|qpn| classes.get(*qpn as usize - 1).copied()).collect();
        }
    }
    let connections = old.len() as u32;
    config.traffic.load = match config.traffic.load {
        Load::Same { verb, .. } => Load::Same { verb, connections },
        Load::Alternating { .. } => Load::Alternating { connections },
        Load::Split { send, .. } => {
            let send = old.iter().filter(|qpn| **qpn <= send).count() as u32;
            match (send, connections - send) {
                (0, _) => Load::Same { verb: Verb::Read, connections },
                (_, 0) => Load::Same { verb: Verb::Send, connections },
                (send, read) => Load::Split { send, read },
            }
        }
    };
}
