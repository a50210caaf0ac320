//! Losses at random, copies, paths.

use corpus::{ConnectionSet, LossDirection, PacketKinds, Repeat, TestConfig};

use crate::axis::Axis;
use crate::paths;
use crate::settle::spare;
use crate::space::Space;
use crate::words;

/// Brings the network inside of the space, where it is not at its default: settings of losses without losses, and of copies
/// without copies.
pub(super) fn fit(space: &Space, test: &mut TestConfig) {
    if test.network.loses() {
        test.network.loss_bytes = None;
        test.network.seed = None;
        test.network.loss_qpn = fitted_set(space, test);
    } else {
        test.network = test.network.without_losses();
    }
    paths::fit(&mut test.network);
    if test.network.repeat.retransmissions <= 1 {
        test.network.repeat.matching = Repeat::default().matching;
    }
}

/// The connections that lose packets: all or, where one has to stay without events, any that leave one.
pub(crate) fn fitted_set(space: &Space, test: &TestConfig) -> ConnectionSet {
    let connections = test.traffic.load.connections();
    if !test.network.loses() || !space.innocent() {
        return ConnectionSet::All;
    }
    let set = &test.network.loss_qpn;
    let exist = set.members(connections).all(|qpn| qpn <= connections);
    if exist && (1..=connections).any(|qpn| !test.has_events_on(qpn)) {
        return set.clone();
    }
    match spare(&test.events, connections) {
        Some(spared) if spared == connections && connections > 1 => ConnectionSet::First(connections - 1),
        Some(spared) => ConnectionSet::List((1..=connections).filter(|qpn| *qpn != spared).collect()),
        None => ConnectionSet::All,
    }
}

/// Returns true for the path of a field of the network.
pub(super) fn is_of(path: &str) -> bool {
    path.starts_with("network.")
}

/// Has the network lose packets that every test has, as far as the space allows it. Returns true if that changes anything.
pub(super) fn repair(space: &Space, test: &mut TestConfig) -> bool {
    let before = test.network.clone();
    let network = &mut test.network;
    let kinds =
        [words::ANY_KIND, words::LOST_DATA].into_iter().find(|word| space[Axis::LossPackets].contains(*word));
    network.loss_packets = kinds.map_or(PacketKinds::ALL, words::lost);
    network.loss_direction = LossDirection::Both;
    test.network != before
}
