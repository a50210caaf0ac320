//! Repairs a test, so that it is valid and inside of a space. Values that are so already stay as they are;
//! values that an operator (or a parent from elsewhere) has broken are repaired with little change: they
//! become the nearest allowed ones, a test that is too large shrinks, events move to packets that exist, and
//! events without a packet are removed.

mod addresses;
mod events;
pub(crate) mod network;
mod traffic;

use corpus::TestConfig;

use crate::offload;
use crate::space::Space;

pub(crate) use addresses::give as give_addresses;
pub(crate) use events::{fit_event, operands, spare};
pub(crate) use traffic::least_connections;

/// Repairs a test; returns true if it is valid and under the cap now. In spaces whose values hardly go together
/// (all are too large but one, which needs another verb) it may not be.
pub(crate) fn settle(space: &Space, test: &mut TestConfig) -> bool {
    fit(space, test);
    drop_faulty(space, test) && !traffic::over_cap(space, test)
}

/// Repairs a test; where that fails, it becomes the test of the space that is next to that of an empty file, which
/// is valid in each space of a target ([`crate::Target`]).
pub(crate) fn settle_or_plainest(space: &Space, test: &mut TestConfig) {
    if !settle(space, test) {
        let plain = TestConfig::default();
        (test.traffic, test.network, test.events) = (plain.traffic, plain.network, plain.events);
        (test.requester.offload, test.responder.offload, test.control) = (None, None, Vec::new());
        settle(space, test);
    }
}

/// Takes out the events that contradict others or that name packets which never exist, and losses of such packets. Returns true
/// if the test is valid then.
pub(crate) fn drop_faulty(space: &Space, test: &mut TestConfig) -> bool {
    loop {
        let violations = test.violations();
        if violations.is_empty() {
            // Without those events another connection may be the one that loses no packets.
            let set = network::fitted_set(space, test);
            if set == test.network.loss_qpn {
                return true;
            }
            test.network.loss_qpn = set;
            continue;
        }
        let mended = test.drop_events(&violations)
            || test.drop_controls(&violations)
            || violations.iter().all(|one| network::is_of(&one.field)) && network::repair(space, test);
        if !mended {
            return false;
        }
    }
}

/// Brings a test inside of the space; its events may contradict each other then.
pub(crate) fn fit(space: &Space, test: &mut TestConfig) {
    traffic::fit(space, test);
    events::fit(space, test);
    network::fit(space, test);
    offload::fit(space, test);
}
