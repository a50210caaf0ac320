//! The theory of packet corruption against runs on the simulated testbed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod counted;
mod recount;
mod setting;

use corpus::{LossModel, Verb};
use dumper::Nanos;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use scoring::ExpiryCause;
use scoring::losses::{self, LossKind, Losses};
use scoring::theory::corruption::{Behaviour, Interval, Links, Observed};

use counted::Counted;
use setting::Setting;

/// Settings, each drawn with its seed.
const SETTINGS: u64 = 20;
/// Shortest time-out of the settings.
const SHORTEST: Nanos = Nanos(900_000);
/// Chance that any of the rows of all settings is off although theory and runs agree.
const FAMILY: f64 = 0.001;

/// Time-outs by cause, of settings that are drawn: any number of copies and dummies, messages of 1 to 100 packets.
#[test]
fn causes_of_time_outs_are_as_many_as_the_theory_says() {
    let rows = SETTINGS as f64 * 4.0;
    let mut off = Vec::new();
    for seed in 1..=SETTINGS {
        let setting = Setting::drawn(seed);
        let expected = setting.expected(Behaviour::standard());
        let counted = Counted::of(&setting, seed);
        for (cause, expected) in expected.by_cause() {
            let seen = counted.of_cause(cause.name());
            let expected = expected * counted.messages as f64;
            println!("seed {seed} {:<10} {} seen, {expected:.2} expected", cause.name(), seen.total());
            if !seen.agrees_with(expected, FAMILY / rows) {
                off.push(format!(
                    "seed {seed}, {setting:?}: {} {}, and not {expected:.2} of {} messages",
                    seen.total(),
                    cause.name(),
                    counted.messages
                ));
            }
        }
        assert_eq!(counted.others(), 0, "seed {seed}: {setting:?}");
    }
    assert!(off.is_empty(), "{}", off.join("\n"));
}

/// The causes of a thousand time-outs and more, one by one, by other rules from the same packets.
#[test]
fn causes_are_those_of_a_second_count() {
    let mut counted = std::collections::BTreeMap::<_, usize>::new();
    for seed in 301..=312 {
        let drawn = Setting::drawn(seed);
        let dummies = drawn.protection.dummies;
        let setting = Setting { in_all: 60_000, ..drawn }.bare().with_dummies(dummies);
        let (config, observation) = counted::ran(&setting, seed, false);
        let analysis = scoring::analyze(&observation, scoring::Options { config: Some(&config) });
        let causes = analysis.retransmissions.iter().filter_map(|entry| entry.cause);
        let causes: Vec<_> = causes.map(ExpiryCause::name).collect();
        let again = recount::causes(&observation, SHORTEST);
        let differs = causes.iter().zip(&again).position(|(one, other)| one != other);
        let both = differs.map(|at| (at, causes[at], again[at]));
        assert!(both.is_none() && causes.len() == again.len(), "seed {seed}: {both:?}, {setting:?}");
        causes.iter().for_each(|cause| *counted.entry(*cause).or_default() += 1);
    }
    println!("{counted:?}");
    let all: usize = counted.values().sum();
    assert!(all >= 1_000 && counted.len() == 4, "{counted:?}");
}

/// On a NIC that conforms each loss of a kind ends in a time-out, or none does; and time-outs that are counted have that cause.
#[test]
fn losses_come_to_what_the_standard_says() {
    let mut all = Losses::default();
    for seed in 401..=412 {
        let drawn = Setting::drawn(seed);
        let dummies = drawn.protection.dummies;
        let setting = Setting { in_all: 60_000, ..drawn }.bare().with_dummies(dummies);
        let (config, observation) = counted::ran(&setting, seed, false);
        let analysis = scoring::analyze(&observation, scoring::Options { config: Some(&config) });
        let losses = losses::of(&config, &observation, &analysis);
        let causes = analysis.timeout_causes();
        let of_cause = |cause| causes.get(&cause).copied().unwrap_or_default() as u64;
        for (kind, cause) in [
            (LossKind::TailLost, ExpiryCause::TailLost),
            (LossKind::NakLost, ExpiryCause::NakLost),
            (LossKind::LostAgain, ExpiryCause::LostAgain),
            (LossKind::AckLost, ExpiryCause::AckLost),
        ] {
            // What follows an expiry is not counted, nor a tail that is sent again for another loss.
            let counted = losses.of(kind).yes;
            assert!(counted <= of_cause(cause), "seed {seed}: {counted} {}, {setting:?}", kind.name());
        }
        all.add(&losses);
    }
    println!("{:?}", all.kinds);
    for (kind, share) in &all.kinds {
        assert_eq!(share.or(0.0), kind.by_standard(), "{}: {share:?}", kind.name());
        assert!(share.of > 10, "{}: {share:?}", kind.name());
    }
    assert_eq!(all.kinds.len(), 5, "{:?}", all.kinds);
    assert!([all.naks.first.total(), all.naks.obeyed, all.acks].iter().all(|share| share.of == share.yes));
    assert!([&all.naks.repeated, &all.naks.again].iter().all(|shares| shares.total().yes == 0));
    assert!(all.naks.in_passing.iter().all(|shares| shares.total().of > 100 && shares.total().yes == 0));
    assert!(all.own_acks.of > 1_000 && all.own_acks.yes == all.own_acks.of, "{:?}", all.own_acks);
}

