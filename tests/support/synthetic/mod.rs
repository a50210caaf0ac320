//! Synthetic traces: a small event loop of conforming requesters, responders and links that writes a trace as a
//! switch in the middle would see it.
//!
//! It shares no code with the product besides the types of a trace: PSNs are unwrapped 64-bit positions here,
//! and every freedom that the specification leaves is a habit that a test chooses or the dice choose
//! ([`random::world`]). What it writes is conforming by construction, so whatever the analyzers remark on it
//! is a fault of one or the other.

pub mod counters;
mod dice;
mod faults;
mod notifier;
mod packet;
pub mod random;
mod render;
mod requester;
mod responder;
mod spec;
pub mod tape;
mod world;

pub use dice::Dice;
pub use faults::{Action, Fault, Target};
pub use packet::{Direction, Kind, Op, Packet};
pub use render::{anomalies, trace};
pub use spec::{
    Connection, Habits, Host, Links, Message, Notifications, RequesterHabits, ResponderHabits, Scope, Side,
    Verb, World,
};
pub use tape::Tape;
pub use world::{Outcome, Tally, run};
