//! Trades: tests drawn at random that have less of one thing and more of another. Where no single step shows the signature, fewer
//! messages may if they are longer, or fewer connections with events if more of their packets have one.

use corpus::config::fields;
use corpus::{ConnectionSet, Mtu, Position, Target, TestConfig, TrafficField};
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, IteratorRandom as _};
use rand_chacha::ChaCha8Rng;

use super::axes;
use super::connections;
use super::draw::{most_per_message, of_any_magnitude, resize_with_any_last, to_the_end};
use super::events;
use super::fit;
use super::parameters::SHAPE;

/// Draws a test from `best`: fewer connections with more messages; or more of one or two things, some of them as the `first` test had
/// them, or events in other places, and less along one axis. No single change makes more packets than `most_packets`, but two may; and
/// the test need not be smaller than `best`, nor valid.
pub(super) fn trade(
    first: &TestConfig,
    best: &TestConfig,
    most_packets: u64,
    rng: &mut ChaCha8Rng,
) -> TestConfig {
    let mut test = best.clone();
    let connections = best.traffic.load.connections();
    if connections > 1 && rng.random_ratio(1, 8) {
        fold(&mut test, connections, most_packets, rng);
        return test;
    }
    for _ in 0..rng.random_range(1..=2) {
        match rng.random_range(0..6) {
            0 => longer_messages(&mut test, most_packets, rng),
            1 => more_messages(&mut test, most_packets, rng),
            2 => another_parameter(&mut test, first, rng),
            3 => another_event(&mut test, first, rng),
            _ => elsewhere(&mut test, rng),
        }
    }
    // Events name connections that there are, which axes rely on.
    fit::fit(&mut test);
    less(&mut test, most_packets, rng);
    test
}

/// Fewer connections, each with as many more messages: what a NIC counts on all connections together, fewer may do again and again,
/// as if those of the others came after their own. Messages may be longer, and wait for each other, as some things count once if they
/// come too soon after each other.
fn fold(test: &mut TestConfig, before: u32, most_packets: u64, rng: &mut ChaCha8Rng) {
    let count = of_any_magnitude(before - 1, rng);
    connections::keep(test, 1..=before, count as usize, rng);
    let own_messages = test.traffic.num_msgs_per_qp.max(1);
    let messages = u64::from(own_messages) * u64::from(before.div_ceil(count));
    let messages = messages.clamp(1, fields::NUM_MSGS_PER_QP.max) as u32;
    fit::reshape(test, |traffic| traffic.num_msgs_per_qp = messages);
    if rng.random_ratio(1, 3) {
        longer_messages(test, most_packets, rng);
    }
    if rng.random_ratio(1, 3) {
        test.traffic.tx_depth = 1;
    }
    let shape = test.traffic.shape();
    let every = if rng.random_ratio(1, 2) { own_messages } else { of_any_magnitude(messages, rng) };
    let repeats_all = rng.random_ratio(1, 2);
    for event in &mut test.events {
        if repeats_all || rng.random_ratio(1, 2) {
            events::on_messages(event, every, shape.packets_per_message());
        } else if rng.random_ratio(1, 2) {
            events::move_to(event, rng.random_range(0..messages), shape, rng);
        }
    }
}

/// Messages of another number of packets. Events on the last packet of a message stay on the last one by chance, else on the same one.
fn longer_messages(test: &mut TestConfig, most_packets: u64, rng: &mut ChaCha8Rng) {
    let before = test.traffic.shape();
    let is_last = |psn| {
        before.locate(psn).is_some_and(|place| matches!(place.position, Position::Last | Position::Only))
    };
    let were_last: Vec<_> = test
        .events
        .iter()
        .map(|event| matches!(event.target, Target::Data { psn, .. } if is_last(psn)))
        .collect();
    let packets = more(before.own_packets(), most_per_message(&test.traffic, most_packets), rng);
    resize_with_any_last(test, packets, rng);
    if rng.random_ratio(1, 2) {
        return;
    }
    let after = test.traffic.shape();
    for (event, _) in test.events.iter_mut().zip(were_last).filter(|(_, was_last)| *was_last) {
        if let Target::Data { psn, .. } = &mut event.target
            && let Some(psns) = after.locate(*psn).and_then(|place| after.message_psns(place.message))
        {
            *psn = *psns.end();
        }
    }
}

