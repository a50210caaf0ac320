//! Causes of expiries of the ACK timer: a table over what the trace shows of the oldest packet that is missing.

mod table;
mod watch;

pub(crate) use table::Answer;
pub use table::ExpiryCause;
pub(crate) use watch::Watch;
