//! Campaigns that have little to go on.

use std::sync::Mutex;

use corpus::TestConfig;
use dumper::Observation;
use executor::sim::Sim;
use executor::{Testbed, TestbedError};
use fuzzer::campaign::{Campaign, End, Event, Limits, Request, Status, Stop};

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};

/// A target whose tests have no events, and so nothing to score.
const FLAT: &str = "base = \"general\"\n[events]\nmax-entries = 0\n";

#[test]
fn a_pool_of_one_grows() {
    let folder = folder(&[("one.toml", "base = \"general\"\npool = 1\n")]);
    let args = ["./one.toml", "--seed", "1", "--executions", "100", "--out", "c"];
    let summary = campaign(folder.path(), &args);
    assert_eq!(summary["executions"], 100);
    assert!(summary["corpus_size"].as_u64().unwrap() > 1);
}

#[test]
fn equal_scores_keep_a_tenth() {
    // Nobody is harmed by events that there are not.
    let flat = "oracles = \"all\"\n[objectives]\nnoisy-neighbor = 1.0\n[traffic]\nnum-connections = { min = 1, max = 64 }\n";
    let folder = folder(&[("flat.toml", flat)]);
    let args = ["./flat.toml", "--seed", "1", "--executions", "832", "--out", "c"];
    let summary = campaign(folder.path(), &args);
    // 32 of the initial pool and a tenth of 800, give or take three standard deviations.
    let kept = summary["corpus_size"].as_u64().unwrap() - 32;
    assert!((55..=105).contains(&kept), "{summary:#}");
}

#[test]
fn a_space_of_a_single_test_ends_with_a_message() {
    let folder = folder(&[("point.toml", include_str!("point.toml"))]);
    let args = ["campaign", "./point.toml", "--seed", "1", "--executions", "1000", "--out", "c"];
    let ran = in_folder(folder.path(), &args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("nothing left to try: the target's search space holds a single test"),
        "{}",
        ran.stdout
    );
}

/// NICs have bounds: receive buffers that are too small for flow control, tables with room for few masks and tunnels. A campaign
/// leaves out what they refuse.
#[test]
fn a_nic_is_asked_for_nothing_that_it_has_no_room_for() {
    let small = "base = \"left\"\n[receive]\nbuffer-bytes = 16_384\n";
    let tunnels = "base = \"reference\"\n[eswitch]\nmasks = 100\ntable-entries = 500\ncontexts = 1_000\n";
    let folder = folder(&[("small.toml", small), ("tunnels.toml", tunnels)]);
    for (target, nic) in
        [("multipath", "./small.toml"), ("flow-table", "rcn-cx6"), ("flow-table", "./tunnels.toml")]
    {
        let out = format!("{target}-{}", nic.trim_matches(['.', '/']));
        let args = [target, "--nic", nic, "--seed", "1", "--executions", "160", "--out", &out];
        let summary = campaign(folder.path(), &args);
        assert_eq!(summary["invalid"], 0, "{target} {nic}: {summary:#}");
    }
}

#[test]
fn tests_without_events_find_nothing() {
    let folder = folder(&[("flat.toml", FLAT)]);
    let args = ["./flat.toml", "--seed", "1", "--executions", "64", "--out", "c"];
    assert!(findings(&campaign(folder.path(), &args)).is_empty());
}

/// A testbed on which every `good`-th test runs, and the others are invalid one way or the other.
struct Ailing {
    good: u64,
    sim: Sim,
}

impl Testbed for Ailing {
    fn capabilities(&self) -> corpus::Capabilities {
        corpus::Capabilities::all()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        let digest =
            config.to_toml().bytes().fold(7, |digest: u64, byte| digest * 31 % 1_000_003 + u64::from(byte));
        match digest.checked_rem(self.good) {
            Some(0) => self.sim.run(config),
            _ if digest % 2 == 0 => panic!("the testbed has a fault"),
            _ => Err(TestbedError::Config("the testbed cannot do that".into())),
        }
    }
}

/// A campaign on such a testbed: how it ended, how far it came, and what it said.
fn ailing(good: u64, executions: u64) -> (End, Status, Vec<String>) {
    let folder = folder(&[]);
    let request = Request {
        target: Some("general".into()),
        seed: Some(1),
        limits: Limits { executions: Some(executions), ..Limits::default() },
        ..Request::default()
    };
    let campaign = Campaign::begin(&folder.path().join("c"), &request).unwrap();
    let notes = Mutex::new(Vec::new());
    let watch = |event: Event<'_>| {
        if let Event::Note(note) = event {
            notes.lock().unwrap().push(note.to_owned());
        }
    };
    let testbed = || Box::new(Ailing { good, sim: Sim::new(folder.path()) }) as Box<dyn Testbed>;
    let (end, status) = campaign.run_on(&testbed, &Stop::new(), &watch).unwrap();
    (end, status, notes.into_inner().unwrap())
}

#[test]
fn without_a_valid_test_there_is_nothing_to_mutate() {
    let (end, status, notes) = ailing(0, 320);
    assert!(matches!(&end, End::NothingValid { reason } if reason.contains("the testbed")), "{end:?}");
    assert!(!end.is_done() && end.to_string().contains("none of the first tests was valid"), "{end}");
    assert_eq!((status.progress.executions, status.progress.invalid, status.corpus_size), (32, 32, 0));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("the last one: ") && notes[0].contains("the testbed"), "{notes:?}");
}

/// Fewer tests than the first ones of a campaign, none of which is valid, are no campaign without findings.
#[test]
fn a_short_campaign_without_a_valid_test_is_none_without_findings() {
    let (end, status, _) = ailing(0, 20);
    assert!(matches!(&end, End::NothingValid { reason } if reason.contains("the testbed")), "{end:?}");
    assert_eq!((status.progress.executions, status.progress.invalid), (20, 20));
}

#[test]
fn invalid_tests_are_counted_and_never_kept() {
    let (end, status, notes) = ailing(3, 320);
    assert_eq!(end, End::Executions);
    let valid = 320 - status.progress.invalid;
    assert!((70..150).contains(&valid), "{status:?}");
    assert!(status.corpus_size <= valid);
    assert!(notes[0].contains("of 32 tests were invalid, more than 5 %"), "{notes:?}");
}
