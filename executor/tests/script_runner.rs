//! Packet scripts without a simulator: observations are made by hand, or come from a real stack.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

#[path = "script/bad.rs"]
mod bad;
#[path = "script/captures.rs"]
mod captures;
#[path = "script/config.rs"]
mod config;
#[path = "script/docs.rs"]
mod docs;
#[path = "script/hand.rs"]
mod hand;
#[path = "script/mismatches.rs"]
mod mismatches;
#[path = "script/recorded.rs"]
mod recorded;
