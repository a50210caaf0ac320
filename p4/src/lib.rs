//! The event injector's room: the match-action pipeline in Rust and the translation of relative intents into
//! table entries. It imports `corpus` and `dumper`.
//!
//! [`translate`] combines a test with the run-time metadata of its connections into [`Tables`]; a [`Pipeline`]
//! holds them and gives a [`Verdict`] on each packet. It reads no clock and owns no packet: whoever drives it
//! keeps the packets, does what the verdict says, and brings a held packet's [`Ticket`] back when its time is up.

mod action;
mod flow;
mod hold;
mod packet;
mod pipeline;
mod ports;
mod tables;
mod translate;

pub use action::{Actions, Timing};
pub use flow::MAX_ITER;
pub use hold::{MAX_HOLD, Ticket};
pub use packet::{Kind, Packet};
pub use pipeline::{Pipeline, Verdict};
pub use ports::{Dumper, PortError, Ports};
pub use tables::{Entry, FlowIndex, Key, MAX_ENTRIES, Tables};
pub use translate::{TranslateError, translate};
