//! Traffic and hosts.

use corpus::config::fields::MAX_PAUSES_NS;
use corpus::{Load, Pattern, Role, TestConfig};

use crate::axis::{AXES, Axis, Of};
use crate::classes;
use crate::settle::addresses;
use crate::space::Space;
use crate::words;

pub(super) fn fit(space: &Space, test: &mut TestConfig) {
    for entry in AXES {
        let values = &space[entry.axis];
        match entry.of {
            Of::Test(get, set) => {
                let value = get(test);
                if !values.contains(value) {
                    set(test, values.nearest(value));
                }
            }
            Of::Host(get, set) => {
                for role in Role::ALL {
                    let host = test.host_mut(role);
                    let value = get(host);
                    if !values.contains(value) {
                        set(host, values.nearest(value));
                    }
                }
            }
            Of::Part => {}
        }
    }
    addresses::fit(space, test);
    in_turn(space, test);
    enough_connections(space, test);
    depth_of_messages(space, test);
    if over_cap(space, test) {
        shrink(space, test);
    }
    // Fewer messages may ask for a smaller depth, and a smaller depth makes more pauses of the same messages.
    for _ in 0..3 {
        short_pauses(space, test);
        depth_of_messages(space, test);
    }
    in_turn(space, test);
    if over_cap(space, test) {
        shrink(space, test);
        in_turn(space, test);
    }
    waiting_dummies(space, test);
    classes::fit(space, test);
}

fn set(space: &Space, test: &mut TestConfig, axis: Axis, value: u64) {
    if let (Of::Test(_, set), true) = (axis.entry().of, space[axis].contains(value)) {
        set(test, value);
    }
}

/// Connections that a test of this form has at least.
pub(crate) fn least_connections(space: &Space, test: &TestConfig) -> u64 {
    let split = matches!(test.traffic.load, Load::Split { .. });
    let in_turn = test.traffic.pattern == Pattern::PingPong;
    if split || test.traffic.barrier_sync || in_turn || space.innocent() { 2 } else { 1 }
}

/// The most connections of the space that are not more than that; whole pairs where the hosts post in turn.
fn most_connections(space: &Space, test: &TestConfig, most: u64) -> Option<u64> {
    let mut found = space[Axis::Connections].at_most(most)?;
    while test.traffic.pattern == Pattern::PingPong && !found.is_multiple_of(2) {
        found = space[Axis::Connections].at_most(found.checked_sub(1)?)?;
    }
    Some(found)
}

/// Where the hosts post in turn: pairs of connections, with what they can answer. Where the space does not have that, one host posts.
fn in_turn(space: &Space, test: &mut TestConfig) {
    if test.traffic.pattern != Pattern::PingPong {
        return;
    }
    for (axis, value) in [(Axis::TxDepth, 1), (Axis::BarrierSync, 0), (Axis::Gap, 0)] {
        set(space, test, axis, value);
    }
    let verbs = [words::WRITE, words::SEND];
    if !verbs.contains(&words::of_load(test.traffic.load)) {
        verbs.into_iter().for_each(|verb| set(space, test, Axis::Verb, verb));
    }
    if u64::from(test.traffic.message_size) < least_bytes(test) {
        set(space, test, Axis::MessageSize, smallest_size(space, test));
    }
    let connections = u64::from(test.traffic.load.connections());
    if !connections.is_multiple_of(2) {
        for pairs in [connections + 1, connections.max(3) - 1] {
            set(space, test, Axis::Connections, pairs);
        }
    }
    if over_cap(space, test) || !test.traffic.can_take_turns() {
        set(space, test, Axis::Pattern, Pattern::OneWay as u64);
    }
}

/// Bytes that a message of this form has at least: a host answers a Write when its last byte has arrived, and
/// waiting dummies are told from Writes and Reads by their size.
fn least_bytes(test: &TestConfig) -> u64 {
    let verb = words::of_load(test.traffic.load);
    let in_turn = verb == words::WRITE && test.traffic.pattern == Pattern::PingPong;
    let beside_dummies = verb != words::SEND && test.traffic.dummy_idle_ns > 0;
    u64::from(in_turn || beside_dummies)
}

