//! Repairs a test, so that it is valid and inside of a space. Values that are so already stay as they are;
//! values that an operator (or a parent from elsewhere) has broken are repaired with little change: they
//! become the nearest allowed ones, a test that is too large shrinks, events move to packets that exist, and
//! events without a packet are removed.

mod addresses;
mod events;
mod traffic;

use corpus::TestConfig;

use crate::space::Space;

pub(crate) use addresses::give as give_addresses;
pub(crate) use events::{drop_faulty, fit_event, operands, spare};
pub(crate) use traffic::least_connections;

/// Repairs a test; returns true if it is valid now. It always is, if its hosts differ and the space has a
/// valid test.
pub(crate) fn settle(space: &Space, test: &mut TestConfig) -> bool {
    fit(space, test);
    drop_faulty(test)
}

/// Brings a test inside of the space; its events may contradict each other then.
pub(crate) fn fit(space: &Space, test: &mut TestConfig) {
    traffic::fit(space, test);
    events::fit(space, test);
}
