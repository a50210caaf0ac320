//! Random valid tests on random conforming NICs: nothing anomalous is found, and every message's bytes are delivered
//! exactly once, or its QP has ended in an error.
//!
//! Every other case is drawn as it comes; those between are edited to make the rare happen often.
//!
//! `LUMINA_CASES` sets the number of cases (4,000 otherwise), `LUMINA_SEED` the first one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod beliefs;
mod digests;
#[path = "../support/environment.rs"]
mod environment;
mod mitigated;
mod once_wrong;
mod profiles;
mod selective;
mod shrink;
mod stress;
#[path = "../support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use corpus::TestConfig;
use dumper::Observation;
use dumper::observation::CompletionStatus;
use executor::{NicProfile, TestbedError};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use scoring::score::{Assessment, Objective};

use environment::number;

/// A test and the NICs that it runs on.
#[derive(Clone)]
struct Case {
    config: TestConfig,
    profiles: [NicProfile; 2],
}

impl Case {
    fn draw(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let mut config = corpus::testing::configs().new_tree(&mut runner).unwrap().current();
        let mut profiles = ["requester", "responder"].map(|host| profiles::draw(seed, host));
        if seed.is_multiple_of(2) {
            stress::apply(&mut config, &mut profiles, &mut profiles::stream(seed, "stress"));
        }
        // The digests of the first tests are kept: what is drawn since leaves them as they are.
        if seed >= digests::TESTS {
            stress::change_actions(&mut config, &mut profiles::stream(seed, "actions"));
            stress::change_traffic(&mut config, &mut profiles::stream(seed, "traffic"));
            stress::change_network(&mut config, &mut profiles::stream(seed, "network"));
            stress::control_flow(&mut config, &mut profiles, &mut profiles::stream(seed, "pfc"));
            stress::take_turns(&mut config, &mut profiles::stream(seed, "turns"));
        } else {
            profiles.iter_mut().for_each(|profile| profile.requester.window_packets = 0);
        }
        Self { config, profiles }
    }

    /// Each step by itself, and checked.
    fn run(&self) -> Result<Observation, TestbedError> {
        executor::sim::run_checked(&self.config, self.profiles.clone())
    }

    /// Short description of the faults; empty if there are none.
    fn faults(&self) -> Vec<String> {
        let observation = match self.run() {
            Ok(observation) => observation,
            Err(error) => return vec![error.to_string()],
        };
        let mut faults = delivery_faults(&self.config, &observation);
        let in_one_go = executor::sim::run(&self.config, self.profiles.clone());
        if !in_one_go.is_ok_and(|other| digests::of(&other) == digests::of(&observation)) {
            faults.push("not what it is where the network takes several steps in one go".to_owned());
        }
        let integrity = dumper::integrity::check(&observation.trace, observation.switch.as_ref());
        if integrity.is_invalid() {
            faults.push(format!("invalid: {integrity:?}"));
        }
        // A receiver that is slower than its link, and never pauses it, is a slow NIC.
        let is_slow = self.config.network.pfc && pauses(&observation) == Some(0);
        if is_slow {
            return faults;
        }
        let assessment = self.assess(&observation);
        faults.extend(assessment.anomalies.iter().map(scoring::Anomaly::signature));
        for (objective, value) in Objective::ALL.iter().zip(assessment.objectives) {
            if !(0.0..=1.0).contains(&value) {
                faults.push(format!("{} is {value}", objective.name()));
            }
        }
        faults
    }

    fn assess(&self, observation: &Observation) -> Assessment {
        support::assess(&self.config, &self.profiles, observation)
    }
}

/// Pauses of flow control that NICs with a counter for them have begun; none without such counters.
fn pauses(observation: &Observation) -> Option<u64> {
    let hosts = [&observation.requester, &observation.responder].into_iter().flatten();
    let counted = hosts.flat_map(|host| {
        ["tx_prio0_pause", "tx_priority_0_xoff.nic"].into_iter().filter_map(|name| host.moved(name))
    });
    counted.reduce(|all, one| all + one)
}

