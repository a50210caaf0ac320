//! The analyzers against synthetic traces: see `support/synthetic` for what writes them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod causes;
mod common;
mod conforming;
mod counters;
mod deliveries;
mod expiries;
mod judge;
mod latency;
mod notifications;
mod proofs;
mod refused;
mod regressions;
mod requests;
mod retries;
mod robustness;
mod tables;
mod thresholds;
mod unfounded;
mod violations;
