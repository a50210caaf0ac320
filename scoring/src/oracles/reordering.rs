//! Goodput under reordering (LEFT §2.1, §4.2): packets overtake each other, none is lost, and the goodput collapses.

use corpus::TestConfig;
use dumper::{Fate, Observation, Trace};

use super::baseline::{Baseline, discards, goodput};
use crate::Analysis;
use crate::anomaly::{Anomaly, Evidence, Role, Who};
use crate::reorder::Reordering;
use crate::rules::Rule;
use crate::thresholds::COLLAPSES_BELOW_PERCENT;

/// A test whose packets only overtook each other.
pub(crate) struct Reordered<'a> {
    config: &'a TestConfig,
    observation: &'a Observation,
    /// Of all packets together towards the responder and the requester.
    towards: [Reordering; 2],
}

impl<'a> Reordered<'a> {
    /// `None` where a packet was lost, or none was overtaken, and of tests without `[[network.path]]`: an event that delays a packet
    /// costs goodput by its nature. A path without delay asks for the comparison all the same.
    pub(crate) fn of(
        config: &'a TestConfig,
        observation: &'a Observation,
        analysis: &Analysis,
    ) -> Option<Self> {
        let towards = Reordering::of_all(&analysis.reordering);
        let overtakes = towards.iter().any(|one| one.reordered > 0);
        let asks = !config.network.paths.is_empty() && config.reorders();
        (overtakes && asks && !loses(&observation.trace)).then_some(Self { config, observation, towards })
    }

    /// Returns true if the goodput may have suffered, so that a run over the slowest path should show it. One event alone keeps few
    /// packets: there a NAK or a retransmission has to show that the NIC minds.
    pub(crate) fn is_suspicious(&self) -> bool {
        let minds = |one: &Reordering| one.spurious_naks + one.spurious_retransmissions > 0;
        self.config.network.paths.len() > 1 || self.towards.iter().any(minds)
    }

    /// The anomaly, given the run over the slowest path.
    pub(crate) fn anomaly(&self, one_path: &Baseline) -> Option<Anomaly> {
        let (duration, reached) = goodput(self.observation.completions());
        let alone = one_path.goodput_bps;
        if alone <= 0.0 || reached * 100.0 >= alone * COLLAPSES_BELOW_PERCENT as f64 {
            return None;
        }
        let [to_responder, to_requester] = &self.towards;
        let (role, most) = if to_responder.reordered >= to_requester.reordered {
            (Role::Responder, to_responder)
        } else {
            (Role::Requester, to_requester)
        };
        let naks: u64 = self.towards.iter().map(|one| one.spurious_naks).sum();
        let repeats: u64 = self.towards.iter().map(|one| one.spurious_retransmissions).sum();
        let hosts = [&self.observation.requester, &self.observation.responder].into_iter().flatten();
        let discarded: u64 = hosts.flat_map(discards).map(|(_, moved)| moved).sum();
        let state = match (discarded, naks) {
            (1.., _) => "discards",
            (0, 1..) => "naks",
            (0, 0) => "slow-receiver",
        };
        let what = format!(
            "{:.3} Gb/s of goodput where packets are overtaken, by up to {} of them, and none is lost, and {:.3} Gb/s over the \
             slowest path alone; {naks} NAKs and {repeats} retransmissions of packets that were not lost",
            reached / 1e9,
            most.extent,
            alone / 1e9
        );
        let ends = self.observation.connections.first();
        let address =
            ends.map(|ends| if role == Role::Requester { ends.requester.ip } else { ends.responder.ip });
        let permille = most.reordered * 1_000 / most.packets.max(1);
        let evidence = Evidence::default()
            .with_number("reordered-permille", permille)
            .with_number("extent-packets", most.extent)
            .with_number("n-reordering", most.n_reordering)
            .with_number("spurious-naks", naks)
            .with_number("spurious-retransmissions", repeats)
            .with_number("discarded-packets", discarded)
            .with_number("goodput-kbps", (reached / 1e3) as u64)
            .with_number("one-path-goodput-kbps", (alone / 1e3) as u64)
            .with_time("late", most.late_ns)
            .with_time("duration", duration)
            .with_time("one-path-duration", one_path.duration);
        let who = Who { role, address, connection: None };
        Some(Anomaly { rule: Rule::GoodputUnderReordering, who, state: state.into(), what, evidence })
    }
}

/// Returns true if a packet did not reach its receiver's link intact.
fn loses(trace: &Trace) -> bool {
    trace.records().iter().any(|record| !matches!(trace.fate(record), Fate::Delivered { .. }))
}
