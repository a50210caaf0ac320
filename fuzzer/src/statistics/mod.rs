//! Statistics of times to an event, some of which were not reached: how searches are compared.

mod effect;
mod holm;
mod survival;

pub use effect::{Effect, vargha_delaney};
pub use holm::holm;
pub use survival::{LogRank, Time, curve, log_rank, quantile, restricted_mean};
