//! The form of the machines that connections are held to: a table of transitions each, and how often a test made them.

mod counts;
pub mod table;

pub(crate) use counts::MOST_TRANSITIONS;
pub use counts::{Situation, Transitions};
