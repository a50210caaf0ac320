//! Testbeds, each of which turns a [`corpus::TestConfig`] into a [`dumper::Observation`], and the agent of a host.

pub mod agent;
pub mod guests;
mod lock;
mod nic;
pub mod physical;
pub mod profile;
pub mod remote;
pub mod script;
pub mod sim;
mod testbed;
mod testbeds;
pub mod uml;
pub mod verbs;
pub mod vm;

pub use nic::Nic;
pub use profile::NicProfile;
pub use testbed::{History, SWITCH_LATENCY, Testbed, TestbedError};
pub use testbeds::{TestbedName, Testbeds, WrongTestbed};
