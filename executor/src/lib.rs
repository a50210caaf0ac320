//! Testbeds, each of which turns a [`corpus::TestConfig`] into a [`dumper::Observation`].

pub mod profile;
mod testbed;

pub use profile::NicProfile;
pub use testbed::{Testbed, TestbedError};
