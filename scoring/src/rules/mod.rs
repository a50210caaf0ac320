//! The rules that analyzers hold a NIC to: one row each, with its kind, its clauses, its analyzer, its excuse and its
//! consequences.

mod clause;
mod kind;
mod row;
mod rows;

pub use clause::{CLAUSES, Clause, Document};
pub(crate) use clause::{iba, left, remark, scalacn};
pub use kind::{Kind, Severity};
use row::Excuse;
pub use rows::{Consequence, Rule};

use crate::analyzers::Analyzer;

impl Rule {
    /// The rules of an analyzer.
    pub fn of(analyzer: Analyzer) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |rule| rule.analyzer() == analyzer)
    }

    /// The clauses that the rule is written in, in one line.
    pub fn source(self) -> String {
        Clause::list(self.clauses())
    }

    /// Returns true if packets missing from the capture could explain the broken rule. A plain capture has
    /// holes that nothing shows: packets lost before it, behind it, or by the capturing program.
    pub const fn excused_by_unseen_packets(self) -> bool {
        matches!(self.excuse(), Excuse::UnseenPackets)
    }
}
