//! Random tests, and the random parts that operators put into tests.

use corpus::{
    Action, ConnectionSet, ControlPacket, Event, Host, Load, Progression, Role, SetField, Target, TestConfig,
};
use rand::RngExt;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;

use crate::axis::{AXES, Axis, Of};
use crate::classes;
use crate::offload;
use crate::settle::{give_addresses, operands, settle, settle_or_plainest};
use crate::space::Space;
use crate::values::Values;
use crate::words;

/// Draws of traffic above the cap before it is cut down: cut tests would crowd below the cap.
pub(crate) const DRAWS: u32 = 8;
/// Draws of an event that contradicts the others, before it is left out.
const EVENT_DRAWS: u32 = 8;
/// Most members of a list of connections.
const LONGEST_LIST: u32 = 64;

/// A random test of the space.
pub(crate) fn test(space: &Space, hosts: &[Host; 2], rng: &mut ChaCha8Rng) -> TestConfig {
    let mut test = traffic_and_hosts(space, hosts, rng, Values::draw, DRAWS);
    settle_or_plainest(space, &mut test);
    for _ in 0..event_count(space, rng) {
        for _ in 0..EVENT_DRAWS {
            let mut more = test.clone();
            add_event(space, &mut more, rng);
            if settle(space, &mut more) && more.events.len() > test.events.len() {
                test = more;
                break;
            }
        }
    }
    test
}

/// A way to draw one of the values of a field.
pub(crate) type Draw = fn(&Values, &mut ChaCha8Rng) -> u64;

/// The traffic and the hosts of a random test, which are not settled yet: the first of so many draws under the cap, or the last.
pub(crate) fn traffic_and_hosts(
    space: &Space,
    hosts: &[Host; 2],
    rng: &mut ChaCha8Rng,
    draw: Draw,
    draws: u32,
) -> TestConfig {
    let [requester, responder] = hosts.clone();
    let mut test = TestConfig { requester, responder, ..TestConfig::default() };
    for _ in 0..draws {
        traffic(space, &mut test, rng, draw);
        if test.traffic.total_packets() <= space.packet_cap.into() {
            break;
        }
    }
    for role in Role::ALL {
        if test.traffic.multi_gid {
            let count = space[Axis::Addresses].draw(rng);
            give_addresses(&mut test, role, count);
        }
    }
    classes::draw(space, &mut test, rng);
    offload::draw_operations(space, &mut test, rng);
    if space.swaps_nics() && rng.random_ratio(1, 2) {
        swap_nics(&mut test);
    }
    test
}

fn traffic(space: &Space, test: &mut TestConfig, rng: &mut ChaCha8Rng, draw: Draw) {
    for entry in AXES {
        let values = &space[entry.axis];
        match entry.of {
            // What is lost at random is something else in each test. Other runs of the same traffic share their reference.
            Of::Test(_, set) if entry.axis == Axis::Seed => {
                set(test, if space.loses() { values.draw_evenly(rng) } else { values.smallest() });
            }
            // Nothing is drawn, so that the random tests of a target are those from before there was the field.
            Of::Test(_, set) if entry.is_later() && values.smallest() == values.largest() => {
                set(test, values.smallest());
            }
            Of::Test(_, set) => set(test, draw(values, rng)),
            Of::Host(_, set) => {
                for role in Role::ALL {
                    set(test.host_mut(role), draw(values, rng));
                }
            }
            Of::Part => {}
        }
    }
    divide(&mut test.traffic.load, rng);
}

/// Gives each host the NIC of the other: the model, and its place on a physical testbed.
pub const fn swap_nics(test: &mut TestConfig) {
    std::mem::swap(&mut test.requester.nic, &mut test.responder.nic);
    std::mem::swap(&mut test.requester.physical, &mut test.responder.physical);
}

/// Another number of senders among connections that send or read.
pub(crate) fn divide(load: &mut Load, rng: &mut ChaCha8Rng) {
    if let Load::Split { send, read } = load {
        let all = *send + *read;
        if all > 1 {
            *send = rng.random_range(1..all);
            *read = all - *send;
        }
    }
}

/// One mostly, each further one half as often.
pub(crate) fn event_count(space: &Space, rng: &mut ChaCha8Rng) -> usize {
    let most = space.max_entries();
    let mut count = 1;
    while count < most && rng.random_ratio(1, 2) {
        count += 1;
    }
    count.min(most)
}

/// A random event, and one that marks packets before it if only that makes its packet exist.
pub(crate) fn add_event(space: &Space, test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    let connections = match test.events.last() {
        // Bugs that need many connections at once need the same events on them.
        Some(last) if rng.random_ratio(3, 4) => last.connections.clone(),
        _ => set(space, test, rng),
    };
    let target = target(space, test, rng);
    let is_cnp = matches!(target, Target::Control { packet: ControlPacket::Cnp, .. });
    if is_cnp && !test.events.iter().any(|event| event.action == Action::Ecn) {
        test.events.push(Event {
            connections: connections.clone(),
            target: data(space, test, rng),
            progression: progression(space, rng),
            action: Action::Ecn,
        });
    }
    let (progression, action) = (progression(space, rng), action(space, rng));
    let event = Event { connections, target, progression, action };
    test.events.push(event.clone());
    in_rounds(space, test, &event, rng);
}

