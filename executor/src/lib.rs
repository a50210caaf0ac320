//! Testbeds, each of which turns a [`corpus::TestConfig`] into a [`dumper::Observation`].

pub mod profile;
pub mod script;
pub mod sim;
mod testbed;

pub use profile::NicProfile;
pub use testbed::{Testbed, TestbedError};
