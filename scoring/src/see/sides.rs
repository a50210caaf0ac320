//! Host of the test that an address belongs to.

use std::collections::BTreeMap;
use std::net::IpAddr;

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
#[derive(Debug)]
pub(crate) struct Sides(BTreeMap<IpAddr, Side>);

impl Sides {
    /// Reads them off the connections. The first one that names an address says whose it is: metadata comes
    /// first, and with traffic both ways each host is a requester as well as a responder.
    pub(crate) fn of_pairs(pairs: &[Pair]) -> Self {
        let mut sides = BTreeMap::new();
        for pair in pairs {
            let (asks, answers) = (pair.connection.requester.ip, pair.connection.responder.ip);
            let known = sides.get(&answers).copied().map(Side::other);
            let side = *sides.entry(asks).or_insert(known.unwrap_or(Side::Requester));
            sides.entry(answers).or_insert(side.other());
        }
        Self(sides)
    }

    /// The host that an address belongs to; `None` for one of no connection.
    pub(crate) fn of(&self, address: IpAddr) -> Option<Side> {
        self.0.get(&address).copied()
    }
}