/// One more, up to twice as many, or any number up to the most.
fn more(now: u32, most: u32, rng: &mut ChaCha8Rng) -> u32 {
    let more = match rng.random_range(0..4) {
        0 => now.saturating_add(1),
        1 => now.saturating_add(rng.random_range(0..=now)),
        _ => of_any_magnitude(most, rng),
    };
    more.min(most)
}

fn more_messages(test: &mut TestConfig, most_packets: u64, rng: &mut ChaCha8Rng) {
    let traffic = &test.traffic;
    let packets = u64::from(traffic.load.connections()) * u64::from(traffic.shape().packets_per_message());
    let most = (most_packets / packets.max(1)).clamp(1, fields::NUM_MSGS_PER_QP.max) as u32;
    let messages = more(traffic.num_msgs_per_qp, most, rng);
    fit::reshape(test, |traffic| traffic.num_msgs_per_qp = messages);
}

/// Another MTU, or a parameter as the first test has it.
fn another_parameter(test: &mut TestConfig, first: &TestConfig, rng: &mut ChaCha8Rng) {
    if rng.random_ratio(1, 2) {
        if let Some(mtu) = Mtu::ALL.into_iter().choose(rng) {
            fit::reshape(test, |traffic| traffic.mtu = mtu);
        }
        return;
    }
    let differs = |field: &&TrafficField| {
        (field.get)(&first.traffic) != (field.get)(&test.traffic)
            && SHAPE.iter().all(|shape| shape.key != field.key)
    };
    if let Some(field) = TrafficField::ALL.iter().filter(differs).choose(rng) {
        (field.set)(&mut test.traffic, (field.get)(&first.traffic));
    }
}

/// An event of the first test, on connections that have events, beside or instead of another one.
fn another_event(test: &mut TestConfig, first: &TestConfig, rng: &mut ChaCha8Rng) {
    let Some(event) = first.events.choose(rng) else { return };
    let mut event = event.clone();
    let Some(at) = (0..test.events.len()).choose(rng) else { return test.events.push(event) };
    event.connections = test.events[at].connections.clone();
    if rng.random_ratio(1, 2) {
        test.events[at] = event;
    } else {
        test.events.push(event);
    }
}

/// One event on more packets, on all connections, on another packet or with another operand.
fn elsewhere(test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    let shape = test.traffic.shape();
    let messages = test.traffic.num_msgs_per_qp.max(1);
    let packets = u32::try_from(shape.packets()).unwrap_or(u32::MAX).max(1);
    let Some(event) = test.events.iter_mut().choose(rng) else { return };
    match rng.random_range(0..5) {
        0 => event.progression = Some(to_the_end(shape.packets_per_message(), packets, rng)),
        1 => events::on_every_message(event, shape.packets_per_message()),
        2 => event.connections = ConnectionSet::All,
        3 => event.action = events::with_any_operand(event.action, rng),
        _ => events::move_to(event, rng.random_range(0..messages), shape, rng),
    }
}

/// Lowers one axis: to the bottom, to half its height, to any height or by one.
fn less(test: &mut TestConfig, most_packets: u64, rng: &mut ChaCha8Rng) {
    let groups = axes::GROUPS.iter().map(|group| group(test)).filter(|axes| !axes.is_empty());
    let Some(axis) = groups.choose(rng).and_then(|axes| axes.into_iter().choose(rng)) else { return };
    let height = axis.height(test);
    let to = match rng.random_range(0..4) {
        0 => 0,
        1 => height / 2,
        2 => rng.random_range(0..=height),
        _ => height.saturating_sub(1),
    };
    axis.lower(test, to, most_packets);
}
