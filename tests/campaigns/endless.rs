//! Campaigns on a testbed whose tests do not end: they are stopped after 16 million packets.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corpus::{Capabilities, FindingRecord, Minimized, TestConfig};
use dumper::Observation;
use executor::sim::Sim;
use executor::{Testbed, TestbedError};
use fuzzer::campaign::{Campaign, End, Limits, Request, Stop};
use fuzzer::finding::{self, FINDINGS};
use fuzzer::judge::{self, Verdict};

use crate::run::folder;

/// Packets after which a test is stopped.
const STOPPED_AFTER: usize = 16 << 20;

/// Simulated NICs whose QPs retransmit for ever where there are at least two connections.
struct Endless {
    sim: Sim,
    /// Tests that were stopped.
    stopped: Arc<AtomicU64>,
}

impl Testbed for Endless {
    fn capabilities(&self) -> Capabilities {
        self.sim.capabilities()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        if config.traffic.load.connections() < 2 {
            return self.sim.run(config);
        }
        self.stopped.fetch_add(1, Ordering::Relaxed);
        Err(TestbedError::TooManyPackets { packets: STOPPED_AFTER })
    }
}

/// The finding of a campaign, and the tests that were stopped.
fn hunt(path: &Path, jobs: usize) -> (FindingRecord, u64) {
    let limits = Limits { executions: Some(4), ..Limits::default() };
    let request = Request { target: Some("general".into()), seed: Some(1), limits, ..Request::default() };
    let campaign = Campaign::begin(path, &request).unwrap();
    let stopped = Arc::new(AtomicU64::new(0));
    let stop = Stop::new();
    let testbed =
        || Box::new(Endless { sim: Sim::new(path), stopped: Arc::clone(&stopped) }) as Box<dyn Testbed>;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().unwrap();
    let (end, status) = pool.install(|| campaign.run_on(&testbed, &stop, &|_| {})).unwrap();
    assert_eq!((end, status.pending), (End::Executions, 0));
    let endless = |finding: &FindingRecord| finding.signature.starts_with("stall/requester/never-ends");
    let finding = campaign.findings().unwrap().into_iter().find(endless).unwrap();
    (finding, stopped.load(Ordering::Relaxed))
}

/// A test that has a third of the packets itself, with the copies of them, is too long. It says nothing of its NICs.
#[test]
fn a_long_test_is_not_taken_for_one_without_end() {
    let folder = folder(&[]);
    let mut testbed = Endless { sim: Sim::new(folder.path()), stopped: Arc::default() };
    let mut verdict_on = |messages: u32| {
        let text = format!(
            "traffic = {{ num-connections = 2, num-msgs-per-qp = {messages}, message-size = 1 }}\n\
             [[event]]\nqpn = \"all\"\npsn = 1\nevery = 1\ntype = \"duplicate\"\ncopies = 4\n"
        );
        let config = corpus::from_toml("test.toml", &text).unwrap();
        judge::judge_alone(&mut testbed, &config, "no test has a reference run here").unwrap()
    };
    assert!(matches!(verdict_on(500_000), Verdict::Judged(_)));
    assert!(matches!(verdict_on(600_000), Verdict::Invalid(_)));
}

/// The packets of a few of its runs use up the budget of the minimiser, and not thousands of runs.
#[test]
fn a_test_without_end_is_minimised_for_a_few_runs() {
    let folder = folder(&[]);
    let (finding, stopped) = hunt(&folder.path().join("one"), 1);
    assert_eq!(finding.minimized, Minimized::Partial);
    assert!((2..100).contains(&finding.minimizer_executions), "{}", finding.minimizer_executions);
    assert!(stopped < 20, "{stopped}");
    assert!(finding.reproducer.traffic.load.connections() >= 2, "it shows the finding");
    assert!(finding.reproducer != finding.config, "{}", finding.reproducer);
    let kept = finding::read(&folder.path().join("one").join(FINDINGS).join(&finding.id)).unwrap();
    assert!(finding::is_reproduced(&finding));
    assert_eq!(kept.document.minimized, Minimized::Partial);
    assert_eq!(kept.reproducer.traffic, finding.reproducer.traffic);
    // Packets are the same on every machine.
    assert_eq!(hunt(&folder.path().join("two"), 2), (finding, stopped));
}
