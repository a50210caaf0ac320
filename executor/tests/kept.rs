//! Simulated tests as result folders: what is written comes back, and is judged the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

use dumper::capture::ReadOptions;
use dumper::integrity::{self, Verdict};
use dumper::observation::folder;
use dumper::{Observation, Trace};
use executor::{NicProfile, TestbedError, sim};
use proptest::prelude::*;

/// The observation with its trace's side tables in the order of packets: the simulation notes how a packet left when
/// it leaves.
fn in_file_order(observation: Observation) -> Observation {
    let mut trace = Trace::new(observation.trace.origin());
    for flow in observation.trace.flows() {
        trace.add_flow(*flow);
    }
    for record in observation.trace.records() {
        match observation.trace.extra(record) {
            Some(extra) => trace.push_with(*record, extra),
            None => trace.push(*record),
        }
    }
    Observation { trace, ..observation }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_simulated_test_is_read_as_it_was_written(config in corpus::testing::configs()) {
        let observation = match sim::run(&config, [NicProfile::default(), NicProfile::default()]) {
            Ok(observation) => observation,
            // Some tests repeat themselves without end, which is an answer too.
            Err(TestbedError::TooManyPackets { .. }) => return Ok(()),
            Err(error) => panic!("{error}"),
        };
        let kept = tempfile::tempdir().unwrap();
        folder::write(&observation, None, kept.path()).unwrap();
        let read = folder::read(kept.path(), ReadOptions::default(), &mut |_| ()).unwrap();
        let verdicts = integrity::check(&read.observation.trace, read.observation.switch.as_ref()).conditions;
        prop_assert!(verdicts.iter().all(|condition| condition.verdict == Verdict::Pass), "{verdicts:?}");
        prop_assert_eq!((&read.traced.skipped.malformed, read.traced.icrc.wrong), (&0, 0));
        prop_assert_eq!(in_file_order(read.observation), in_file_order(observation));
    }
}
