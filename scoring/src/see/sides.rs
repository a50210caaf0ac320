//! Host of the test that an address belongs to.

use std::collections::BTreeMap;
use std::net::IpAddr;

use corpus::{Role, TestConfig};
use dumper::Connection;

use crate::see::connections::Pair;

/// One of the two hosts, by the part that it plays on the test's connections.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Side {
    /// Posts the test's verbs.
    Requester,
    /// Answers them.
    Responder,
}

impl Side {
    /// The other host.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Requester => Self::Responder,
            Self::Responder => Self::Requester,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// The hosts of all addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sides(BTreeMap<IpAddr, Side>);

impl Sides {
    /// Reads them off the connections of the metadata, of which a known test says whose requester each has, and those that were seen.
    pub(crate) fn of(config: Option<&TestConfig>, connections: &[Connection], pairs: &[Pair]) -> Self {
        let mut sides = Self::default();
        for (connection, number) in connections.iter().zip(1..) {
            let requester = config.map(|config| match config.traffic.end_at(Role::Requester, number) {
                Role::Requester => Side::Requester,
                Role::Responder => Side::Responder,
            });
            sides.add(connection, requester);
        }
        for pair in pairs {
            sides.add(&pair.connection, None);
        }
        sides
    }

    /// Adds the hosts of a connection, with that of its requester if it is known. The first connection that names an address says whose it is:
    /// with traffic both ways each host is a requester as well as a responder.
    fn add(&mut self, connection: &Connection, requester: Option<Side>) {
        let (asks, answers) = (connection.requester.ip, connection.responder.ip);
        let known = || self.0.get(&answers).copied().map(Side::other);
        let side = requester.or_else(known).unwrap_or(Side::Requester);
        let side = *self.0.entry(asks).or_insert(side);
        self.0.entry(answers).or_insert(side.other());
    }

    /// The host that an address belongs to; `None` for one of no connection.
    pub(crate) fn at(&self, address: IpAddr) -> Option<Side> {
        self.0.get(&address).copied()
    }
}
