//! Broad tests: many connections, messages and events at once, so that one test goes through many situations, and parameters
//! at levels that were seldom combined ([`Covered`]).

use corpus::{ConnectionSet, Event, Host, Progression, Target, TestConfig};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::axis::{Axis, Of};
use crate::covering::{Covered, Levels};
use crate::draw;
use crate::settle::settle;
use crate::space::Space;
use crate::values::Values;
use crate::words;

/// Draws of the traffic, of which the one with the rarest combinations is taken.
const CANDIDATES: usize = 8;

/// Draws of an event that contradicts the others, before it is left out.
const EVENT_DRAWS: u32 = 4;

/// A broad test of the space.
pub(crate) fn test(
    space: &Space,
    hosts: &[Host; 2],
    covered: Option<&Covered>,
    rng: &mut ChaCha8Rng,
) -> TestConfig {
    let mut best: Option<(u64, TestConfig)> = None;
    for _ in 0..if covered.is_some() { CANDIDATES } else { 1 } {
        let candidate = traffic(space, hosts, rng);
        let worth = covered.map_or(0, |covered| covered.worth(&Levels::of(&candidate)));
        if best.as_ref().is_none_or(|(most, _)| worth > *most) {
            best = Some((worth, candidate));
        }
    }
    let mut test = best.map(|(_, test)| test).unwrap_or_default();
    settle(space, &mut test);
    // Mostly many: the larger of two draws.
    let most = space.max_entries();
    let count = rng.random_range(0..=most).max(rng.random_range(0..=most));
    while test.events.len() < count {
        let before = test.events.len();
        for _ in 0..EVENT_DRAWS {
            let mut more = test.clone();
            add_event(space, &mut more, rng);
            if settle(space, &mut more) && more.events.len() > before {
                test = more;
                break;
            }
        }
        if test.events.len() == before {
            break;
        }
    }
    test
}

/// The traffic and hosts of a test.
fn traffic(space: &Space, hosts: &[Host; 2], rng: &mut ChaCha8Rng) -> TestConfig {
    let mut test = draw::traffic_and_hosts(space, hosts, rng, level, 1);
    for axis in [Axis::Connections, Axis::Messages] {
        if let (Of::Test(_, set), Values::Range { min, max }) = (axis.entry().of, &space[axis])
            && rng.random_ratio(3, 4)
        {
            set(&mut test, rng.random_range(*min..=*max));
        }
    }
    message_size(space, &mut test, rng);
    test
}

/// A value: an end of a range, any of its orders of magnitude, or any number.
fn level(values: &Values, rng: &mut ChaCha8Rng) -> u64 {
    match values {
        Values::List(_) => values.draw(rng),
        Values::Range { min, max } => match rng.random_range(0..6) {
            0 => *min,
            1 => *max,
            2 | 3 => values.draw(rng),
            _ => rng.random_range(*min..=*max),
        },
    }
}

/// Messages of one packet, of two, a few or many, the last of them full or not; in half of the tests not larger than the
/// number of connections and messages leaves room for.
fn message_size(space: &Space, test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    let Of::Test(_, set) = Axis::MessageSize.entry().of else { return };
    let sizes = &space[Axis::MessageSize];
    let traffic = &test.traffic;
    let mtu = u64::from(traffic.mtu.bytes());
    let packets = match rng.random_range(0..6) {
        0 | 1 => 1,
        2 => 2,
        3 => rng.random_range(3..=8),
        _ => level(sizes, rng).div_ceil(mtu).max(1),
    };
    let messages = u64::from(traffic.load.connections()) * u64::from(traffic.num_msgs_per_qp);
    let room = u64::from(space.packet_cap) / messages.max(1);
    let packets = if rng.random_ratio(1, 2) { packets.min(room.max(1)) } else { packets };
    let last = match rng.random_range(0..5) {
        0 => mtu,
        1 => 1,
        2 => mtu - 1,
        3 => Values::Range { min: 0, max: mtu }.draw(rng),
        _ => rng.random_range(0..mtu),
    };
    set(test, sizes.nearest((packets - 1) * mtu + last));
}

/// An event on many connections and many messages, mostly.
fn add_event(space: &Space, test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    draw::add_event(space, test, rng);
    let Some(mut event) = test.events.pop() else { return };
    event.connections = set(space, test, rng).unwrap_or(event.connections);
    if let Target::Data { psn, .. } = &mut event.target {
        let shape = test.traffic.shape();
        let message = shape.message_psns(rng.random_range(0..test.traffic.num_msgs_per_qp.max(1)));
        if let Some(message) = message {
            let (first, last) = (*message.start(), *message.end());
            *psn = match rng.random_range(0..4) {
                0 => first,
                1 => last,
                2 => first + (last - first) / 2,
                _ => rng.random_range(first..=last),
            };
        }
        event.progression = progression(space, shape.packets_per_message(), rng).or(event.progression);
    }
    test.events.push(event.clone());
    if rng.random_ratio(1, 4) {
        again(space, test, &event, rng);
    }
}

/// All connections, or the first ones; none to keep what there is.
fn set(space: &Space, test: &TestConfig, rng: &mut ChaCha8Rng) -> Option<ConnectionSet> {
    let sets = &space[Axis::Sets];
    match rng.random_range(0..4) {
        0 | 1 if sets.contains(words::ALL) => Some(ConnectionSet::All),
        0..=2 if sets.contains(words::FIRST) => {
            Some(ConnectionSet::First(rng.random_range(1..=test.traffic.load.connections())))
        }
        _ => None,
    }
}

/// The same place of every message, or of every second one and so on; none to keep what there is.
fn progression(space: &Space, packets: u32, rng: &mut ChaCha8Rng) -> Option<Progression> {
    let forms = &space[Axis::Progression];
    if rng.random_ratio(1, 2) {
        return None;
    }
    let every = packets.saturating_mul(rng.random_range(1..=3));
    let count = space[Axis::Count].draw(rng) as u32;
    if forms.contains(words::TO_THE_END) && rng.random_ratio(1, 2) {
        Some(Progression { every, count: None })
    } else if forms.contains(words::COUNTED) {
        Some(Progression { every, count: Some(count) })
    } else {
        None
    }
}

/// The same in the next rounds of transmission: what is lost again and again is recovered in other ways.
fn again(space: &Space, test: &mut TestConfig, event: &Event, rng: &mut ChaCha8Rng) {
    let Target::Data { psn, iter } = event.target else { return };
    let room = space.max_entries().saturating_sub(test.events.len());
    let rounds = space[Axis::Iter].largest() as u32;
    for further in (1..=rng.random_range(1..=4)).take(room) {
        let iter = iter.saturating_add(further);
        if iter <= rounds {
            test.events.push(Event { target: Target::Data { psn, iter }, ..event.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn levels_are_values_of_the_field() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut ends = [0; 2];
        for _ in 0..1_000 {
            let value = level(&Values::Range { min: 3, max: 900 }, &mut rng);
            assert!((3..=900).contains(&value));
            ends[0] += u32::from(value == 3);
            ends[1] += u32::from(value == 900);
            assert!([5, 7].contains(&level(&Values::List(vec![5, 7]), &mut rng)));
        }
        assert!(ends.iter().all(|count| *count > 100), "{ends:?}");
    }
}
