//! Tests with flow tables, and those that they are compared with (docs/flow-tables.md).

use std::collections::BTreeSet;

use crate::config::{Control, Offload, Operation, Role, TestConfig, Traffic};

impl Offload {
    /// Fewest flows that a table with its masks has, for so many connections: each mask has an entry.
    #[must_use]
    pub fn least_flows(&self, connections: u32) -> u32 {
        let others =
            [self.egress_masks, self.ingress_masks].map(|masks| self.masks_of_others(masks, connections));
        connections.saturating_add(others.into_iter().max().unwrap_or(0))
    }

    /// Masks of so many that no connection of so many has.
    pub(crate) fn masks_of_others(&self, masks: u32, connections: u32) -> u32 {
        let of_connections: BTreeSet<u32> =
            (1..=connections).map(|qpn| self.place.mask_of(qpn, connections, masks)).collect();
        masks.saturating_sub(of_connections.len() as u32)
    }
}

/// Time after the pauses of the traffic that an operation may be at: a message takes less, but where packets are lost.
const AFTER_TRAFFIC_MS: u64 = 1_000;

impl Traffic {
    /// Pauses of a connection between its messages in all, in ms.
    pub(crate) fn pauses_ms(&self) -> u64 {
        let rounds = u64::from(self.num_msgs_per_qp.div_ceil(self.tx_depth.max(1)));
        rounds.saturating_sub(1).saturating_mul(self.gap_ns) / 1_000_000
    }

    /// Latest time of an operation on a flow table, in ms after the start of the test.
    #[must_use]
    pub fn last_operation_ms(&self) -> u64 {
        self.pauses_ms().saturating_add(AFTER_TRAFFIC_MS)
    }
}

impl TestConfig {
    /// The flow tables of the hosts that have one, the requester's first.
    pub fn tables(&self) -> impl Iterator<Item = &Offload> {
        [&self.requester.offload, &self.responder.offload].into_iter().flatten()
    }

    /// Returns true if an operation ends the traffic of a connection (relative QPN) before its last message.
    #[must_use]
    pub fn stops(&self, qpn: u32) -> bool {
        let connections = self.traffic.load.connections();
        self.control.iter().any(|control| match (control.operation, &self.host(control.host).offload) {
            (Operation::StopConnections(number), _) => qpn > connections.saturating_sub(number),
            (Operation::UnbindVf(function), Some(offload)) => offload.function_of(qpn) == function,
            _ => false,
        })
    }

    /// The same test with nine tenths of the flows, as far as its masks and operations allow; nothing if that is the same.
    #[must_use]
    pub fn with_fewer_flows(&self) -> Option<Self> {
        self.with_flows(|flows| flows / 10 * 9 + flows % 10 * 9 / 10)
    }

    /// The same test with as few flows as its masks and operations allow; nothing if that is the same.
    #[must_use]
    pub fn with_fewest_flows(&self) -> Option<Self> {
        self.with_flows(|_| 0)
    }

    /// The same test with the flows that operations leave from the start; nothing if no operation removes any, or one adds masks, which
    /// would have other places.
    #[must_use]
    pub fn without_removal(&self) -> Option<Self> {
        let removes = |control: &Control| matches!(control.operation, Operation::RemoveFlows(_));
        let adds_masks = |control: &Control| matches!(control.operation, Operation::AddMasks(_));
        if !self.control.iter().any(removes) || self.control.iter().any(adds_masks) {
            return None;
        }
        let connections = self.traffic.load.connections();
        let mut test = self.clone();
        test.control.retain(|control| {
            !matches!(control.operation, Operation::RemoveFlows(_) | Operation::AddFlows(_))
        });
        for role in Role::ALL {
            let added = self.operated(role, Operation::AddFlows(1));
            let removed = self.operated(role, Operation::RemoveFlows(1));
            if let Some(offload) = &mut test.host_mut(role).offload {
                let left = (offload.flows + added).saturating_sub(removed);
                offload.flows = left.max(offload.least_flows(connections));
            }
        }
        Some(test)
    }

    /// Flows of all operations of a kind at a host.
    fn operated(&self, role: Role, kind: Operation) -> u32 {
        let of_kind = |control: &&Control| control.host == role && control.operation.name() == kind.name();
        self.control.iter().filter(of_kind).map(|control| control.operation.number()).sum()
    }

    fn with_flows(&self, fewer: impl Fn(u32) -> u32) -> Option<Self> {
        let connections = self.traffic.load.connections();
        let mut test = self.clone();
        for role in Role::ALL {
            let removed = self.operated(role, Operation::RemoveFlows(1));
            if let Some(offload) = &mut test.host_mut(role).offload {
                let least = offload.least_flows(connections).saturating_add(removed);
                offload.flows = fewer(offload.flows).max(least).min(offload.flows);
            }
        }
        (test != *self).then_some(test)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(flows: u32, masks: u32, operations: &[Operation]) -> TestConfig {
        let mut config = TestConfig::default();
        config.traffic.load = crate::Load::Same { verb: crate::Verb::Write, connections: 4 };
        config.requester.offload =
            Some(Offload { flows, egress_masks: masks, virtual_functions: 3, ..Offload::default() });
        config.control = operations
            .iter()
            .map(|operation| Control { at_ms: 1, host: Role::Requester, operation: *operation })
            .collect();
        config
    }

    fn flows(test: Option<TestConfig>) -> Option<u32> {
        let test = test?;
        assert!(test.is_valid(), "{:?}", test.violations());
        test.requester.offload.map(|offload| offload.flows)
    }

    #[test]
    fn tests_that_one_is_compared_with_have_fewer_flows() {
        let many = test(1_003, 10, &[]);
        assert_eq!(flows(many.with_fewer_flows()), Some(902));
        // Connections spread over ten masks have four of them.
        assert_eq!(flows(many.with_fewest_flows()), Some(10));
        assert_eq!(flows(many.without_removal()), None);
        assert_eq!(flows(test(10, 10, &[]).with_fewer_flows()), None);
    }

    #[test]
    fn what_is_removed_was_there() {
        let removes = test(1_000, 10, &[Operation::AddFlows(50), Operation::RemoveFlows(900)]);
        assert_eq!(flows(removes.with_fewer_flows()), Some(910));
        assert_eq!(flows(removes.without_removal()), Some(150));
        assert_eq!(
            flows(test(1_000, 10, &[Operation::AddMasks(1), Operation::RemoveFlows(9)]).without_removal()),
            None
        );
    }

    #[test]
    fn operations_stop_connections() {
        let stopped = |operation| -> Vec<u32> {
            let config = test(9, 1, &[operation]);
            (1..=4).filter(|qpn| config.stops(*qpn)).collect()
        };
        assert_eq!(stopped(Operation::StopConnections(1)), [4]);
        assert_eq!(stopped(Operation::UnbindVf(1)), [1, 4]);
        assert!(stopped(Operation::AddFlows(1)).is_empty());
    }
}
