//! Random tests without events, of all that the shipped target `general` has: a real stack, left in peace,
//! breaks no rule but those of docs/findings-rxe.md.

use std::collections::BTreeMap;
use std::path::Path;

use corpus::{Capabilities, Host, TestConfig};
use executor::guests::Pairs;
use mutators::{Target, Vocabulary};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use scoring::score::{self, Objective, References};
use scoring::{Anomaly, Kind, Role, Rule};

use super::environment::number;
use super::pair::{PAIRS, Ran, alone};
use super::site::{KERNELS, Kernel, Site, capabilities};

/// Known faults of `rdma_rxe` without events, where timers expire on a busy machine, or a Receive is not
/// posted in time: a Read is requested again in its middle, a Write is repeated with the PSNs of the next
/// one, and a duplicate Send is acknowledged as if the Reads behind it had not been answered. The kernels are
/// those of the host at fault.
const KNOWN: [(Rule, Role, &[Kernel]); 5] = [
    (Rule::ResponsePosition, Role::Responder, &Kernel::ALL),
    (Rule::RequestPosition, Role::Requester, &[Kernel::V6_1]),
    (Rule::AckRegresses, Role::Responder, &Kernel::ALL),
    // By up to a tick, which only exact times show.
    (Rule::RtoBelowMinimum, Role::Requester, &Kernel::ALL),
    (Rule::RnrWaitShort, Role::Requester, &Kernel::ALL),
];

/// Guests with these kernels, the requester's first.
struct Guests {
    kernels: [Kernel; 2],
    pairs: Pairs<Site>,
}

impl Guests {
    fn new(kernels: [Kernel; 2]) -> Self {
        Self { pairs: Pairs::new(kernels.clone()), kernels }
    }

    fn are_known_for(&self, anomaly: &Anomaly) -> bool {
        let [requester, responder] = &self.kernels;
        let kernel = if anomaly.who.role == Role::Requester { requester } else { responder };
        KNOWN.iter().any(|(rule, role, kernels)| {
            (*rule, *role) == (anomaly.rule, anomaly.who.role) && kernels.contains(kernel)
        })
    }
}

/// A finding shows in so many of so many runs, as campaigns confirm it: hosts on a busy machine stand still
/// now and then.
const SHOWN_BY: usize = 3;
const RUNS: usize = 5;

/// A test that the pair can run, the same for the same seed.
fn draw(seed: u64) -> TestConfig {
    let (objectives, kinds) = (Objective::ALL.map(Objective::name), Kind::ALL.map(Kind::name));
    let vocabulary = Vocabulary { objectives: &objectives, kinds: &kinds, named_only: &[] };
    let general = Target::load("general", Path::new(""), vocabulary).unwrap();
    // Without losses long timers take no longer.
    let target = general.within(&Capabilities { quick: None, ..capabilities() }).unwrap();
    let host = Host { roce: capabilities().fixed, ..TestConfig::default().requester };
    let responder = Host { roce: capabilities().fixed, ..TestConfig::default().responder };
    let mut config = target.random(&[host, responder], &mut ChaCha8Rng::seed_from_u64(seed));
    config.events.clear();
    config
}

/// Faults of a test, as a campaign would report them, except known ones: signatures with descriptions. Mostly
/// empty.
fn faults(guests: &Guests, config: &TestConfig) -> BTreeMap<String, String> {
    let ran = Ran::of(&guests.pairs, config.clone()).whole();
    let analysis = ran.analysis();
    let assessment = score::score(&ran.config, &ran.observation, &analysis, &References::default());
    let (known, unknown): (Vec<_>, Vec<_>) =
        assessment.anomalies.into_iter().partition(|anomaly| guests.are_known_for(anomaly));
    for anomaly in known {
        eprintln!("known: {}: {}", anomaly.signature(), anomaly.what);
    }
    unknown.into_iter().map(|anomaly| (anomaly.signature(), anomaly.what)).collect()
}

/// Faults of a test in most of its runs.
fn confirmed(guests: &Guests, config: &TestConfig) -> BTreeMap<String, String> {
    let mut suspected = faults(guests, config);
    if suspected.is_empty() {
        return suspected;
    }
    let again: Vec<_> = (1..RUNS).map(|_| faults(guests, config)).collect();
    suspected.retain(|signature, what| {
        let shown = 1 + again.iter().filter(|faults| faults.contains_key(signature)).count();
        eprintln!("{shown} of {RUNS} runs: {signature}: {what}");
        shown >= SHOWN_BY
    });
    suspected
}

/// Runs so many random tests; panics with all that is wrong.
fn nothing_is_found(guests: &Guests, tests: u64) {
    let first = number("LUMINA_SEED", 0);
    let mut wrong = Vec::new();
    for seed in first..first + tests {
        let _alone = alone();
        let config = draw(seed);
        let faults = confirmed(guests, &config);
        if !faults.is_empty() {
            wrong.push(format!("seed {seed}: {faults:#?}\n{}", config.to_toml()));
        }
    }
    assert!(wrong.is_empty(), "{} of {tests} tests:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn ten_tests_without_events_are_clean() {
    nothing_is_found(&Guests { kernels: KERNELS, pairs: PAIRS.clone() }, 10);
}

/// `LUMINA_TESTS` says how many on a pairing, `LUMINA_SEED` the first one.
#[test]
#[ignore = "takes minutes: ci/long vm pairing, ci/long uml pairing"]
fn tests_without_events_are_clean_on_every_pairing() {
    for requester in Kernel::ALL {
        for responder in Kernel::ALL {
            nothing_is_found(&Guests::new([requester.clone(), responder]), number("LUMINA_TESTS", 200));
        }
    }
}
