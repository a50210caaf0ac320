//! Further symptoms of a fault in a trace, by its mechanism, and no more: a second fault that is none of
//! these symptoms is found in the same test, and one that is, in every test in which it comes first or alone.

use super::rows::Rule;
use crate::cause::Cause;

/// Further symptoms, in a test, of the fault that breaks a rule.
#[derive(Debug)]
pub struct Consequence {
    /// Rules that seem broken from then on, on the same connection.
    pub here: &'static [Rule],
    /// The same, on any connection.
    pub elsewhere: &'static [Rule],
    /// Causes of the counters, of either host, that then differ from the trace.
    pub counters: &'static [Cause],
    /// Its symptoms may come before anything shows it for certain.
    pub shows_late: bool,
    /// Mechanism from the fault to its symptoms.
    pub reason: &'static str,
}

/// A consequence without symptoms yet, and its mechanism.
pub(super) const fn because(reason: &'static str) -> Consequence {
    Consequence { here: &[], elsewhere: &[], counters: &[], shows_late: false, reason }
}
