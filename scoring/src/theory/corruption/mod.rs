//! Time-outs where links damage packets (Gao et al., "Analyzing and Optimizing Packet Corruption in RDMA Network", JCST 2022): how many of
//! each cause a message costs, as the paper prints it and without its approximations, what copies and dummies change, and what
//! those cost.

mod cost;
mod exact;
mod links;
mod plan;
mod printed;
mod protection;
mod sizes;
mod time_outs;

pub use cost::Cost;
pub use exact::{Conditions, Frames, of_message, of_sizes};
pub use links::{Links, per_bit};
pub use plan::{Plan, plan};
pub use printed::{PRINTED_ANSWER, printed};
pub use protection::{Acks, Protection};
pub use sizes::{Sizes, SizesError, WEB_SEARCH};
pub use time_outs::TimeOuts;