fn smallest_size(space: &Space, test: &TestConfig) -> u64 {
    let sizes = &space[Axis::MessageSize];
    sizes.at_least(least_bytes(test)).unwrap_or(sizes.smallest())
}

/// Where dummies wait, there is one.
fn fewest_dummies(space: &Space, test: &TestConfig) -> u64 {
    let numbers = &space[Axis::DummyHeaders];
    numbers.at_least((test.traffic.dummy_idle_ns > 0).into()).unwrap_or(numbers.smallest())
}

/// Dummies that wait are there, and are told from messages; where the space does not have that, none wait.
fn waiting_dummies(space: &Space, test: &mut TestConfig) {
    if test.traffic.dummy_idle_ns > 0 && !test.traffic.can_wait_with_dummies() {
        let before = test.clone();
        if test.traffic.dummy_headers == 0 {
            set(space, test, Axis::DummyHeaders, fewest_dummies(space, test));
        }
        set(space, test, Axis::MessageSize, space[Axis::MessageSize].at_least(1).unwrap_or_default());
        if !test.traffic.can_wait_with_dummies() {
            // Sends are told from dummies whatever their size.
            set(space, test, Axis::Verb, words::SEND);
        }
        if (over_cap(space, test) || !test.traffic.can_wait_with_dummies())
            && space[Axis::DummyIdle].contains(0)
        {
            *test = before;
            set(space, test, Axis::DummyIdle, 0);
        } else if over_cap(space, test) {
            shrink(space, test);
        }
    }
    if test.traffic.dummy_idle_ns == 0 {
        set(space, test, Axis::DummyRule, 0);
    }
}

fn enough_connections(space: &Space, test: &mut TestConfig) {
    let least = least_connections(space, test);
    if u64::from(test.traffic.load.connections()) >= least {
        return;
    }
    match space[Axis::Connections].at_least(least) {
        Some(connections) => set(space, test, Axis::Connections, connections),
        None => plain(space, test),
    }
}

/// The form that needs fewest connections.
fn plain(space: &Space, test: &mut TestConfig) {
    set(space, test, Axis::BarrierSync, 0);
    set(space, test, Axis::Verb, space[Axis::Verb].smallest());
}

/// No more requests outstanding than there are messages.
fn depth_of_messages(space: &Space, test: &mut TestConfig) {
    let messages = u64::from(test.traffic.num_msgs_per_qp);
    if u64::from(test.traffic.tx_depth) <= messages {
        return;
    }
    let depths = &space[Axis::TxDepth];
    let depth = depths.at_most(messages).unwrap_or(depths.smallest());
    set(space, test, Axis::TxDepth, depth);
    if let Some(more) = space[Axis::Messages].at_least(depth.max(messages)) {
        set(space, test, Axis::Messages, more);
    }
}

/// Shorter pauses, or else fewer messages, so that all pauses together are not too long.
fn short_pauses(space: &Space, test: &mut TestConfig) {
    if test.traffic.pauses_ns() <= MAX_PAUSES_NS {
        return;
    }
    let gaps = &space[Axis::Gap];
    let longest = MAX_PAUSES_NS / test.traffic.pauses();
    set(space, test, Axis::Gap, gaps.at_most(longest).unwrap_or(gaps.smallest()));
    if test.traffic.pauses_ns() > MAX_PAUSES_NS {
        let pauses = MAX_PAUSES_NS / test.traffic.gap_ns;
        let messages = pauses.saturating_add(1).saturating_mul(test.traffic.tx_depth.into());
        let all = &space[Axis::Messages];
        set(space, test, Axis::Messages, all.at_most(messages).unwrap_or(all.smallest()));
    }
}

pub(super) fn over_cap(space: &Space, test: &TestConfig) -> bool {
    test.traffic.total_packets() > space.packet_cap.into()
}

