//! Broad tests: valid, inside of the space, and broad.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod support;

use corpus::{ConnectionSet, Target as Packet, TestConfig};
use mutators::{Covered, Levels, Part, Parts, SHIPPED, Target};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::{hosts, shipped, target};

/// So many broad tests, each of which counts as tried.
fn tests(target: &Target, parts: Parts, seed: u64, count: usize) -> (Vec<TestConfig>, Covered) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut covered = Covered::default();
    let mut test = || {
        let test = target.broad(&hosts(), &covered, parts, &mut rng);
        assert_eq!(target.admits(&test), Ok(()), "{test}");
        covered.add(&Levels::of(&test));
        test
    };
    let tests = (0..count).map(|_| test()).collect();
    (tests, covered)
}

/// Each part left out, and nothing.
fn variants() -> impl Iterator<Item = Parts> {
    let all = Parts::default();
    Part::ALL.iter().map(move |part| all.without(*part)).chain([all])
}

#[test]
fn broad_tests_of_shipped_targets_are_inside_whatever_is_left_out() {
    for one in SHIPPED {
        let target = shipped(one.name);
        for parts in variants() {
            let (drawn, _) = tests(&target, parts, 1, 60);
            assert_eq!(drawn, tests(&target, parts, 1, 60).0, "{}", one.name);
        }
    }
}

/// Where the space has one value for nearly everything, and where the cap leaves room for little.
#[test]
fn broad_tests_of_narrow_targets_are_inside() {
    for text in [
        "",
        "packet-cap = 20\ntraffic.num-connections = { min = 1, max = 50 }\ntraffic.message-size = { min = 0, max = 100_000 }\n",
        "traffic.num-msgs-per-qp = [2, 7]\nevents.max-entries = 3\nevents.qpn = [\"one\"]\nevents.type = \"ecn\"\n",
        "base = \"noisy-neighbor\"\ntraffic.num-connections = 2\n",
        "base = \"ets\"\nhosts.classes = [2, 5]\n",
    ] {
        let target = target(text);
        for parts in variants() {
            tests(&target, parts, 3, 60);
        }
    }
}

/// Mean of something over broad tests of `general` with these parts.
fn mean(parts: Parts, of: impl Fn(&TestConfig) -> f64) -> f64 {
    let (drawn, _) = tests(&shipped("general"), parts, 7, 400);
    drawn.iter().map(of).sum::<f64>() / drawn.len() as f64
}

#[test]
fn each_part_makes_tests_broader_in_its_way() {
    let all = Parts::default();
    let more = |part: Part, times: f64, of: fn(&TestConfig) -> f64| {
        let (with, without) = (mean(all, of), mean(all.without(part), of));
        assert!(with > times * without, "{part:?}: {with} is not {times} times {without}");
    };
    more(Part::Many, 1.2, |test| f64::from(test.traffic.load.connections()));
    more(Part::Events, 1.5, |test| test.events.len() as f64);
    more(Part::Sets, 1.5, |test| {
        test.events.iter().filter(|event| event.connections == ConnectionSet::All).count() as f64
    });
    // Messages that end at the edge of a packet, or one byte off.
    more(Part::Sizes, 2.0, |test| {
        let mtu = test.traffic.mtu.bytes();
        let size = test.traffic.message_size;
        f64::from(u8::from(size > 1 && [0, 1, mtu - 1].contains(&(size % mtu))))
    });
    more(Part::Rounds, 1.2, |test| {
        let later = |event: &&corpus::Event| matches!(event.target, Packet::Data { iter: 2.., .. });
        test.events.iter().filter(later).count() as f64
    });
    // The same place of each message.
    more(Part::Places, 2.0, |test| {
        let packets = test.traffic.shape().packets_per_message();
        let same = |event: &&corpus::Event| {
            event.progression.is_some_and(|one| one.every.is_multiple_of(packets.max(2)))
        };
        test.events.iter().filter(same).count() as f64
    });
}

#[test]
fn rare_combinations_are_drawn_first() {
    let target = shipped("general");
    let all = Parts::default();
    let [pairs, triples] = tests(&target, all, 5, 300).1.tried();
    let [fewer_pairs, fewer_triples] = tests(&target, all.without(Part::Covering), 5, 300).1.tried();
    assert!(
        pairs > fewer_pairs && triples as f64 > 1.03 * fewer_triples as f64,
        "{pairs} of {fewer_pairs} pairs, {triples} of {fewer_triples} triples"
    );
}
