//! Smaller tests drawn at random, from which a search goes on that has come to its end: no single step from its test shows the
//! signature, yet a smaller test of fewer messages, of other sizes or with one event in another place may.

use corpus::config::fields;
use corpus::{Action, ConnectionSet, Event, Progression, Target, TestConfig, Traffic};
use rand::RngExt as _;
use rand::seq::IteratorRandom as _;
use rand_chacha::ChaCha8Rng;

use super::connections::{self, Classes};
use super::events;
use super::fit;
use super::parameters::parameters;

/// Draws a test of at most so many packets, with connections, events and parameters of `best` or of the `first` test, from
/// which `best` was made. It is mostly smaller than `best`, and valid.
pub(super) fn draw(
    first: &TestConfig,
    best: &TestConfig,
    most_packets: u64,
    rng: &mut ChaCha8Rng,
) -> TestConfig {
    let from_first = rng.random_ratio(1, 4);
    let mut test = if from_first { first.clone() } else { best.clone() };
    let before = Before { packets: test.traffic.shape().own_packets(), in_all: test.traffic.total_packets() };
    // Some things change, and others stay as they are: the more change, the less of what shows the signature is left.
    let often = if from_first { 4 } else { rng.random_range(1..=4) };
    let changes = |rng: &mut ChaCha8Rng| rng.random_ratio(often, 6);
    if changes(rng) {
        plainer(&mut test, rng);
    }
    if changes(rng) {
        fewer_connections(&mut test, best.traffic.load.connections(), rng);
    }
    if rng.random_ratio(1, 4) {
        spread(&mut test, best, most_packets, rng);
        return test;
    }
    if changes(rng) {
        messages(&mut test, best, most_packets, rng);
    }
    if changes(rng) {
        resized(&mut test, before, most_packets, rng);
    }
    if changes(rng) {
        let events = rng.random_range(1..=best.events.len().max(1));
        fewer_events(&mut test, if rng.random_ratio(1, 2) { 1 } else { events }, rng);
    }
    if test.traffic.total_packets() > most_packets {
        resized(&mut test, before, most_packets, rng);
    }
    test
}

/// Packets of a message, and of the whole test.
#[derive(Clone, Copy)]
struct Before {
    packets: u32,
    in_all: u64,
}

/// All parameters at their defaults, none, one of them, or each by chance.
fn plainer(test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    let above: Vec<_> = parameters().filter(|parameter| parameter.height(test) > 0).collect();
    let chosen = match rng.random_range(0..4) {
        0 => 0,
        1 => 1,
        2 => rng.random_range(0..=above.len()),
        _ => above.len(),
    };
    for parameter in above.into_iter().sample(rng, chosen) {
        parameter.lower(test, 0);
    }
}

/// All connections of a class, one of them, some, or none: those with the same events are as good as each other.
fn fewer_connections(test: &mut TestConfig, most: u32, rng: &mut ChaCha8Rng) {
    let classes = Classes::of(test);
    let mut kept = Vec::new();
    for class in 0..classes.len() {
        let count = classes.count(class) as usize;
        let count = match rng.random_range(0..5) {
            0 | 1 => count,
            2 => 1,
            3 => 0,
            _ => rng.random_range(0..=count),
        };
        kept.extend(classes.members(class).take(count));
    }
    if kept.is_empty() {
        kept.push(1);
    }
    connections::keep(test, kept, most as usize, rng);
}

/// Fewer messages; or more of them, of whichever size, on fewer connections.
fn messages(test: &mut TestConfig, best: &TestConfig, most_packets: u64, rng: &mut ChaCha8Rng) {
    let mut most = best.traffic.num_msgs_per_qp.max(1);
    let connections = test.traffic.load.connections();
    if connections < best.traffic.load.connections() {
        let room =
            (most_packets / u64::from(connections.max(1))).clamp(1, fields::NUM_MSGS_PER_QP.max) as u32;
        most = room.max(most);
    }
    let count = match rng.random_range(0..4) {
        0 => best.traffic.num_msgs_per_qp.max(1),
        1 => 1,
        // All orders of magnitude alike.
        2 => most >> rng.random_range(0..=most.ilog2()),
        _ => rng.random_range(1..=most),
    };
    fit::reshape(test, |traffic| traffic.num_msgs_per_qp = count);
}

/// Messages of one packet, of two or three, of fewer than before, of as many in the whole test, or of any number, whose last packet
/// is full or has one byte.
fn resized(
    test: &mut TestConfig,
    Before { packets, in_all }: Before,
    most_packets: u64,
    rng: &mut ChaCha8Rng,
) {
    let traffic = &test.traffic;
    let messages = all_messages(traffic);
    let most = most_per_message(traffic, most_packets);
    let packets = match rng.random_range(0..8) {
        0 if traffic.total_packets() <= most_packets => return,
        0 | 1 => 1,
        2 => rng.random_range(2..=3),
        3 => rng.random_range(1..=packets),
        // As many in all, or a few more.
        4 | 5 => in_all.div_ceil(messages).saturating_mul(rng.random_range(1..=2)).try_into().unwrap_or(most),
        _ => of_any_magnitude(most, rng),
    };
    resize_with_any_last(test, packets.min(most), rng);
}

