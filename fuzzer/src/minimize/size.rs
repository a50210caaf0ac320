//! Size of a test, which the minimiser reduces.

use corpus::{ConnectionSet, TestConfig};

use super::events::Detail;
use super::parameters::parameters;

/// Returns true if a test is smaller than another one.
#[must_use]
pub fn is_smaller(one: &TestConfig, other: &TestConfig) -> bool {
    Size::of(one) < Size::of(other)
}

/// The size of a test: earlier fields count more.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Size {
    /// Connections that some event names. First, as a threshold in a NIC shows by their number: while the
    /// test still has all its load, nothing else decides.
    eventful: usize,
    connections: u32,
    messages: u32,
    events: usize,
    /// Connections that events name, over all events.
    members: u64,
    parameters: Heights,
    /// Bytes of a message, after the MTU, which is a parameter: else messages of two packets would need the smallest MTU.
    bytes: u32,
    details: Heights,
    /// Numbers and times of operations on flow tables.
    operations: u64,
    /// Connections that have to be named one by one.
    listed: u64,
}

/// Heights above the bottom of several axes: how many are above it, and how far in all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Heights {
    above: u64,
    sum: u64,
}

impl FromIterator<u64> for Heights {
    fn from_iter<T: IntoIterator<Item = u64>>(heights: T) -> Self {
        heights.into_iter().fold(Self { above: 0, sum: 0 }, |Self { above, sum }, height| Self {
            above: above + u64::from(height > 0),
            sum: sum.saturating_add(height),
        })
    }
}

impl Size {
    pub(super) fn of(config: &TestConfig) -> Self {
        let traffic = &config.traffic;
        let connections = traffic.load.connections();
        let details = config
            .events
            .iter()
            .flat_map(|event| Detail::COUNTED.map(|detail| detail.height(event, traffic)));
        Self {
            connections,
            eventful: config.connections_with_events(),
            messages: traffic.num_msgs_per_qp,
            events: config.events.len()
                + usize::from(config.network.loses())
                + usize::from(config.network.repeat.is_on())
                + config.network.paths.len()
                + config.control.len(),
            members: config
                .events
                .iter()
                .map(|event| event.connections.members(connections).count() as u64)
                .sum(),
            parameters: parameters().map(|parameter| parameter.height(config)).collect(),
            bytes: traffic.message_size,
            details: details.collect(),
            operations: config
                .control
                .iter()
                .map(|control| u64::from(control.operation.number()) + u64::from(control.at_ms))
                .sum(),
            listed: config.events.iter().map(|event| listed(&event.connections)).sum(),
        }
    }

    /// Things of which there could be less: connections, messages, events, parameters that are not at their defaults.
    pub(super) fn things(&self) -> u64 {
        let more = [self.connections > 1, self.messages > 1, self.events > 1, self.parameters.above > 0];
        more.into_iter().filter(|more| *more).count() as u64
    }
}

#[cfg(test)]
impl Size {
    /// Steps that lead from a size to a smaller one, one for each unit of each number that is smaller there, and each 1,024 bytes.
    pub(super) fn steps_above(&self, smaller: &Self) -> u64 {
        let numbers = |size: &Self| {
            [
                size.eventful as u64,
                size.connections.into(),
                size.messages.into(),
                size.bytes.div_ceil(1_024).into(),
                size.events as u64,
                size.parameters.above,
                size.details.above,
            ]
        };
        numbers(self).iter().zip(numbers(smaller)).map(|(this, smaller)| this.saturating_sub(smaller)).sum()
    }
}

fn listed(set: &ConnectionSet) -> u64 {
    match set {
        ConnectionSet::One(1) | ConnectionSet::First(_) | ConnectionSet::All => 0,
        ConnectionSet::One(_) => 1,
        // As long as a range would say the same in a simpler way.
        ConnectionSet::List(list) => 1 + list.len() as u64,
    }
}
