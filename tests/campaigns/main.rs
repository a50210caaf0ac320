//! Whole campaigns of the built binary, on simulated NICs. Those that take minutes are `#[ignore]`d here and run by
//! `ci/long`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod blindness;
mod campaign;
mod compare;
mod conforming;
mod copies;
mod corruption;
mod degenerate;
mod discovery;
mod effectiveness;
mod endless;
mod flow_table;
#[cfg(feature = "tmpfs")]
mod full_disk;
#[path = "../given.rs"]
#[allow(dead_code, reason = "these tests need some of it")]
mod given;
mod lanes;
mod long_nights;
mod losses;
mod nic_pairs;
mod noisy;
mod noisy_neighbor;
#[path = "../../executor/tests/random/profiles.rs"]
mod profiles;
mod renamed;
mod reordering;
mod resume;
#[path = "../cli/run.rs"]
#[allow(dead_code, reason = "these tests need some of it")]
mod run;
mod seeds;
mod tolerance;
mod two_quirks;
mod verdict;
