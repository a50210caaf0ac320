//! The models of NICs against what was published (Lumina §6, Lumina (preprint) §6).

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod cx4_lx;
mod cx5;
mod cx6_dx;
mod e810;
mod interoperability;
mod latencies;
mod marks;
mod measure;
#[path = "../support/mod.rs"]
mod support;
mod time_outs;
