//! Operators on flow tables and what is done to them.

use corpus::Operation;
use rand::RngExt;

use super::traffic::operators;
use super::{Applied, Bench, Operator};
use crate::axis::Axis;
use crate::offload;
use crate::tables;

operators! {
    "offload-hosts" 0.5 "Other hosts have a flow table." |on| on.other(Axis::OffloadHosts);
    "flows" 1.0 "More or fewer flows in the tables." |on| on.other(Axis::Flows);
    "masks-egress" 1.0 "More or fewer masks of packets that leave." |on| on.other(Axis::EgressMasks);
    "masks-ingress" 1.0 "More or fewer masks of packets that arrive." |on| on.other(Axis::IngressMasks);
    "place" 0.5 "Entries of the connections at other masks." |on| on.other(Axis::Place);
    "tables" 0.25 "Packets are looked up in more or fewer tables." |on| on.other(Axis::Tables);
    "actions" 0.25 "More or fewer actions on each packet, or a tunnel." |on| {
        let axis = if on.rng.random_ratio(1, 2) { Axis::Actions } else { Axis::Vxlan };
        on.other(axis)
    };
    "scheduler" 0.25 "Masks are looked through in another order, or the hyper mask has more or fewer entries." |on| {
        let axis = if on.rng.random_ratio(1, 2) { Axis::Scheduler } else { Axis::HyperEntries };
        on.other(axis)
    };
    "virtual-functions" 0.25 "More or fewer virtual functions." |on| on.other(Axis::VirtualFunctions);
    "operation" 1.0 "One more operation on a flow table." |on| {
        if tables::table(on.test).is_none() {
            return Applied::NotApplicable;
        }
        let one = offload::operation(on.space, on.test, on.rng);
        on.test.control.push(one);
        Applied::Changed
    };
    "operation-gone" 0.5 "One operation less." |on| on.of_operations(|on, at| {
        on.test.control.remove(at);
    });
    "operation-time" 0.5 "An operation at another time." |on| on.of_operations(|on, at| {
        if let Some(at_ms) = on.space[Axis::OperationAt].other(on.test.control[at].at_ms.into(), on.rng) {
            on.test.control[at].at_ms = at_ms as u32;
        }
    });
    "churn" 1.0 "An operation on more or fewer flows." |on| on.of_operations(|on, at| {
        let operation = on.test.control[at].operation;
        let is_of_flows = !matches!(operation, Operation::UnbindVf(_) | Operation::StopConnections(_));
        let other = on.space[Axis::OperationCount].other(operation.number().into(), on.rng);
        if let Some(number) = other.filter(|_| is_of_flows) {
            on.test.control[at].operation = operation.with_number(number as u32);
        }
    });
}

impl Bench<'_> {
    /// Changes one of the operations.
    fn of_operations(&mut self, change: impl FnOnce(&mut Self, usize)) -> Applied {
        if self.test.control.is_empty() {
            return Applied::NotApplicable;
        }
        let before = self.test.control.clone();
        let at = self.rng.random_range(0..before.len());
        change(self, at);
        (self.test.control != before).into()
    }
}
