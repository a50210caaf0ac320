//! Campaigns on a testbed that does not do the same thing twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use corpus::{Capabilities, FindingRecord, Minimized, TestConfig};
use dumper::Observation;
use dumper::observation::LogLine;
use executor::sim::Sim;
use executor::{Testbed, TestbedError};
use fuzzer::campaign::{Campaign, End, Limits, Request, Status, Stop};
use fuzzer::finding::FINDINGS;
use tempfile::TempDir;

use crate::run::folder;

/// Kernel warning of the responder in every test with two connections, and now and then in any.
const ALWAYS: &str = "rxe_always";
const RARELY: &str = "rxe_rarely";

/// Every so many runs it is said of any test: never twice among the five that confirm a finding.
const RARE: u64 = 7;

/// A run of a test.
struct Run<'a> {
    /// Its number, from 1.
    number: u64,
    /// Number of this run of the test, from 1.
    of_test: u64,
    config: &'a TestConfig,
}

/// Kernel warnings of the responder in a run: functions that warn.
type Says = fn(&Run<'_>) -> Vec<&'static str>;

/// A testbed of simulated NICs, whose responder's kernel warns.
struct Warning {
    sim: Sim,
    says: Says,
    /// Runs of each test.
    runs: Arc<Mutex<BTreeMap<String, u64>>>,
    /// Asks to stop at this run.
    stop: Arc<(Stop, u64)>,
}

impl Warning {
    /// Counts a run of a test.
    fn count<'a>(&self, config: &'a TestConfig) -> Run<'a> {
        let mut runs = self.runs.lock().unwrap();
        let of_test = runs.entry(config.to_toml()).or_default();
        *of_test += 1;
        let of_test = *of_test;
        Run { number: runs.values().sum(), of_test, config }
    }
}

impl Testbed for Warning {
    fn capabilities(&self) -> Capabilities {
        Capabilities { deterministic: false, ..Capabilities::all() }
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        let run = self.count(config);
        if run.number == self.stop.1 {
            self.stop.0.ask();
        }
        let said = |function| {
            LogLine::new(1, &format!("WARNING: CPU: 0 PID: 1 at a.c:1 {function}+0x1/0x2 [rdma_rxe]"))
        };
        let mut observation = self.sim.run(config)?;
        observation.responder_log.extend((self.says)(&run).into_iter().map(said));
        Ok(observation)
    }
}

/// Results of a campaign.
struct Hunted {
    folder: TempDir,
    end: End,
    status: Status,
    /// By function.
    findings: BTreeMap<String, FindingRecord>,
}

impl Hunted {
    fn campaign(&self) -> PathBuf {
        self.folder.path().join("c")
    }

    fn folder_of(&self, finding: &FindingRecord) -> PathBuf {
        self.campaign().join(FINDINGS).join(&finding.id)
    }

    fn json(path: &Path) -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }
}

