//! Testbeds, each of which turns a [`corpus::TestConfig`] into a [`dumper::Observation`].

pub mod agent;
pub mod profile;
pub mod script;
pub mod sim;
mod testbed;
pub mod verbs;
pub mod vm;

pub use profile::NicProfile;
pub use testbed::{Testbed, TestbedError};
