//! Testbeds, each of which turns a `corpus::TestConfig` into a `dumper::Observation`.
//!
//! Empty so far: the simulated testbed comes first, then virtual machines, then physical hosts.
