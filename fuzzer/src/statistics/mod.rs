//! Statistics of searches: times to an event, some of which were not reached, and what is still to be found.

mod discovery;
mod effect;
mod holm;
mod sign;
mod survival;

pub use discovery::discoveries_again;
pub use effect::{Effect, vargha_delaney};
pub use holm::holm;
pub use sign::{Signs, signs};
pub use survival::{LogRank, Time, curve, log_rank, quantile, restricted_mean};
