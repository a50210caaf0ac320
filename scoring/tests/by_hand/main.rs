//! Known answers: traces written packet by packet, and what must be said of them to the nanosecond.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod discovery;
mod flow_table;
mod hand;
mod latency;
mod mitigation;
mod reordering;
mod score;
mod selective;
mod shares;
mod violations;
mod waiting;
