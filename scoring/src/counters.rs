//! Counters against the trace (Lumina §4 and §6.2.4).

use std::sync::LazyLock;

use dumper::HostCounters;
use serde::{Deserialize, Serialize};

use crate::anomaly::{Anomalies, Anomaly, CounterEvidence, Evidence, Role, Who};
use crate::cause::Cause;
use crate::pauses::counts_pauses;
use crate::rules::Rule;
use crate::see::facts::HostFacts;

impl Cause {
    const fn count(self, facts: &HostFacts) -> u64 {
        match self {
            Self::PacketsSent => facts.packets_sent,
            Self::PacketsDelivered => facts.packets_delivered,
            Self::DuplicateRequests => facts.duplicate_requests,
            Self::SequenceNaksSent => facts.sequence_naks_sent,
            Self::SequenceNaksHeard => facts.sequence_naks_heard,
            Self::SequenceNaksWithProgress => facts.sequence_naks_with_progress,
            Self::RnrNaksHeard => facts.rnr_naks_heard,
            Self::ImpliedNaks => facts.implied_naks,
            Self::Timeouts => facts.timeouts,
            Self::Retransmissions => facts.retransmissions,
            Self::MarkedDelivered => facts.marked_delivered,
            Self::CnpsSent => facts.cnps_sent,
            Self::CnpsDelivered => facts.cnps_delivered,
            Self::CorruptReceived => facts.corrupt_received,
        }
    }
}

impl Cause {
    /// Returns true if only packets that reached the host's transport count: a host that discards packets
    /// before may count fewer than the trace shows.
    const fn is_of_arrivals(self) -> bool {
        !matches!(self, Self::PacketsSent | Self::SequenceNaksSent | Self::CnpsSent | Self::CorruptReceived)
    }

    /// The part of the NIC that counts it, where both hosts have one at work.
    pub(crate) const fn counted_by(self) -> Option<Role> {
        match self {
            Self::MarkedDelivered | Self::CnpsSent => Some(Role::NotificationPoint),
            Self::CnpsDelivered => Some(Role::ReactionPoint),
            Self::PacketsSent | Self::PacketsDelivered | Self::CorruptReceived => Some(Role::Port),
            _ => None,
        }
    }

    /// The least and the most that a host may have counted.
    const fn bounds(self, facts: &HostFacts) -> (u64, u64) {
        let counted = self.count(facts);
        let doubts = &facts.doubts;
        match self {
            Self::Timeouts => (counted, counted + doubts.timeouts),
            Self::DuplicateRequests => (counted, counted + doubts.duplicate_requests),
            Self::SequenceNaksHeard => (counted - doubts.sequence_naks_heard, counted),
            Self::SequenceNaksWithProgress => (counted, facts.sequence_naks_heard),
            Self::RnrNaksHeard => (counted - doubts.rnr_naks_heard, counted),
            Self::ImpliedNaks => (counted - doubts.implied_naks, counted + doubts.more_implied_naks),
            Self::Retransmissions => (counted - doubts.retransmissions, counted),
            _ => (counted, counted),
        }
    }
}

/// Cause of a counter's increase, where it is known.
pub(crate) fn cause_of(name: &str) -> Option<Cause> {
    MEANINGS.iter().find(|meaning| meaning.name == name).map(|meaning| meaning.cause)
}

/// The counters that something moves.
pub fn names(causes: &'static [Cause]) -> impl Iterator<Item = &'static str> {
    MEANINGS.iter().filter(|meaning| causes.contains(&meaning.cause)).map(|meaning| &meaning.name[..])
}

/// Comparison of a counter with the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Compare {
    Exact,
    Moves,
    AtLeast,
    AtMost,
}

impl Compare {
    const fn agrees(self, moved: u64, (least, most): (u64, u64)) -> bool {
        match self {
            Self::Exact => moved >= least && moved <= most,
            Self::Moves => (moved > 0 || least == 0) && (moved == 0 || most > 0),
            Self::AtLeast => moved >= least,
            Self::AtMost => moved <= most,
        }
    }
}

/// One known counter.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Meaning {
    name: String,
    cause: Cause,
    compare: Compare,
    /// A packet that it counts was intact and has reached the transport.
    #[serde(default)]
    proves_receipt: bool,
}

#[derive(Deserialize)]
struct Meanings {
    counter: Vec<Meaning>,
}

/// The shipped table of counters.
static MEANINGS: LazyLock<Vec<Meaning>> = LazyLock::new(|| {
    let table: Meanings =
        toml::from_str(include_str!("../data/counters.toml")).expect("the shipped table is parsed by a test");
    table.counter
});

/// Whether a counter counts packets that a receiver discarded (names as the vendors' tools match them).
pub(crate) fn counts_discards(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.starts_with("tx_") && (name.contains("discard") || name.contains("out_of_buffer"))
}

