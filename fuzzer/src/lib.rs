//! The command line `lumina-fuzz`, and what stands behind its commands.
//!
//! So far: `analyze` ([`analyze`]) and `analyzers`. The campaign loop, the minimiser and reports come here.

pub mod analyze;
pub mod cli;
