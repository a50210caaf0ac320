//! The tables of all machines, for reports, docs and tests.

use crate::analyzers::Analyzer;
use crate::flow_table::tables::entry;
use crate::go_back_n::tables::{answers, requester, responder};
use crate::machines::MOST_TRANSITIONS;
use crate::machines::table::{Next, describe, diagram};
use crate::rules::Clause;
use crate::selective_repeat::tables::{receiver, sender};

/// A machine of the tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Machine {
    /// Go-back-N: what the requester sends.
    Requester,
    /// Go-back-N: what the responder acknowledges.
    Responder,
    /// Go-back-N: how the responder answers Reads and atomics.
    Answers,
    /// Selective repeat: a request at the requester.
    Sender,
    /// Selective repeat: a request at the responder.
    Receiver,
    /// The entry of a flow.
    Entry,
}

impl Machine {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Requester, Self::Responder, Self::Answers, Self::Sender, Self::Receiver, Self::Entry];

    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Responder => "responder",
            Self::Answers => "responder of Reads",
            Self::Sender => "request at the requester, selective repeat",
            Self::Receiver => "request at the responder, selective repeat",
            Self::Entry => "entry of a flow table",
        }
    }

    /// The analyzer that it is of.
    #[must_use]
    pub const fn analyzer(self) -> Analyzer {
        match self {
            Self::Requester | Self::Responder | Self::Answers => Analyzer::GoBackN,
            Self::Sender | Self::Receiver => Analyzer::SelectiveRepeat,
            Self::Entry => Analyzer::FlowTable,
        }
    }
}

const _: () = assert!(entry::END <= MOST_TRANSITIONS, "each transition has a number");

/// A transition of the tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transition {
    /// Its number.
    pub number: u16,
    /// Its machine.
    pub machine: Machine,
    /// State before it, and the event.
    pub name: String,
    /// True if it breaks a rule: a NIC that conforms does not make it.
    pub breaks_rule: bool,
}

/// Runs a macro for every machine, with its module and its title.
macro_rules! for_each_machine {
    ($act:ident) => {
        $act!(Machine::Requester, requester, "Requester: what it sends");
        $act!(Machine::Responder, responder, "Responder: what it acknowledges");
        $act!(Machine::Answers, answers, "Responder: how it answers Reads and atomics");
        $act!(Machine::Sender, sender, "Requester with selective repeat: one PSN");
        $act!(Machine::Receiver, receiver, "Responder with selective repeat: one PSN");
        $act!(Machine::Entry, entry, "Entry of a flow table");
    };
}

/// Every transition that can be made.
#[must_use]
pub fn transitions() -> Vec<Transition> {
    let mut all = Vec::new();
    macro_rules! list {
        ($machine:expr, $tables:ident, $title:literal) => {
            for state in $tables::State::ALL {
                for event in $tables::Event::ALL {
                    let next = state.on(*event);
                    if !matches!(next, Next::Never) {
                        all.push(Transition {
                            number: state.transition(*event) as u16,
                            machine: $machine,
                            name: format!("{}: {event:?}", state.name()),
                            breaks_rule: next.broken().is_some(),
                        });
                    }
                }
            }
        };
    }
    for_each_machine!(list);
    all
}

/// A table, as text and as a Mermaid state diagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    /// Its machine.
    pub machine: Machine,
    /// Title.
    pub title: &'static str,
    /// One line a row.
    pub text: String,
    /// The diagram.
    pub diagram: String,
}

/// The tables of all machines.
pub fn describe_tables() -> Vec<Described> {
    let mut all = Vec::new();
    macro_rules! show {
        ($machine:expr, $tables:ident, $title:literal) => {
            let (text, diagram) = (describe($tables::ROWS), diagram($tables::ROWS));
            all.push(Described { machine: $machine, title: $title, text, diagram });
        };
    }
    for_each_machine!(show);
    all
}

/// The clause of every line of the tables.
pub fn table_clauses() -> Vec<Clause> {
    let mut all = Vec::new();
    macro_rules! list {
        ($machine:expr, $tables:ident, $title:literal) => {
            all.extend($tables::ROWS.iter().map(|row| row.clause));
        };
    }
    for_each_machine!(list);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_transition_has_a_number_of_its_own() {
        let all = transitions();
        assert!(all.is_sorted_by_key(|transition| transition.number));
        assert!(all.iter().zip(&all[1..]).all(|(one, next)| one.number < next.number));
        assert!(usize::from(all[all.len() - 1].number) < MOST_TRANSITIONS);
        assert!(all.iter().any(|transition| transition.breaks_rule));
        let taken = responder::State::InOrder.transition(responder::Event::TakeExpected);
        let named = all.into_iter().find(|transition| usize::from(transition.number) == taken).unwrap();
        assert_eq!((named.machine, &*named.name), (Machine::Responder, "in-order: TakeExpected"));
    }
}