/// Messages that completed without their bytes having arrived exactly once, and messages that never completed although
/// their QP has a timer and has not failed.
fn delivery_faults(config: &TestConfig, observation: &Observation) -> Vec<String> {
    let traffic = &config.traffic;
    let mut faults = Vec::new();
    let connections = traffic.load.connections();
    let mut succeeded = vec![0; connections as usize];
    let mut failed = vec![false; connections as usize];
    for completion in observation.completions() {
        let at = completion.connection as usize - 1;
        if completion.status == CompletionStatus::Success {
            succeeded[at] += 1;
        } else {
            failed[at] = true;
        }
    }
    for at in 0..connections as usize {
        // Where the hosts post in turn, a QP that fails has its pair wait.
        let pair_failed = traffic.paired_with(at as u32 + 1).is_some_and(|pair| failed[pair as usize - 1]);
        let stuck = !failed[at] && !pair_failed && succeeded[at] < traffic.num_msgs_per_qp;
        if stuck && traffic.min_retransmit_timeout > 0 {
            faults.push(format!(
                "connection {}: {} messages of {}",
                at + 1,
                succeeded[at],
                traffic.num_msgs_per_qp
            ));
        }
    }
    let mut delivered = vec![0; connections as usize];
    for delivery in observation.deliveries() {
        let at = delivery.connection as usize - 1;
        let whole = delivery.bytes == u64::from(traffic.message_size);
        delivered[at] += u32::from(whole);
        if !delivery.intact || delivery.bytes > u64::from(traffic.message_size) {
            faults.push(format!("{delivery:?}"));
        }
    }
    for at in 0..connections as usize {
        if traffic.message_size > 0 && delivered[at] < succeeded[at] {
            faults.push(format!(
                "connection {}: {} completed, {} arrived",
                at + 1,
                succeeded[at],
                delivered[at]
            ));
        }
    }
    faults
}

/// Looks at so many seeds from `first` on, on all cores.
fn each_seed(first: u64, cases: u64, look: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(first);
    let work = || {
        let seeds = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        seeds.take_while(|seed| *seed < first + cases).for_each(&look);
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

/// The cases with seeds from `first` on that have faults, in the order of their seeds.
fn wrong_cases(first: u64, cases: u64, draw: fn(u64) -> Case) -> Vec<(u64, Case, Vec<String>)> {
    let wrong = Mutex::new(Vec::new());
    each_seed(first, cases, |seed| {
        let case = draw(seed);
        let faults = case.faults();
        if !faults.is_empty() {
            wrong.lock().unwrap().push((seed, case, faults));
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort_unstable_by_key(|(seed, ..)| *seed);
    wrong
}

#[test]
fn conforming_nics_show_no_anomaly() {
    let cases = number("LUMINA_CASES", 4_000);
    no_anomalies(cases, Case::draw);
}

/// So many drawn cases show no anomaly.
fn no_anomalies(cases: u64, draw: fn(u64) -> Case) {
    let wrong = wrong_cases(number("LUMINA_SEED", 1), cases, draw);
    let Some((seed, case, faults)) = wrong.first() else { return };
    let mut counts = BTreeMap::new();
    for (_, _, faults) in &wrong {
        for fault in faults.iter().collect::<BTreeSet<_>>() {
            *counts.entry(fault).or_insert(0) += 1;
        }
    }
    let small = shrink::shrink(case, &faults[0]);
    panic!(
        "{} of {cases} cases: {:?}; signatures: {counts:#?}\nthe first, LUMINA_SEED={seed}: {faults:#?}\n{}",
        wrong.len(),
        wrong.iter().map(|(seed, ..)| seed).collect::<Vec<_>>(),
        shrink::describe(&small)
    );
}