/// Packets that a host discarded for reasons that the trace does not show: those with a wrong ICRC were corrupted on
/// the way, as far as the injector did it. `None` where no counter says.
pub(crate) fn discards(counters: &HostCounters, facts: &HostFacts) -> Option<u64> {
    let corrupted = facts.corrupt_received;
    let broken =
        counters.moved("rx_icrc_encapsulated").map_or(0, |counted| counted.saturating_sub(corrupted));
    let mut moved = counters
        .names()
        .filter(|name| counts_discards(name))
        .filter_map(|name| counters.moved(name))
        .peekable();
    if moved.peek().is_none() && broken == 0 {
        return received_all(counters, facts).then_some(0);
    }
    Some(moved.sum::<u64>() + broken)
}

/// Returns true if a host counts more duplicates than the trace shows, if its NAKs are true: it had packets that it NAKed.
pub(crate) fn had_more(counters: &HostCounters, facts: &HostFacts) -> bool {
    let most = Cause::DuplicateRequests.bounds(facts).1;
    names(&[Cause::DuplicateRequests]).filter_map(|name| counters.moved(name)).any(|moved| moved > most)
}

/// Whether a counter proves that every intact packet reached the transport: it moved exactly as often as packets left
/// the switch towards the host, and nothing else can have moved it.
pub(crate) fn received_all(counters: &HostCounters, facts: &HostFacts) -> bool {
    let equals = |meaning: &Meaning| counters.moved(&meaning.name) == Some(meaning.cause.count(facts));
    facts.packets_delivered > 0
        && facts.packets_unclear == 0
        && MEANINGS.iter().any(|meaning| meaning.proves_receipt && equals(meaning))
}

/// Counters of a meaning that is known whose values are lower after the test than before it: their increase is not known.
pub(crate) fn decreased(counters: &HostCounters) -> impl Iterator<Item = &str> {
    let is_known = |name: &str| counts_discards(name) || counts_pauses(name) || cause_of(name).is_some();
    counters.names().filter(move |name| counters.moved(name).is_none() && is_known(name))
}

/// What became of one host's counters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CounterReport {
    /// Counters compared with the trace.
    pub compared: Vec<CounterEvidence>,
    /// Counters that the trace cannot check: the host discarded packets that the trace shows delivered, or
    /// its timer is so short that links hide when it expires.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// Counters that moved and whose meaning is not known here: not compared.
    pub unused: Vec<String>,
}

/// Compares a host's counters with the trace; `all_arrived` unless the host discarded packets, unknown
/// without such a counter, `received_all` if that is proven, `timer_shows` unless its timer is too short for the switch to see its expiries.
pub(crate) fn compare(
    counters: &HostCounters,
    facts: &HostFacts,
    (all_arrived, received_all, timer_shows): (Option<bool>, bool, bool),
    who: Who,
    anomalies: &mut Anomalies,
) -> CounterReport {
    let mut report = CounterReport { compared: Vec::new(), undecided: Vec::new(), unused: Vec::new() };
    for name in counters.names() {
        let Some(moved) = counters.moved(name) else { continue };
        let Some(meaning) = MEANINGS.iter().find(|meaning| meaning.name == name) else {
            // Discards excuse missing packets, pauses excuse late ones, and both are compared with nothing: the switch does not
            // see them.
            if moved > 0 && !counts_discards(name) && !counts_pauses(name) {
                report.unused.push(name.to_owned());
            }
            continue;
        };
        let (least, most) = meaning.cause.bounds(facts);
        // Something may be missing where discards are not counted; and a duplicate may be discarded without a trace, unless
        // it is proven that all was received. A counter that does not move at all is another matter.
        let may_be_missing =
            all_arrived.is_none() || meaning.cause == Cause::DuplicateRequests && !received_all;
        let fewer_arrived = all_arrived == Some(false) || may_be_missing && moved > 0 && moved < least;
        let hidden = (fewer_arrived && meaning.cause.is_of_arrivals())
            || (!timer_shows && meaning.cause == Cause::Timeouts);
        if hidden {
            report.undecided.push(meaning.name.clone());
            continue;
        }
        let expected = meaning.cause.count(facts);
        let evidence = CounterEvidence { name: meaning.name.clone(), moved, expected };
        // A packet that was discarded before its ICRC was checked.
        let least =
            if all_arrived == Some(false) && meaning.cause == Cause::CorruptReceived { 0 } else { least };
        if !meaning.compare.agrees(moved, (least, most)) {
            anomalies.push(Anomaly {
                rule: Rule::CounterDiffers,
                who,
                state: meaning.name.as_str().into(),
                what: format!("counts {moved} instead of {expected} in {name}"),
                evidence: Evidence { counters: vec![evidence.clone()], ..Evidence::default() },
            });
        }
        report.compared.push(evidence);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_table_parses_and_names_each_counter_once() {
        let mut names: Vec<&str> = MEANINGS.iter().map(|meaning| &meaning.name[..]).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(count > 20);
    }
}
