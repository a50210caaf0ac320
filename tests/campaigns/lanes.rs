//! Campaigns on a testbed with lanes: a test of a lane may be run after all tests before it, which are known.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use corpus::store::REMEMBERED;
use corpus::{Capabilities, TestConfig};
use dumper::Observation;
use executor::sim::Sim;
use executor::{History, Testbed, TestbedError};
use fuzzer::campaign::{Campaign, End, Limits, Request, Stop};

use crate::run::folder;

const LANES: u8 = 4;

/// Simulated NICs, in lanes.
struct InLanes {
    sim: Sim,
    /// The tests that ran, by their numbers.
    ran: Arc<Mutex<BTreeMap<u64, TestConfig>>>,
}

impl Testbed for InLanes {
    fn capabilities(&self) -> Capabilities {
        Capabilities { lanes: Some(LANES), ..self.sim.capabilities() }
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        self.sim.run(config)
    }

    fn run_after(&mut self, history: &History<'_>, config: &TestConfig) -> Result<Observation, TestbedError> {
        let number = history.number;
        let mut ran = self.ran.lock().unwrap();
        let lane = ran.range(number.saturating_sub(REMEMBERED - 1)..number);
        for (before, config) in lane.filter(|(before, _)| (number - *before).is_multiple_of(LANES.into())) {
            assert_eq!((history.test_of)(*before).as_ref(), Some(config), "test {before}, before {number}");
        }
        ran.insert(number, config.clone());
        drop(ran);
        self.sim.run(config)
    }
}

/// Most tests are dropped. A lane is run again from its boot when a campaign is resumed.
#[test]
fn the_tests_before_one_in_its_lane_are_known_whether_they_were_kept_or_not() {
    let folder = folder(&[]);
    let (path, ran) = (folder.path().join("one"), Arc::<Mutex<BTreeMap<u64, TestConfig>>>::default());
    let limits = Limits { executions: Some(300), ..Limits::default() };
    let request = Request { target: Some("general".into()), seed: Some(3), limits, ..Request::default() };
    let campaign = Campaign::begin(&path, &request).unwrap();
    let testbed = || Box::new(InLanes { sim: Sim::new(&path), ran: Arc::clone(&ran) }) as Box<dyn Testbed>;
    let (end, status) = campaign.run_on(&testbed, &Stop::new(), &|_| {}).unwrap();
    assert_eq!(end, End::Executions);
    let ran = ran.lock().unwrap().len() as u64;
    assert_eq!(ran, 300);
    assert!(status.corpus_size < ran, "a test was dropped: {}", status.corpus_size);
}