/// Messages of all connections, at least one.
fn all_messages(traffic: &Traffic) -> u64 {
    (u64::from(traffic.load.connections()) * u64::from(traffic.num_msgs_per_qp)).max(1)
}

/// Packets that a message may have, besides its dummies, in a test of at most so many.
pub(super) fn most_per_message(traffic: &Traffic, most_packets: u64) -> u32 {
    let all = most_packets / all_messages(traffic);
    all.saturating_sub(traffic.dummy_headers.into()).clamp(1, u64::from(u32::MAX)) as u32
}

/// Gives messages so many packets, the last one full or of one byte.
pub(super) fn resize_with_any_last(test: &mut TestConfig, packets: u32, rng: &mut ChaCha8Rng) {
    let last = if rng.random_ratio(1, 2) { 1 } else { test.traffic.mtu.bytes() };
    resize(test, packets, last);
}

/// Gives messages so many packets, the last one with so many bytes.
fn resize(test: &mut TestConfig, packets: u32, last: u32) {
    let bytes = (packets - 1).saturating_mul(test.traffic.mtu.bytes()).saturating_add(last);
    fit::reshape(test, |traffic| traffic.message_size = bytes);
}

/// Some of the events, some of them simpler or in other places.
fn fewer_events(test: &mut TestConfig, count: usize, rng: &mut ChaCha8Rng) {
    keep_some(&mut test.events, count, rng);
    let shape = test.traffic.shape();
    let messages = test.traffic.num_msgs_per_qp.max(1);
    for event in &mut test.events {
        if rng.random_ratio(1, 3) {
            continue;
        }
        if rng.random_ratio(1, 2) {
            let message = if rng.random_ratio(1, 2) { 0 } else { rng.random_range(0..messages) };
            events::move_to(event, message, shape, rng);
        }
        simpler(event, shape.packets_per_message(), rng);
    }
}

/// Some of the events on many packets of messages of any size: what many events make together, one may make again and again.
fn spread(test: &mut TestConfig, best: &TestConfig, most_packets: u64, rng: &mut ChaCha8Rng) {
    let messages = if rng.random_ratio(1, 2) { 1 } else { best.traffic.num_msgs_per_qp.max(1) };
    fit::reshape(test, |traffic| traffic.num_msgs_per_qp = messages);
    let packets = of_any_magnitude(most_per_message(&test.traffic, most_packets), rng);
    resize(test, packets, 1);
    let count = rng.random_range(1..=best.events.len().max(1));
    keep_some(&mut test.events, count, rng);
    for event in &mut test.events {
        let Target::Data { psn, iter } = &mut event.target else { continue };
        (*psn, *iter) = (1, 1);
        event.progression = Some(to_the_end(packets, packets, rng));
    }
}

/// Every packet, one in every message of so many, or one in any number up to the most.
pub(super) fn to_the_end(per_message: u32, most: u32, rng: &mut ChaCha8Rng) -> Progression {
    let every = match rng.random_range(0..3) {
        0 => 1,
        1 => per_message,
        _ => of_any_magnitude(most, rng),
    };
    Progression { every, count: None }
}

/// A number from 1 on, all orders of magnitude alike.
pub(super) fn of_any_magnitude(most: u32, rng: &mut ChaCha8Rng) -> u32 {
    let magnitude = rng.random_range(0..=most.ilog2());
    rng.random_range(1..=most >> magnitude)
}

/// Leaves so many of the events, in their order.
fn keep_some(events: &mut Vec<Event>, count: usize, rng: &mut ChaCha8Rng) {
    let kept = (0..events.len()).sample(rng, count);
    let mut at = 0;
    events.retain(|_| {
        at += 1;
        kept.contains(&(at - 1))
    });
}

/// Other packets and connections, one or all of them, and another action.
fn simpler(event: &mut Event, every: u32, rng: &mut ChaCha8Rng) {
    match rng.random_range(0..5) {
        0 => event.progression = None,
        1 => event.progression = Some(Progression { every, count: None }),
        2 => {
            event.progression = Some(Progression { every: of_any_magnitude(every.max(1), rng), count: None });
        }
        4 => events::on_every_message(event, every),
        _ => {}
    }
    match rng.random_range(0..4) {
        0 => event.connections = ConnectionSet::All,
        1 => event.connections = ConnectionSet::One(1),
        _ => {}
    }
    match rng.random_range(0..6) {
        0 | 1 => event.action = Action::DROP,
        // More of it, for less of something else: a packet that is held for longer makes more time-outs.
        2 => event.action = events::with_any_operand(event.action, rng),
        _ => {}
    }
}