/// Fewer messages, then smaller ones, then fewer connections, until the test is under the cap: most bugs
/// depend on the number of connections, fewest on that of messages.
fn shrink(space: &Space, test: &mut TestConfig) {
    let cap = u64::from(space.packet_cap);
    let least_messages = space[Axis::Messages].at_least(space[Axis::TxDepth].smallest());
    let [messages, sizes, connections] =
        [Axis::Messages, Axis::MessageSize, Axis::Connections].map(|axis| &space[axis]);

    let each = u64::from(test.traffic.shape().packets_per_message())
        .saturating_mul(test.traffic.load.connections().into());
    let fewer = messages.at_most(cap / each).max(least_messages).unwrap_or(messages.smallest());
    set(space, test, Axis::Messages, fewer);
    depth_of_messages(space, test);
    if !over_cap(space, test) {
        return;
    }

    let all = u64::from(test.traffic.num_msgs_per_qp).saturating_mul(test.traffic.load.connections().into());
    let own = (cap / all).saturating_sub(test.traffic.dummy_headers.into());
    let smaller = sizes.at_most(own.saturating_mul(test.traffic.mtu.bytes().into()));
    let smallest = smallest_size(space, test);
    set(space, test, Axis::MessageSize, smaller.map_or(smallest, |smaller| smaller.max(smallest)));
    if !over_cap(space, test) {
        return;
    }

    for last_resort in [false, true] {
        if last_resort {
            plain(space, test);
            set(space, test, Axis::Mtu, space[Axis::Mtu].largest());
            set(space, test, Axis::DummyHeaders, fewest_dummies(space, test));
        }
        let each = test.traffic.shape().packets();
        let least = connections.at_least(least_connections(space, test));
        let fewer = most_connections(space, test, cap / each).max(least).unwrap_or(connections.smallest());
        set(space, test, Axis::Connections, fewer);
        if !over_cap(space, test) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Values;
    use corpus::{Mtu, Verb};

    fn space(values: &[(Axis, Values)], packet_cap: u32) -> Space {
        let mut space = Space::default();
        space.packet_cap = packet_cap;
        values.iter().for_each(|(axis, values)| space.set(*axis, values.clone()));
        space
    }

    fn range(min: u64, max: u64) -> Values {
        Values::Range { min, max }
    }

    #[test]
    fn what_is_too_large_shrinks_as_little_as_it_must() {
        let space = space(
            &[
                (Axis::Connections, range(1, 100)),
                (Axis::Messages, range(2, 50)),
                (Axis::MessageSize, range(0, 1 << 20)),
            ],
            1_000,
        );
        let mut test = TestConfig::default();
        test.traffic.load = Load::Same { verb: Verb::Write, connections: 10 };
        test.traffic.num_msgs_per_qp = 50;
        fit(&space, &mut test);
        assert_eq!((test.traffic.num_msgs_per_qp, test.traffic.message_size), (10, 10_240));
        test.traffic.message_size = 100 * 1024;
        fit(&space, &mut test);
        assert_eq!((test.traffic.num_msgs_per_qp, test.traffic.message_size), (2, 50 * 1024));
        test.traffic.load = Load::Same { verb: Verb::Write, connections: 100 };
        fit(&space, &mut test);
        assert_eq!((test.traffic.num_msgs_per_qp, test.traffic.message_size), (2, 5 * 1024));
        assert_eq!(test.traffic.total_packets(), 1_000);
    }

    #[test]
    fn the_last_resort_is_the_smallest_test_there_is() {
        let space = space(
            &[
                (Axis::Verb, Values::List(vec![0, 4])),
                (Axis::Connections, range(1, 100)),
                (Axis::BarrierSync, Values::List(vec![0, 1])),
                (Axis::Mtu, Values::List(vec![256, 4096])),
                (Axis::MessageSize, Values::only(4096)),
            ],
            10,
        );
        let mut test = TestConfig::default();
        test.traffic.load = Load::Split { send: 30, read: 30 };
        test.traffic.mtu = Mtu::B256;
        test.traffic.barrier_sync = true;
        fit(&space, &mut test);
        assert_eq!(test.traffic.total_packets(), 10);
        assert_eq!(test.traffic.load, Load::Same { verb: Verb::Write, connections: 1 });
    }

    #[test]
    fn messages_that_are_told_from_waiting_dummies_get_a_larger_mtu_where_no_smaller_size_is_left() {
        let space = space(
            &[
                (Axis::Mtu, Values::List(vec![256, 1024])),
                (Axis::MessageSize, Values::List(vec![0, 20_000])),
                (Axis::DummyHeaders, Values::only(1)),
                (Axis::DummyIdle, Values::only(1)),
            ],
            210,
        );
        for size in [0, 20_000] {
            let mut test = TestConfig::default();
            (test.traffic.mtu, test.traffic.message_size) = (Mtu::B256, size);
            fit(&space, &mut test);
            assert_eq!((test.traffic.mtu, test.traffic.message_size), (Mtu::B1024, 20_000));
            assert_eq!((test.violations(), test.traffic.total_packets()), (Vec::new(), 210));
        }
    }

    #[test]
    fn a_dummy_that_waits_is_left_when_all_else_shrinks() {
        let space = space(
            &[
                (Axis::Connections, Values::List(vec![1, 40])),
                (Axis::Messages, Values::only(10)),
                (Axis::MessageSize, Values::only(10_240)),
                (Axis::DummyHeaders, range(0, 3)),
                (Axis::DummyIdle, Values::only(1)),
            ],
            120,
        );
        let mut test = TestConfig::default();
        test.traffic.load = Load::Same { verb: Verb::Write, connections: 40 };
        test.traffic.dummy_headers = 3;
        fit(&space, &mut test);
        assert_eq!((test.traffic.load.connections(), test.traffic.dummy_headers), (1, 1));
        assert_eq!((test.violations(), test.traffic.total_packets()), (Vec::new(), 110));
    }

    #[test]
    fn what_shrinks_keeps_whole_pairs_of_hosts_that_post_in_turn() {
        let fitted = |connections, packet_cap| {
            let space = space(
                &[
                    (Axis::Connections, connections),
                    (Axis::Messages, Values::only(10)),
                    (Axis::Mtu, Values::List(vec![256, 512])),
                    (Axis::MessageSize, Values::only(10_240)),
                    (Axis::Pattern, Values::only(Pattern::PingPong as u64)),
                ],
                packet_cap,
            );
            let mut test = TestConfig::default();
            fit(&space, &mut test);
            assert_eq!(test.violations(), []);
            assert!(test.traffic.total_packets() <= packet_cap.into());
            (test.traffic.load.connections(), test.traffic.mtu)
        };
        assert_eq!(fitted(range(1, 2), 400), (2, Mtu::B512));
        assert_eq!(fitted(Values::List(vec![4, 5, 8]), 1_100), (4, Mtu::B512));
    }

    #[test]
    fn pauses_become_shorter_and_where_they_cannot_there_are_fewer() {
        let second = 1_000_000_000;
        let fitted = |gaps: Values| {
            let space = space(
                &[(Axis::Messages, range(1, 500)), (Axis::TxDepth, range(1, 4)), (Axis::Gap, gaps)],
                10_000,
            );
            let mut test = TestConfig::default();
            (test.traffic.num_msgs_per_qp, test.traffic.tx_depth) = (481, 4);
            test.traffic.gap_ns = second;
            fit(&space, &mut test);
            (test.traffic.num_msgs_per_qp, test.traffic.gap_ns)
        };
        assert_eq!(fitted(range(0, second)), (481, second / 2));
        assert_eq!(fitted(range(second, second * 2)), (244, second));
    }

    #[test]
    fn the_depth_follows_where_long_pauses_leave_fewer_messages() {
        let gap = 10_000_000_000;
        let fitted = |messages: &[u64], depths: &[u64]| {
            let space = space(
                &[
                    (Axis::Messages, Values::List(messages.to_vec())),
                    (Axis::TxDepth, Values::List(depths.to_vec())),
                    (Axis::Gap, Values::only(gap)),
                ],
                10_000,
            );
            let mut test = TestConfig::default();
            (test.traffic.num_msgs_per_qp, test.traffic.tx_depth, test.traffic.gap_ns) = (400, 30, gap);
            fit(&space, &mut test);
            assert!(test.traffic.pauses_ns() <= MAX_PAUSES_NS);
            (test.traffic.num_msgs_per_qp, u64::from(test.traffic.tx_depth))
        };
        assert_eq!(fitted(&[1, 400], &[1, 30]), (1, 1));
        assert_eq!(fitted(&[20, 400], &[4, 30]), (20, 4));
    }
}
