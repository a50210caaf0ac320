//! Causes of expiries of the ACK timer: a table over what the trace shows of the oldest packet that is missing.

mod table;
mod watch;

pub(super) use table::Answer;
pub use table::ExpiryCause;
pub(super) use watch::Watch;
