//! Go-back-N: the specification as transition tables, and the tracker that feeds them a connection's packets.
//!
//! Two machines of the tracker see each packet twice: when it *enters* the switch, as an act of its sender,
//! and when it *leaves*, as something that its receiver may know from then on. A receiver is judged only by
//! delivered packets; a packet that is still on its way to it counts as possibly known and possibly not
//! ("judging from the middle").

mod answers;
mod belief;
mod end_at_copies;
mod expiries;
mod fatal;
mod ledger;
mod packet;
mod requester;
mod responder;
mod shared_path;
mod start;
pub mod tables;
mod tracker;
mod window;

pub(crate) use answers::REMEMBERED_REQUESTS;
pub use belief::{Belief, Ordered};
pub use end_at_copies::EndAtCopies;
pub use expiries::{Expiries, Stuck};
pub use ledger::TrackerCounts;
pub use shared_path::SharedPath;
pub use tracker::{Beliefs, ConnectionTracker, Findings};
