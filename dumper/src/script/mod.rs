//! Packet scripts: tests that read as packets. One file is one test: the traffic, the packets that are expected to
//! enter the switch in order, what the injector does to them, and what must hold in the end.
//!
//! This is the language alone: a [`Script`], [`parse`], and `Display`, which writes a script so that it reads back
//! the same. What a script means (a test configuration, and whether an observation fits) is the runner's matter.
//! `docs/packet-scripts.md` is the description for users.

mod ast;
mod errors;
mod found;
mod name;
mod parse;
mod print;
mod span;
mod words;

pub use ast::{
    Action, Anomalies, Connections, ControlKind, Delivered, Direction, Expectation, Expected, Field, Host,
    Injection, Messages, Packet, Post, PostVerb, SETTABLE, STATUSES, Scope, Script, Setting, Step, Target,
};
pub use errors::{At, MAX_PROBLEMS, Placed, Problem, ScriptErrors};
pub use found::FoundAnomaly;
pub use name::Name;
pub use parse::{MAX_BYTES, MAX_GROUP, MAX_PACKETS, parse};
pub use span::{Span, Unit, Window};
pub use words::nearest;
