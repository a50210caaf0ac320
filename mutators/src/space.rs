//! Search space of a campaign: the values that each field of a test may have.

use std::ops::Index;

use corpus::Room;

use crate::axis::{AXES, Axis};
use crate::values::Values;
use crate::words;

/// A search space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// One for each of [`AXES`].
    values: Vec<Values>,
    /// Most data packets of a test over all connections, retransmissions not counted.
    pub packet_cap: u32,
    /// Room of the NICs.
    pub(crate) room: Room,
}

/// Most data packets of a test, where a target does not say: about 4 ms of simulation.
const DEFAULT_PACKET_CAP: u32 = 20_000;

impl Default for Space {
    /// One point: the test that an empty file is.
    fn default() -> Self {
        let values = AXES.iter().map(|entry| Values::only(entry.default)).collect();
        Self { values, packet_cap: DEFAULT_PACKET_CAP, room: Room::ALL }
    }
}

impl Index<Axis> for Space {
    type Output = Values;

    fn index(&self, axis: Axis) -> &Values {
        &self.values[axis as usize]
    }
}

impl Space {
    /// The values that a field may have.
    #[must_use]
    pub fn values(&self, axis: Axis) -> &Values {
        &self[axis]
    }

    /// Gives an axis other values.
    pub(crate) fn set(&mut self, axis: Axis, values: Values) {
        self.values[axis as usize] = values;
    }

    /// Returns true if every test has a connection without events.
    pub(crate) fn innocent(&self) -> bool {
        self[Axis::Innocent].contains(1)
    }

    /// Returns true if the NICs of the two hosts change places from test to test, which takes two different
    /// ones.
    #[must_use]
    pub fn swaps_nics(&self) -> bool {
        self[Axis::SwapNics].contains(1)
    }

    /// Returns true if every test has a flow table.
    #[must_use]
    pub fn always_offloads(&self) -> bool {
        !self[Axis::OffloadHosts].contains(words::NOWHERE)
    }

    /// Returns true if tests may lose packets at random.
    pub(crate) fn loses(&self) -> bool {
        self[Axis::LossPpb].largest() > 0
    }

    /// Most events of a test.
    pub(crate) fn max_entries(&self) -> usize {
        // At most `fields::MAX_EVENTS`.
        self[Axis::MaxEntries].largest() as usize
    }
}
