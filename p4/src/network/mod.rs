//! Stages of the pipeline behind the events, which act on every packet: copies, losses at random, and paths.

mod keyed;
mod loss;
mod paths;
mod repeat;

pub use keyed::{Stage, draw};
pub(crate) use loss::Loss;
pub use loss::LossRule;
pub(crate) use paths::{Passage, Paths};
pub use paths::{PathRule, Spread};
pub use repeat::REMEMBERED;
pub(crate) use repeat::Repeats;
