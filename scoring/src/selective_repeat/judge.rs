//! The connections of a test with selective repeat.

use corpus::TestConfig;
use dumper::{Fate, Nanos, Record};

use super::connection::{Connection, Ledger, Repeats, Room};
use crate::anomaly::Anomalies;
use crate::go_back_n::{Beliefs, SharedPath};
use crate::known::{Host, Known, repeats_selectively};
use crate::machines::Transitions;
use crate::rewritten;
use crate::see::connections::Pair;

/// Most PSNs of all connections together: those that were sent and are not done with, and those that deliveries look at. A connection
/// that has more is not judged: no test has so many.
const MOST: Room = Room { psns: 1 << 21, looks: 1 << 28 };

/// The connections of a test whose hosts repeat selectively; none of other tests.
pub struct SelectiveRepeat {
    connections: Vec<Option<Connection>>,
    room: Room,
}

impl SelectiveRepeat {
    /// The judge of a test, with its connections, each with its number, its path MTU and its hosts, in the order of the trackers.
    pub(crate) fn of(
        config: Option<&TestConfig>,
        known: &Known,
        connections: impl Iterator<Item = (Pair, usize, u32, [Host; 2])>,
    ) -> Self {
        // The receiver of a rewritten packet has received another one than the trace shows.
        let judges = |config: &&TestConfig| repeats_selectively(config) && !rewritten::rewrites(config);
        let connections = match config.filter(judges) {
            None => Vec::new(),
            Some(config) => {
                // An adaptive timer may expire sooner.
                let timeout = known.timeout.filter(|_| !config.requester.roce.adaptive_retrans);
                let new = |(pair, number, mtu, hosts)| Connection::new(pair, number, mtu, hosts, timeout);
                connections.map(new).collect()
            }
        };
        Self { connections, room: MOST }
    }

    /// A packet of the connection at a place enters the switch; returns the beliefs about its ends.
    pub(crate) fn enters(
        &mut self,
        at: usize,
        record: &Record,
        fate: Fate,
        (known, shared_path): (&Known, &SharedPath),
        (transitions, anomalies): (&mut Transitions, &mut Anomalies),
    ) -> Option<Beliefs> {
        let (connection, room) = (self.connections.get_mut(at)?.as_mut()?, &mut self.room);
        if fate == Fate::Unknown {
            connection.give_up();
        }
        connection.enters(record, &mut Ledger { known, shared_path, transitions, anomalies, room });
        connection.beliefs()
    }

    /// A packet of the connection at a place has left the switch.
    pub(crate) fn leaves(
        &mut self,
        at: usize,
        record: &Record,
        left: Nanos,
        (known, shared_path): (&Known, &SharedPath),
        (transitions, anomalies): (&mut Transitions, &mut Anomalies),
    ) {
        let room = &mut self.room;
        if let Some(connection) = self.connections.get_mut(at).and_then(Option::as_mut) {
            connection.leaves(record, left, &mut Ledger { known, shared_path, transitions, anomalies, room });
        }
    }

    /// The connection at a place is not judged any more.
    pub(crate) fn give_up(&mut self, at: usize) {
        if let Some(connection) = self.connections.get_mut(at).and_then(Option::as_mut) {
            connection.give_up();
        }
    }

    /// Returns true if the connection at a place was judged to its end, by selective repeat's rules.
    pub(crate) fn judged(&self, at: usize) -> bool {
        self.connections.get(at).and_then(Option::as_ref).is_some_and(|one| !one.gave_up())
    }

    /// Retransmissions of the connection at a place.
    pub(crate) fn repeats(&self, at: usize) -> Repeats {
        self.connections.get(at).and_then(Option::as_ref).map(|one| one.repeats).unwrap_or_default()
    }
}
