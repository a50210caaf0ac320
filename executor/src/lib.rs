//! Testbeds, each of which turns a [`corpus::TestConfig`] into a [`dumper::Observation`].

pub mod profile;
pub mod script;
mod testbed;

pub use profile::NicProfile;
pub use testbed::{Testbed, TestbedError};