/// The share of NAKs that a responder leaves out is that of its profile, whatever it is asked for: a Read that is issued again for a NAK
/// is no Read that is issued again for a response.
#[test]
fn naks_that_are_left_out_are_counted_as_they_are() {
    for seed in 501..=506 {
        let percent = 10 * (seed - 500);
        let drawn = Setting::drawn(seed).bare();
        for verb in [Verb::Write, Verb::Read] {
            let links = Links { loss: 1.0 / 64.0, links: 1, corrupted: 1.0, ..drawn.links };
            let mut test = Setting { verb, links, packets: 1, in_all: 20_000, ..drawn }.test(seed);
            // So that a lost request has others behind it.
            test.traffic.tx_depth = 16;
            test.network.loss_model = LossModel::PerPacket;
            let profile = format!("[quirks]\nnak-missing-percent = {percent}\n");
            let (config, observation) = counted::ran_on(test, &profile);
            let analysis = scoring::analyze(&observation, scoring::Options { config: Some(&config) });
            let naks = losses::of(&config, &observation, &analysis).naks;
            let sent = naks.first.total();
            let expected = 1.0 - percent as f64 / 100.0;
            let error = (expected * (1.0 - expected) / sent.of as f64).sqrt();
            println!("{verb:?}: {sent:?}, {expected} expected");
            assert!(naks.in_passing.iter().all(|shares| shares.total().yes == 0), "{verb:?}: {naks:?}");
            assert!(
                sent.of > 100 && (sent.or(0.0) - expected).abs() < 4.0 * error,
                "{verb:?}, {percent} %: {sent:?}"
            );
        }
    }
}

/// NICs that send a NAK again for every so many packets: late messages are as many as the theory says from what was seen of the same run.
/// A fifth more of them is a tenth more loss, as it takes two losses to be late.
#[test]
fn naks_that_are_sent_again_are_in_the_theory() {
    for seed in 601..=603 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (every, packets) = (rng.random_range(4..=10), rng.random_range(16..=40));
        let links = Links { loss: 0.04, of_bytes: 1086, links: 1, corrupted: 1.0 };
        let setting =
            Setting { verb: Verb::Write, links, packets, in_all: 30_000 * packets, ..Setting::drawn(seed) };
        let setting = Setting { last: 1024, ..setting }.bare().with_dummies(1);
        let profile = format!("[quirks]\nnak-again-every = {every}\n");
        let (config, observation) = counted::ran_on(setting.test(seed), &profile);
        let completions = observation.completions();
        let is_late = |one: &&dumper::Completion| one.completed_ns - one.posted_ns > Nanos(500_000);
        let late = completions.iter().filter(is_late).count() as f64 / completions.len() as f64;
        let analysis = scoring::analyze(&observation, scoring::Options { config: Some(&config) });
        let losses = losses::of(&config, &observation, &analysis);
        let expected = setting.late(Observed::new(&losses).behaviour(Interval::Seen));
        println!("every {every}, {packets} packets: {late} late, {expected} expected");
        assert!(
            (expected / late - 1.0).abs() < 0.2,
            "every {every}, {packets} packets: {late}, not {expected}"
        );
    }
}

/// Links that damage packets by chance: the mean over many seeds.
#[test]
fn the_mean_over_seeds_is_the_mixture() {
    const SEEDS: u64 = 300;
    for (seed, corrupted) in [(101, 0.25), (102, 0.5)] {
        let drawn = Setting::drawn(seed);
        let links = Links { loss: 1.0 / 128.0, links: 4, corrupted, ..drawn.links };
        let setting = Setting { links, packets: 20, in_all: 4_000, ..drawn }.bare();
        let expected = setting.expected(Behaviour::standard()).total();
        let of_seed = |seed| {
            let counted = Counted::of(&setting, seed);
            counted.all() as f64 / counted.messages as f64
        };
        let means: Vec<f64> = (1..=SEEDS).map(of_seed).collect();
        let mean = means.iter().sum::<f64>() / SEEDS as f64;
        let variance =
            means.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (SEEDS - 1) as f64 / SEEDS as f64;
        println!("{corrupted}: {mean:.5} seen, {expected:.5} expected, error {:.5}", variance.sqrt());
        assert!((mean - expected).abs() < 4.0 * variance.sqrt(), "{corrupted}: {mean} and not {expected}");
    }
}

/// NICs that differ in how they acknowledge: with an ACK for each dummy these protect it, with one for all they do not.
#[test]
fn dummies_protect_acks_that_are_not_merged() {
    let bare = Setting::drawn(201).bare();
    let links = Links { loss: 1.0 / 32.0, links: 1, ..bare.links };
    let setting = Setting { links, packets: 1, in_all: 400_000, ..bare }.with_dummies(1);
    let [each, merged] = [false, true].map(|merges| {
        let behaviour = if merges { Behaviour::merging_acks() } else { Behaviour::standard() };
        let counted = Counted::on(&setting, 1, merges);
        let expected = setting.expected(behaviour).ack_lost * counted.messages as f64;
        let seen = counted.of_cause("ack-lost");
        println!("merged {merges}: {} seen, {expected:.1} expected", seen.total());
        assert!(seen.agrees_with(expected, FAMILY / 2.0), "{} and not {expected}", seen.total());
        seen.total()
    });
    assert!(merged > 20 * each, "{merged} with merged ACKs, {each} without");
}
