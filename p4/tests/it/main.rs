//! Tests of the injector through its public interface, in one binary so that they link once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod actions;
#[cfg(feature = "interfaces")]
mod bmv2;
mod conformance;
mod control;
mod entries;
mod flood;
mod frames;
#[cfg(feature = "interfaces")]
mod interfaces;
mod limits;
mod losses;
mod mirroring;
mod model;
mod packets;
mod paths;
#[cfg(feature = "interfaces")]
mod pool;
mod process;
mod program;
mod programs;
mod reorder;
mod repeats;
mod rewriting;
mod rounds;
mod runtime;
mod support;
mod switching;
mod translation;
mod vectors;
#[cfg(feature = "interfaces")]
mod veth;
