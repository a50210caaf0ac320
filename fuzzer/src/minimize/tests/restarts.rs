//! Minimal tests of drawn NICs: no smaller ones come out with other draws.

use std::collections::HashMap;
use std::path::Path;

use corpus::{Host, TestConfig};
use executor::profile;
use executor::sim::Sim;
use mutators::{Covered, Parts, Target, Vocabulary};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scoring::Kind;
use scoring::score::Objective;

use crate::judge::{InMemory, Verdict, judge, judge_within};
use crate::minimize::search::{Effort, Search};
use crate::minimize::size::Size;
use crate::minimize::{BUDGET, TraceLimit, minimize_with_restarts};

/// Findings of each NIC.
const FINDINGS: usize = 2;

/// Searches of each finding with draws that the restarts do not make.
const SEARCHES: u64 = 20;

/// Seeds of these draws come after it.
const OTHER_DRAWS: u64 = 1 << 32;

/// Most tests in which those are looked for.
const LOOKED_AT: u64 = 10_000;

/// Name of the NIC in the tests.
const NIC: &str = "drawn";

fn testbed(seed: u64, conditions: u32) -> Sim {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drawn.toml");
    std::fs::write(&path, profile::drawn(seed, conditions)).unwrap();
    let drawn = profile::load(path.to_str().unwrap(), Path::new(".")).unwrap();
    Sim::new(Path::new(".")).with_profile(NIC, drawn)
}

/// The first tests that show the signature of the first anomaly that broad tests of a drawn NIC show, with that signature.
fn found(testbed: &mut Sim, seed: u64) -> (String, Vec<TestConfig>) {
    let objectives = Objective::ALL.map(Objective::name);
    let kinds = Kind::ALL.map(Kind::name);
    let words = Vocabulary { objectives: &objectives, kinds: &kinds, named_only: &[] };
    let target = Target::load("general", Path::new("."), words).unwrap();
    let usual = TestConfig::default();
    let hosts = [usual.requester, usual.responder].map(|host| Host { nic: NIC.into(), ..host });
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut found = (String::new(), Vec::new());
    for _ in 0..LOOKED_AT {
        let test = target.broad(&hosts, &Covered::default(), Parts::default(), &mut rng);
        let signatures = signatures(testbed, &test);
        if let (true, Some(first)) = (found.1.is_empty(), signatures.first()) {
            found.0 = first.clone();
        }
        if signatures.contains(&found.0) {
            found.1.push(test);
        }
        if found.1.len() == FINDINGS {
            break;
        }
    }
    found
}

fn signatures(testbed: &mut Sim, test: &TestConfig) -> Vec<String> {
    let baselines = InMemory::on(testbed);
    match judge(testbed, test, &baselines).unwrap() {
        Verdict::Judged(judged) => judged.signatures(),
        Verdict::Invalid(_) => Vec::new(),
    }
}

fn numbers(name: &str, usual: std::ops::RangeInclusive<u64>) -> std::ops::RangeInclusive<u64> {
    let Ok(named) = std::env::var(name) else { return usual };
    let (first, last) = named.split_once('-').unwrap_or((&named, &named));
    first.parse().unwrap()..=last.parse().unwrap()
}

/// Minimises the findings of a drawn NIC again and again, and returns what it says of each whose first minimal test is larger than
/// that of a restart by more than one step.
fn larger(seed: u64, conditions: u32) -> Vec<String> {
    let mut testbed = testbed(seed, conditions);
    let (signature, tests) = found(&mut testbed, seed);
    // Restarts ask for many of the same tests.
    let mut known = HashMap::new();
    let mut trace_limit = TraceLimit::NONE;
    let mut shows = |test: &TestConfig| {
        let mut ask = || {
            let baselines = InMemory::on(&testbed);
            let verdict = judge_within(&mut testbed, trace_limit.of(test), test, &baselines).unwrap();
            let shows = verdict.shows(&signature);
            trace_limit.learn(shows, verdict.packets() as u64, 1);
            shows
        };
        Ok::<_, ()>(*known.entry(test.to_toml()).or_insert_with(&mut ask))
    };
    let minimised = |test: TestConfig| {
        // As the command `minimize`.
        let first = minimize_with_restarts(&test, Effort::Many, &mut |test, _| shows(test)).unwrap();
        let searches = 1..=*numbers("LUMINA_RESTARTS", 1..=SEARCHES).end();
        let searches = searches.map(|search| {
            Search::new(&test, Effort::Many, Some(BUDGET), &mut shows).run(OTHER_DRAWS + search).unwrap()
        });
        let runs = std::iter::once(first).chain(searches);
        let runs: Vec<_> = runs.map(|run| (Size::of(&run.config), run)).collect();
        let (least, smallest) = runs.iter().min_by(|(one, _), (other, _)| one.cmp(other))?;
        let steps: Vec<_> = runs.iter().map(|(size, _)| size.steps_above(least)).collect();
        let (first, searches) = (&runs[0].1, &runs[1..]);
        let executions: u64 = searches.iter().map(|(_, run)| run.executions).sum();
        println!(
            "{conditions} conditions, seed {seed}: {signature}: {} executions with {} restarts, {} of a search, steps above the smallest {steps:?}",
            first.executions,
            first.restarts,
            executions / searches.len().max(1) as u64
        );
        (steps[0] > 1).then(|| format!("{signature}\n{}\nfor\n{}", first.config, smallest.config))
    };
    tests.into_iter().filter_map(minimised).collect()
}

/// On two findings of each of 20 drawn NICs.
#[test]
#[ignore = "takes long: ci/long minimal"]
fn no_restart_comes_to_a_smaller_test() {
    let nics: Vec<_> = numbers("LUMINA_PROFILES", 1000..=1004)
        .flat_map(|seed| numbers("LUMINA_CONDITIONS", 1..=4).map(move |conditions| (seed, conditions as u32)))
        .collect();
    let larger: Vec<_> =
        nics.into_par_iter().flat_map_iter(|(seed, conditions)| larger(seed, conditions)).collect();
    println!("{} findings have smaller tests", larger.len());
    assert!(larger.is_empty(), "{}", larger.join("\n\n"));
}
