//! Tests that are stopped after as many packets as their caller wants.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::path::Path;

use corpus::TestConfig;
use executor::sim::Sim;
use executor::{Testbed, TestbedError};

#[test]
fn a_test_is_stopped_at_the_first_packet_too_many() {
    let mut testbed = Sim::new(Path::new("."));
    let config = TestConfig::default();
    let whole = testbed.run(&config).unwrap();
    let packets = whole.trace.records().len();
    assert_eq!(testbed.run_within(packets, &config).unwrap(), whole);
    assert_eq!(testbed.run_within(usize::MAX, &config).unwrap(), whole);
    match testbed.run_within(packets - 1, &config) {
        Err(TestbedError::Stopped { packets: stopped }) => assert_eq!(stopped, packets - 1),
        other => panic!("{other:?}"),
    }
}
