//! Connections: which of them a test does not tell apart, and how to do with fewer.

use corpus::{ConnectionSet, Load, Role, TestConfig, TrafficClass, Verb};

/// The connections of a test in classes: those with the same verbs that the same events name are as good as each
/// other. Those of more and earlier events come first, those without events last.
pub(super) struct Classes {
    /// Class of each connection, counted from 0.
    class_of: Vec<usize>,
    count: usize,
}

impl Classes {
    pub(super) fn of(config: &TestConfig) -> Self {
        let load = config.traffic.load;
        let connections = load.connections();
        let class_of = match load {
            Load::Split { send, .. } => (1..=connections).map(|qpn| usize::from(qpn > send)).collect(),
            Load::Same { .. } | Load::Alternating { .. } => vec![0; connections as usize],
        };
        let count = class_of.last().map_or(0, |last| last + 1);
        let mut classes = Self { class_of, count };
        for event in &config.events {
            classes.split_by(&event.connections, connections);
        }
        classes
    }

    /// Splits each class in members of a set and others, in this order.
    fn split_by(&mut self, set: &ConnectionSet, connections: u32) {
        let mut outside = vec![true; self.class_of.len()];
        for qpn in set.members(connections) {
            if let Some(outside) = outside.get_mut(qpn as usize - 1) {
                *outside = false;
            }
        }
        let part = |class: usize, outside: bool| 2 * class + usize::from(outside);
        let mut used = vec![false; 2 * self.count];
        for (class, outside) in self.class_of.iter_mut().zip(outside) {
            *class = part(*class, outside);
            used[*class] = true;
        }
        let mut next = 0;
        let numbers: Vec<usize> = used
            .into_iter()
            .map(|used| {
                next += usize::from(used);
                next - usize::from(used)
            })
            .collect();
        for class in &mut self.class_of {
            *class = numbers[*class];
        }
        self.count = next;
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Connections in a class.
    pub(super) fn count(&self, class: usize) -> u64 {
        self.class_of.iter().filter(|one| **one == class).count() as u64
    }

    /// Relative QPNs of a class, ascending.
    fn members(&self, class: usize) -> impl Iterator<Item = u32> + '_ {
        (1..).zip(&self.class_of).filter(move |(_, one)| **one == class).map(|(qpn, _)| qpn)
    }

    /// All relative QPNs, class by class.
    fn in_order(&self) -> Vec<u32> {
        let mut qpns: Vec<u32> = (1..).take(self.class_of.len()).collect();
        qpns.sort_by_key(|qpn| self.class_of[*qpn as usize - 1]);
        qpns
    }
}

/// Leaves only the first `to` connections of a class.
pub(super) fn reduce(config: &mut TestConfig, class: usize, to: u64) {
    let classes = Classes::of(config);
    let gone: Vec<u32> = classes.members(class).skip(to as usize).collect();
    let kept: Vec<u32> =
        (1..=config.traffic.load.connections()).filter(|qpn| gone.binary_search(qpn).is_err()).collect();
    renumber(config, &kept);
}

/// Whether [`order`] changes nothing.
pub(super) fn is_ordered(config: &TestConfig) -> bool {
    Classes::of(config).in_order().is_sorted()
}

/// Puts connections in the order of their classes, so that sets become short to say.
pub(super) fn order(config: &mut TestConfig) {
    let order = Classes::of(config).in_order();
    renumber(config, &order);
}

/// How many connections of a class an event names.
pub(super) fn members_in(config: &TestConfig, event: usize, class: usize) -> u64 {
    let classes = Classes::of(config);
    // A class is in an event as a whole or not at all.
    match (config.events.get(event), classes.members(class).next()) {
        (Some(event), Some(first)) if event.connections.contains(first) => classes.count(class),
        _ => 0,
    }
}

/// Leaves only the first `to` connections of a class in an event.
pub(super) fn reduce_members(config: &mut TestConfig, event: usize, class: usize, to: u64) {
    let connections = config.traffic.load.connections();
    let gone: Vec<u32> = Classes::of(config).members(class).skip(to as usize).collect();
    let set = &mut config.events[event].connections;
    *set = ConnectionSet::List(
        set.members(connections).filter(|qpn| gone.binary_search(qpn).is_err()).collect(),
    );
}

/// Makes a test of some of its connections, given by their old numbers in their new order, senders of a split load
/// first.
fn renumber(config: &mut TestConfig, old: &[u32]) {
    let before = config.traffic.load.connections();
    for event in &mut config.events {
        let mut inside = vec![false; before as usize + 1];
        for qpn in event.connections.members(before) {
            if let Some(inside) = inside.get_mut(qpn as usize) {
                *inside = true;
            }
        }
        let new = (1..).zip(old).filter(|(_, old)| inside[**old as usize]).map(|(new, _)| new).collect();
        event.connections = ConnectionSet::List(new);
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
