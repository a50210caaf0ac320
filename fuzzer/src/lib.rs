//! The command line `lumina-fuzz`, and what stands behind its commands.
//!
//! So far: `analyze` ([`analyze`]), `run` ([`run`]), `corpus` ([`entries`]), `analyzers` and `nics`. The campaign loop, the minimiser and
//! reports come here.

pub mod analyze;
pub mod campaign;
pub mod cli;
pub mod entries;
pub mod finding;
pub mod judge;
pub mod measure;
pub mod minimize;
pub mod paper;
pub mod repeat;
pub mod report;
pub mod run;