/// Adds an event on data again for the rounds of transmission after its own: as many as the space draws and
/// has room for. Losses end a QP only where every round of a packet is lost.
pub(crate) fn in_rounds(space: &Space, test: &mut TestConfig, event: &Event, rng: &mut ChaCha8Rng) {
    let Target::Data { psn, iter } = event.target else { return };
    let rounds = space[Axis::Rounds].draw(rng) as u32;
    let room = space.max_entries().saturating_sub(test.events.len());
    let further = (1..rounds).take(room).map(|further| {
        let target = Target::Data { psn, iter: iter.saturating_add(further) };
        Event { target, ..event.clone() }
    });
    test.events.extend(further);
}

/// A random set of connections.
pub(crate) fn set(space: &Space, test: &TestConfig, rng: &mut ChaCha8Rng) -> ConnectionSet {
    let connections = test.traffic.load.connections();
    let most = if space.innocent() { connections.saturating_sub(1).max(1) } else { connections };
    match space[Axis::Sets].draw(rng) {
        words::ONE => ConnectionSet::One(rng.random_range(1..=connections)),
        words::LIST => {
            let count = rng.random_range(1..=most.min(LONGEST_LIST));
            list(connections, count, rng)
        }
        words::FIRST => ConnectionSet::First(rng.random_range(1..=most)),
        _ => ConnectionSet::All,
    }
}

/// So many connections, any of them.
pub(crate) fn list(connections: u32, count: u32, rng: &mut ChaCha8Rng) -> ConnectionSet {
    let mut list: Vec<u32> =
        sample(rng, connections as usize, count as usize).into_iter().map(|at| at as u32 + 1).collect();
    list.sort_unstable();
    ConnectionSet::List(list)
}

/// A random packet: data in half of the cases.
pub(crate) fn target(space: &Space, test: &TestConfig, rng: &mut ChaCha8Rng) -> Target {
    let kinds = &space[Axis::Packet];
    let kind =
        if kinds.contains(words::DATA) && rng.random_ratio(1, 2) { words::DATA } else { kinds.draw(rng) };
    let Some(packet) = words::control_packet(kind) else { return data(space, test, rng) };
    Target::Control { packet, nth: space[Axis::Nth].draw(rng) as u32 }
}

/// A random data packet: any, or one at an edge of a message.
fn data(space: &Space, test: &TestConfig, rng: &mut ChaCha8Rng) -> Target {
    let shape = test.traffic.shape();
    let packets = u32::try_from(shape.packets()).unwrap_or(u32::MAX);
    let message = shape.message_psns(rng.random_range(0..test.traffic.num_msgs_per_qp.max(1)));
    let psn = match (rng.random_range(0..4), message) {
        (0, Some(message)) => *message.start(),
        (1, Some(message)) => *message.end(),
        (2, _) => packets,
        _ => rng.random_range(1..=packets),
    };
    Target::Data { psn, iter: round(space, rng) }
}

/// A round of transmission: the first that the space has, mostly.
pub(crate) fn round(space: &Space, rng: &mut ChaCha8Rng) -> u32 {
    let rounds = &space[Axis::Iter];
    (if rng.random_ratio(3, 4) { rounds.smallest() } else { rounds.draw(rng) }) as u32
}

/// A random progression; none in half of the cases.
pub(crate) fn progression(space: &Space, rng: &mut ChaCha8Rng) -> Option<Progression> {
    let forms = &space[Axis::Progression];
    let form =
        if forms.contains(words::SINGLE) && rng.random_ratio(1, 2) { words::SINGLE } else { forms.draw(rng) };
    let every = space[Axis::Every].draw(rng) as u32;
    let count = space[Axis::Count].draw(rng) as u32;
    match form {
        words::SINGLE => None,
        words::COUNTED => Some(Progression { every, count: Some(count) }),
        _ => Some(Progression { every, count: None }),
    }
}

/// A random action: a drop more often than any other, as loss recovery is the largest part of a transport.
pub(crate) fn action(space: &Space, rng: &mut ChaCha8Rng) -> Action {
    let actions = &space[Axis::Action];
    let action =
        if actions.contains(words::DROP) && rng.random_ratio(1, 3) { words::DROP } else { actions.draw(rng) };
    let kind = words::action(action);
    let number = Axis::of_operand(kind).map_or(0, |axis| space[axis].draw(rng));
    Action::with_operand(kind, number).unwrap_or_else(|| Action::SetField(set_field(space, rng)))
}

/// A random header field with an operand that it has.
fn set_field(space: &Space, rng: &mut ChaCha8Rng) -> SetField {
    let fields = &space[Axis::Field];
    // One that cannot be chosen costs no draw.
    let field = if fields.smallest() == fields.largest() { fields.smallest() } else { fields.draw(rng) };
    let field = words::header_field(field);
    SetField { field, value: operands(space, field).draw(rng) }
}
