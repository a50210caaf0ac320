//! Observations of a test: RoCEv2 wire formats, mirror metadata, capture files, traces, the integrity check
//! and the [`Observation`] that every testbed hands to the analyzers.
//!
//! Imports no other room. A capture becomes a [`Trace`] through [`capture::read`]; a folder of results becomes
//! an [`Observation`] through [`observation::folder`].

mod action;
pub mod capture;
mod connection;
mod event;
pub mod integrity;
pub mod mirror;
pub mod observation;
pub mod pool;
mod psn;
pub mod ring;
pub mod script;
pub mod serve;
#[cfg(feature = "testing")]
pub mod testing;
mod time;
pub mod timers;
pub mod trace;
pub mod wire;

pub use action::{ActionKind, Form, Leaves};
pub use connection::{Connection, Endpoint};
pub use event::{Event, Exit, Fate};
pub use observation::{
    Clock, Completion, Counters, Delivery, HostCounters, LogLine, Observation, SwitchCounters,
};
pub use psn::Psn;
pub use time::Nanos;
pub use trace::{Flow, FlowId, Record, Trace};
