//! Time-outs where links damage packets (Gao et al., "Analyzing and Optimizing Packet Corruption in RDMA Network", JCST 2022): how many of
//! each cause a message costs, as the paper prints it and without its approximations, what copies and dummies change, and what
//! those cost.

mod behaviour;
mod cost;
mod exact;
mod frames;
mod gap;
mod links;
mod observed;
mod outcome;
mod plan;
mod printed;
mod protection;
mod sizes;
mod time_outs;
mod tolerance;

pub use behaviour::{Asking, Behaviour, Chance};
pub use cost::Cost;
pub use exact::{Conditions, beyond, beyond_of_sizes, of_message, of_sizes};
pub use frames::Frames;
pub use links::{Links, per_bit};
pub use observed::{Interval, Observed, Quantity};
pub use plan::{Plan, plan};
pub use printed::{PRINTED_ANSWER, printed};
pub use protection::Protection;
pub use sizes::{Sizes, SizesError, WEB_SEARCH};
pub use time_outs::TimeOuts;
pub use tolerance::{MOST, Tolerated, tolerated};
