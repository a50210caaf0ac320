//! Campaigns on a testbed that does not do the same thing twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corpus::{Capabilities, FindingRecord, Minimized, TestConfig};
use dumper::Observation;
use dumper::observation::LogLine;
use executor::sim::Sim;
use executor::{Testbed, TestbedError};
use fuzzer::campaign::{Campaign, End, FINDINGS, Limits, Request, Status, Stop};
use tempfile::TempDir;

use crate::run::folder;

/// What the responder's kernel says of every test with two connections, and now and then of any.
const ALWAYS: &str = "rxe_always";
const RARELY: &str = "rxe_rarely";

/// Every so many runs it is said of any test: never twice among the five that confirm a finding.
const RARE: u64 = 7;

/// A testbed of simulated NICs, whose responder's kernel warns.
struct Warning {
    sim: Sim,
    runs: Arc<AtomicU64>,
    /// Asks to stop at this run.
    stop: Arc<(Stop, u64)>,
}

impl Testbed for Warning {
    fn capabilities(&self) -> Capabilities {
        Capabilities { deterministic: false, ..Capabilities::all() }
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        if run == self.stop.1 {
            self.stop.0.ask();
        }
        let said = |function| {
            LogLine::new(1, &format!("WARNING: CPU: 0 PID: 1 at a.c:1 {function}+0x1/0x2 [rdma_rxe]"))
        };
        let mut observation = self.sim.run(config)?;
        if config.traffic.load.connections() >= 2 {
            observation.responder_log.push(said(ALWAYS));
        }
        if run.is_multiple_of(RARE) {
            observation.responder_log.push(said(RARELY));
        }
        Ok(observation)
    }
}

/// A campaign on it, one test at a time, that is to stop at a run: where it is, how it ended, how far it came, and what it
/// found, by function.
fn hunt(stop_at: u64) -> (TempDir, End, Status, BTreeMap<String, FindingRecord>) {
    let folder = folder(&[("crash.toml", "base = \"general\"\noracles = [\"crash\"]\n")]);
    let request = Request {
        target: Some(folder.path().join("crash.toml").to_str().unwrap().into()),
        seed: Some(1),
        limits: Limits { executions: Some(64), ..Limits::default() },
        ..Request::default()
    };
    let campaign = Campaign::begin(&folder.path().join("c"), &request).unwrap();
    let (runs, stop) = (Arc::new(AtomicU64::new(0)), Arc::new((Stop::new(), stop_at)));
    let testbed = || {
        let sim = Sim::new(&folder.path().join("c"));
        Box::new(Warning { sim, runs: Arc::clone(&runs), stop: Arc::clone(&stop) }) as Box<dyn Testbed>
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (end, status) = pool.install(|| campaign.run_on(&testbed, &stop.0, &|_| {})).unwrap();
    assert_eq!(status.progress.runs, runs.load(Ordering::Relaxed), "tests that ran");
    let findings = campaign.findings().unwrap().into_iter();
    let by_function =
        findings.map(|finding| (finding.signature.rsplit('/').next().unwrap().to_owned(), finding));
    let findings = by_function.collect();
    drop(campaign);
    (folder, end, status, findings)
}

#[test]
fn what_is_always_there_is_minimised_and_what_is_not_says_so() {
    let (folder, end, status, findings) = hunt(u64::MAX);
    assert_eq!((end, status.progress.executions, status.pending), (End::Executions, 64, 0));
    assert_eq!(findings.keys().collect::<Vec<_>>(), [ALWAYS, RARELY]);
    let (always, rarely) = (&findings[ALWAYS], &findings[RARELY]);
    assert_eq!(always.minimized, Minimized::Full);
    assert_eq!(always.reproducer.traffic.load.connections(), 2);
    assert!(!always.title.contains("seen in"), "{}", always.title);
    assert_eq!((rarely.minimized, rarely.minimizer_executions), (Minimized::Flaky, 0));
    assert!(
        rarely.title.contains("seen in 1 of 5 runs") || rarely.title.contains("seen once"),
        "{}",
        rarely.title
    );
    // How often each was seen, to the end.
    let text =
        std::fs::read_to_string(folder.path().join("c").join(FINDINGS).join(&always.id).join("finding.json"));
    let document: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
    assert_eq!(document["sightings"], always.sightings);
    assert!(always.sightings > 1);
}

#[test]
fn a_finding_is_safe_before_it_is_minimised() {
    // In the middle of the minimiser, which comes after the first batch and five runs for each finding.
    let (folder, end, status, findings) = hunt(40);
    assert_eq!((end, status.progress.executions), (End::Interrupted, 16));
    let always = &findings[ALWAYS];
    assert_eq!(always.minimized, Minimized::Pending);
    let folder = folder.path().join("c").join(FINDINGS).join(&always.id);
    for file in ["finding.json", "reproducer.toml", "report.txt", "trace.pcapng"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
}
