//! Broad tests: many connections, messages and events at once, so that one test goes through many situations, and parameters
//! at levels that were seldom combined ([`Covered`]).

use std::mem::discriminant;

use corpus::{ConnectionSet, Event, Host, Progression, Target, TestConfig};
use rand::RngExt;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use crate::axis::{Axis, Of};
use crate::classes;
use crate::covering::{Covered, Levels};
use crate::draw;
use crate::parts::{Part, Parts};
use crate::settle::{settle, settle_or_plainest};
use crate::space::Space;
use crate::values::Values;
use crate::words;

/// Draws of the traffic, of which the one with the rarest combinations is taken.
const CANDIDATES: usize = 4;

/// Draws of an event that contradicts the others, before it is left out.
const EVENT_DRAWS: u32 = 4;

/// Draws of an action that another event of the test has already.
const ACTION_DRAWS: u32 = 2;

/// A broad test of the space.
pub(crate) fn test(
    space: &Space,
    hosts: &[Host; 2],
    covered: &Covered,
    parts: Parts,
    rng: &mut ChaCha8Rng,
) -> TestConfig {
    let candidates = if parts.has(Part::Covering) { CANDIDATES } else { 1 };
    let mut best: Option<(u64, TestConfig)> = None;
    for _ in 0..candidates {
        let candidate = traffic(space, hosts, parts, rng);
        let worth = covered.worth(&Levels::of(&candidate));
        if best.as_ref().is_none_or(|(most, _)| worth > *most) {
            best = Some((worth, candidate));
        }
    }
    let mut test = best.map(|(_, test)| test).unwrap_or_default();
    settle_or_plainest(space, &mut test);
    let count = event_count(space, parts, rng);
    while test.events.len() < count {
        let before = test.events.len();
        for _ in 0..EVENT_DRAWS {
            let mut more = test.clone();
            add_event(space, &mut more, parts, rng);
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

/// Mostly many: the larger of two draws.
fn event_count(space: &Space, parts: Parts, rng: &mut ChaCha8Rng) -> usize {
    if !parts.has(Part::Events) {
        return draw::event_count(space, rng);
    }
    let most = space.max_entries();
    rng.random_range(0..=most).max(rng.random_range(0..=most))
}

/// The traffic and hosts of a test.
fn traffic(space: &Space, hosts: &[Host; 2], parts: Parts, rng: &mut ChaCha8Rng) -> TestConfig {
    let (draw, draws): (draw::Draw, _) =
        if parts.has(Part::Many) { (level, 1) } else { (Values::draw, draw::DRAWS) };
    let mut test = draw::traffic_and_hosts(space, hosts, rng, draw, draws);
    if parts.has(Part::Many) {
        many(space, &mut test, rng);
    }
    if parts.has(Part::Sizes) {
        sizes(space, &mut test, rng);
    }
    test
}

/// Any number of connections and messages, which are mostly many; the more retries and traffic classes of two draws.
fn many(space: &Space, test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    for axis in [Axis::Connections, Axis::Messages] {
        if let (Of::Test(_, set), Values::Range { min, max }) = (axis.entry().of, &space[axis])
            && rng.random_ratio(3, 4)
        {
            let any = rng.random_range(*min..=*max);
            set(test, if axis == Axis::Connections && rng.random_ratio(1, 3) { *max } else { any });
        }
    }
    // A QP that has failed shows nothing more.
    let retries = &space[Axis::Retries];
    if let Of::Test(_, set) = Axis::Retries.entry().of
        && rng.random_ratio(3, 4)
    {
        set(test, retries.draw(rng).max(retries.draw(rng)));
    }
    let mut other = test.clone();
    classes::draw(space, &mut other, rng);
    if classes::count(&other) >= classes::count(test) {
        *test = other;
    } else {
        // There are other connections now.
        classes::spread(test, rng);
    }
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

/// Messages of one packet, of two, a few or many, the last of them full or not. What is more than the space allows is taken from
/// the size of the messages, from their number, or from that of connections.
fn sizes(space: &Space, test: &mut TestConfig, rng: &mut ChaCha8Rng) {
    let (Of::Test(_, set_size), Of::Test(_, set_messages)) =
        (Axis::MessageSize.entry().of, Axis::Messages.entry().of)
    else {
        return;
    };
    let sizes = &space[Axis::MessageSize];
    let long = rng.random_ratio(1, 2);
    if long
        && rng.random_ratio(1, 2)
        && let Of::Test(_, set_mtu) = Axis::Mtu.entry().of
    {
        set_mtu(test, space[Axis::Mtu].largest());
    }
    let traffic = &test.traffic;
    let mtu = u64::from(traffic.mtu.bytes());
    let packets = match rng.random_range(0..3) {
        0 if long => rng.random_range(3..=8),
        1 if long => rng.random_range(3..=32),
        _ if long => level(sizes, rng).div_ceil(mtu).max(1),
        0 => 2,
        _ => 1,
    };
    let mut load = [traffic.load.connections().max(1).into(), traffic.num_msgs_per_qp.max(1).into(), packets];
    let budget = u64::from(space.packet_cap);
    let mut order = [0, 1, 2];
    order.shuffle(rng);
    for at in order {
        let others: u64 = load.iter().product::<u64>() / load[at];
        load[at] = load[at].min((budget / others).max(1));
    }
    let [connections, messages, packets] = load;
    if connections < traffic.load.connections().into()
        && let Of::Test(_, set_connections) = Axis::Connections.entry().of
    {
        set_connections(test, space[Axis::Connections].nearest(connections));
        classes::spread(test, rng);
    }
    let last = match rng.random_range(0..5) {
        0 => mtu,
        1 => 1,
        2 if packets > 1 => mtu - 1,
        2 | 3 => Values::Range { min: 0, max: mtu }.draw(rng),
        _ => rng.random_range(0..mtu),
    };
    set_size(test, sizes.nearest((packets - 1) * mtu + last));
    set_messages(test, space[Axis::Messages].nearest(messages));
}

/// An event on many connections and many messages, mostly.
fn add_event(space: &Space, test: &mut TestConfig, parts: Parts, rng: &mut ChaCha8Rng) {
    draw::add_event(space, test, rng);
    let Some(mut event) = test.events.pop() else { return };
    if parts.has(Part::Actions) {
        for _ in 0..ACTION_DRAWS {
            if test.events.iter().any(|other| discriminant(&other.action) == discriminant(&event.action)) {
                event.action = draw::action(space, rng);
            }
        }
    }
    if parts.has(Part::Sets)
        && let Some(set) = set(space, test, rng)
    {
        event.connections = set;
    }
    if parts.has(Part::Places) {
        place(space, test, &mut event, rng);
    }
    test.events.push(event.clone());
    if parts.has(Part::Rounds) && rng.random_ratio(1, 4) {
        again(space, test, &event, rng);
    }
}

/// Moves an event on data to the edges, the middle or any packet of a message, and mostly to the same place of others.
fn place(space: &Space, test: &TestConfig, event: &mut Event, rng: &mut ChaCha8Rng) {
    let Target::Data { psn, .. } = &mut event.target else { return };
    let shape = test.traffic.shape();
    if let Some(message) = shape.message_psns(rng.random_range(0..test.traffic.num_msgs_per_qp.max(1))) {
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
