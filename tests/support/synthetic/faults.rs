//! Faults of a world, and their places.

use std::collections::BTreeMap;

use super::packet::{Direction, Kind, Packet};

/// The packet that a fault hits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The n-th packet of a kind on the connection, from 1.
    Nth(Kind, u32),
    /// The data packet of a relative PSN (from 1) when it passes for the n-th time (from 1).
    Psn(u32, u32),
}

/// Action on the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Dropped by the switch.
    Drop,
    /// Its ICRC is left wrong.
    Corrupt,
    /// Marked.
    Ecn,
    /// Leaves this many nanoseconds later, past others.
    Delay(u64),
    /// Leaves after the next packet of its connection and direction.
    Reorder,
    /// Leaves so many times.
    Duplicate(u8),
    /// Marked and delayed.
    EcnAndDelay(u64),
    /// Thrown away by the host that receives it; the switch sees nothing of that.
    Discard,
}

impl Action {
    /// Returns true if the packet does not arrive.
    pub const fn loses(self) -> bool {
        matches!(self, Self::Drop | Self::Corrupt | Self::Discard)
    }
}

/// One fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Connection, from 1.
    pub connection: usize,
    /// Packet.
    pub target: Target,
    /// The action.
    pub action: Action,
}

/// Counts packets and finds the fault of each.
#[derive(Debug, Default)]
pub(super) struct Injector {
    of_kind: BTreeMap<(usize, Kind), u32>,
    of_psn: BTreeMap<(usize, Direction, u64), u32>,
}

impl Injector {
    /// The action for a packet that enters the switch.
    pub(super) fn action(&mut self, faults: &[Fault], packet: &Packet) -> Option<Action> {
        let kind = packet.kind();
        let nth = self.of_kind.entry((packet.connection, kind)).or_default();
        *nth += 1;
        let nth = *nth;
        let mut round = 0;
        if packet.is_data() {
            let times = self.of_psn.entry((packet.connection, packet.direction, packet.at)).or_default();
            *times += 1;
            round = *times;
        }
        let hits = |fault: &&Fault| {
            fault.connection == packet.connection + 1
                && match fault.target {
                    Target::Nth(of, n) => of == kind && n == nth,
                    Target::Psn(psn, n) => packet.is_data() && u64::from(psn) == packet.at + 1 && n == round,
                }
        };
        faults.iter().find(hits).map(|fault| fault.action)
    }
}