/// A campaign on it, one test at a time, that is to stop at a run, or when something is found.
fn hunt(says: Says, stop_at: u64, stop_on_first: bool) -> Hunted {
    let folder = folder(&[("crash.toml", "base = \"general\"\noracles = [\"crash\"]\n")]);
    let request = Request {
        target: Some(folder.path().join("crash.toml").to_str().unwrap().into()),
        seed: Some(1),
        limits: Limits { executions: Some(64), stop_on_first: Some(stop_on_first), ..Limits::default() },
        ..Request::default()
    };
    let campaign = Campaign::begin(&folder.path().join("c"), &request).unwrap();
    let (runs, stop) = (Arc::default(), Arc::new((Stop::new(), stop_at)));
    let testbed = || {
        let sim = Sim::new(&folder.path().join("c"));
        Box::new(Warning { sim, says, runs: Arc::clone(&runs), stop: Arc::clone(&stop) }) as Box<dyn Testbed>
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (end, status) = pool.install(|| campaign.run_on(&testbed, &stop.0, &|_| {})).unwrap();
    assert_eq!(status.progress.runs, runs.lock().unwrap().values().sum::<u64>(), "tests that ran");
    let findings = campaign.findings().unwrap().into_iter();
    let by_function =
        findings.map(|finding| (finding.signature.rsplit('/').next().unwrap().to_owned(), finding));
    let findings = by_function.collect();
    drop(campaign);
    Hunted { folder, end, status, findings }
}

/// Of every test with two connections, and now and then of any.
fn always_and_rarely(run: &Run<'_>) -> Vec<&'static str> {
    let always = (run.config.traffic.load.connections() >= 2).then_some(ALWAYS);
    always.into_iter().chain(run.number.is_multiple_of(RARE).then_some(RARELY)).collect()
}

/// One function, if it warns.
fn only(function: &'static str, warns: bool) -> Vec<&'static str> {
    if warns { vec![function] } else { Vec::new() }
}

#[test]
fn what_is_always_there_is_minimised_and_what_is_not_says_so() {
    let hunted = hunt(always_and_rarely, u64::MAX, false);
    let Hunted { end, status, findings, .. } = &hunted;
    assert_eq!((end, status.progress.executions, status.pending), (&End::Executions, 64, 0));
    assert_eq!(findings.keys().collect::<Vec<_>>(), [ALWAYS, RARELY]);
    let (always, rarely) = (&findings[ALWAYS], &findings[RARELY]);
    assert_eq!(always.minimized, Minimized::Full);
    assert_eq!(always.reproducer.traffic.load.connections(), 2);
    assert!(!always.title.contains("; seen "), "{}", always.title);
    assert_eq!((rarely.minimized, rarely.minimizer_executions), (Minimized::Flaky, 0));
    assert!(rarely.title.contains("; seen "), "{}", rarely.title);
    // How often each was seen, to the end.
    let document = Hunted::json(&hunted.folder_of(always).join("finding.json"));
    assert_eq!(document["sightings"], always.sightings);
    assert!(always.sightings > 1);
}

#[test]
fn a_finding_is_safe_before_it_is_minimised() {
    // In the middle of the minimiser, which comes after the first batch and five runs for each finding.
    let hunted = hunt(always_and_rarely, 40, false);
    assert_eq!((&hunted.end, hunted.status.progress.executions), (&End::Interrupted, 16));
    let always = &hunted.findings[ALWAYS];
    assert_eq!(always.minimized, Minimized::Pending);
    for file in ["finding.json", "reproducer.toml", "report.txt", "trace.pcapng"] {
        assert!(hunted.folder_of(always).join(file).is_file(), "{file}");
    }
}

#[test]
fn what_was_seen_once_is_no_end_and_has_no_folder() {
    let hunted = hunt(|run| only(RARELY, run.number == 3), u64::MAX, true);
    assert_eq!((&hunted.end, hunted.status.progress.executions), (&End::Executions, 64));
    let rarely = &hunted.findings[RARELY];
    assert_eq!(rarely.minimized, Minimized::Flaky);
    assert!(rarely.title.ends_with("; seen once, and not again"), "{}", rarely.title);
    assert!(!hunted.folder_of(rarely).exists());
    let summary = Hunted::json(&hunted.campaign().join("summary.json"));
    assert_eq!(summary["findings"][0]["signature"], rarely.signature);
    assert!(summary["findings"][0].get("path").is_none(), "{summary:#}");
}

#[test]
fn what_was_seen_once_is_confirmed_in_a_later_test() {
    let says: Says = |run| only(ALWAYS, run.number == 3 || run.number > 30);
    let hunted = hunt(says, u64::MAX, false);
    let always = &hunted.findings[ALWAYS];
    assert_eq!((always.first_seen_execution, always.minimized), (3, Minimized::Full));
    assert!(!always.title.contains("; seen "), "{}", always.title);
    assert!(hunted.folder_of(always).join("finding.json").is_file());
}

#[test]
fn a_smaller_test_that_is_not_confirmed_is_not_taken() {
    // A test of one packet seems to show it, as often as the minimiser looks, and does not.
    let says: Says = |run| {
        let is_small = run.config.traffic.total_packets() == 1;
        only(ALWAYS, !is_small || run.of_test <= 5)
    };
    let hunted = hunt(says, u64::MAX, false);
    let always = &hunted.findings[ALWAYS];
    // One after the other is tried, until the budget is spent.
    assert_eq!(always.minimized, Minimized::Partial);
    assert!(always.reproducer.traffic.total_packets() > 1);
    assert!(always.minimizer_executions > 0 && !always.title.contains("; seen "), "{}", always.title);
    let document = Hunted::json(&hunted.folder_of(always).join("finding.json"));
    assert_eq!((&document["minimized"], &document["frequency"]["seen_in"]), (&"partial".into(), &5.into()));
}

#[test]
fn a_smaller_test_that_shows_it_more_rarely_is_not_taken() {
    // With one connection it is not there in every fourth run, which is still often enough to confirm it.
    let says: Says = |run| {
        let is_alone = run.config.traffic.load.connections() == 1;
        only(ALWAYS, !is_alone || !run.of_test.is_multiple_of(4))
    };
    let hunted = hunt(says, u64::MAX, false);
    let always = &hunted.findings[ALWAYS];
    assert!(always.config.traffic.load.connections() > 2);
    assert_eq!((always.minimized, always.reproducer.traffic.load.connections()), (Minimized::Full, 2));
    assert!(!always.title.contains("; seen "), "{}", always.title);
}
