//! Packet scripts: tests that read as packets. One file is one test: the traffic, the packets that are
//! expected to enter the switch in order, the injector's actions on them, and the expectations for the end.
//!
//! This is the language alone: a [`Script`], [`parse`], and `Display`, which writes a script so that it reads
//! back the same. The meaning of a script (a test configuration, and the comparison with an observation) is
//! the runner's matter. `docs/packet-scripts.md` is the description for users.

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
    Injection, Messages, Operand, Packet, Post, PostVerb, SETTABLE, STATUSES, Scope, Script, Setting, Step,
    Target,
};
pub use errors::{At, MAX_PROBLEMS, Placed, Problem, ScriptErrors};
pub use found::{Found, FoundAnomaly};
pub use name::Name;
pub use parse::{MAX_BYTES, MAX_GROUP, MAX_PACKETS, parse};
pub use span::{Span, Unit, Window};
pub use words::nearest;
