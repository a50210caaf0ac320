//! Stages of the pipeline behind the events, which act on every packet: copies, and losses at random.

mod keyed;
mod loss;
mod repeat;

pub use keyed::{Stage, draw};
pub(crate) use loss::Loss;
pub use loss::LossRule;
pub(crate) use repeat::Repeats;
