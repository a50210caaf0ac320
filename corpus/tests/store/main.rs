//! The persistent corpus: what it holds, and what of it survives.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod contents;
mod damage;
mod kill;
mod model;
mod opening;
mod samples;
