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
pub mod table;
pub mod tables;
mod tracker;
mod transitions;
mod window;

use crate::rules::Clause;
pub(crate) use answers::REMEMBERED_REQUESTS;
pub use belief::{Belief, Ordered};
pub use end_at_copies::EndAtCopies;
pub use expiries::{Expiries, Stuck};
pub use ledger::TrackerCounts;
pub use shared_path::SharedPath;
pub use tracker::{Beliefs, ConnectionTracker, Findings};
pub use transitions::{Machine, Situation, Transition, Transitions, transitions};

/// The go-back-N tables, each with its title, as text and as a Mermaid state diagram.
pub fn describe_tables() -> [(&'static str, String, String); 3] {
    macro_rules! show {
        ($title:literal, $machine:ident) => {
            ($title, table::describe(tables::$machine::ROWS), table::diagram(tables::$machine::ROWS))
        };
    }
    [
        show!("Requester: what it sends", requester),
        show!("Responder: what it acknowledges", responder),
        show!("Responder: how it answers Reads and atomics", answers),
    ]
}

/// The clause of every line of the go-back-N tables.
pub fn table_clauses() -> impl Iterator<Item = Clause> {
    let requester = tables::requester::ROWS.iter().map(|row| row.clause);
    let responder = tables::responder::ROWS.iter().map(|row| row.clause);
    let answers = tables::answers::ROWS.iter().map(|row| row.clause);
    requester.chain(responder).chain(answers)
}
