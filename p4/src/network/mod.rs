//! Stages of the pipeline behind the events, which act on every packet: losses at random.

mod keyed;
mod loss;

pub use keyed::{Stage, draw};
pub use loss::{Loss, LossRule};
