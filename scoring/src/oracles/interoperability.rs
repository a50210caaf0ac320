//! Interoperability (Lumina §6.2.3): packets of another kind of NIC that a host discards, where neither NIC
//! discards those of its own kind.

use corpus::TestConfig;
use dumper::{HostCounters, Observation};

use super::baseline::{Baseline, discards};
use super::numbers::numbers;
use super::passage::Burst;
use super::{Reference, References};
use crate::Analysis;
use crate::anomaly::{Anomaly, CounterEvidence, Evidence, Role, Who};
use crate::rewritten;
use crate::rules::Rule;
use crate::see::sides::{Side, Sides};
use crate::thresholds::{MORE_AT_ONCE_PERCENT, SUFFERS_BEYOND};

/// A host of a pair of different NICs that discards packets.
pub(crate) struct Discards<'a> {
    host: Side,
    counters: &'a HostCounters,
    /// Number of discarded packets.
    moved: u64,
}

impl<'a> Discards<'a> {
    /// The host that discards most packets, where the test's NICs differ. Names of NICs are compared, and
    /// never looked at.
    pub(crate) fn of(config: &TestConfig, observation: &'a Observation) -> Option<Self> {
        // A NIC discards malformed packets, as it must.
        if config.requester.nic == config.responder.nic || rewritten::rewrites(config) {
            return None;
        }
        let hosts = [(Side::Requester, &observation.requester), (Side::Responder, &observation.responder)];
        let of = |(host, counters): (Side, &'a Option<HostCounters>)| {
            let counters = counters.as_ref()?;
            let moved = discards(counters).map(|(_, moved)| moved).sum();
            Some(Self { host, counters, moved })
        };
        hosts.into_iter().filter_map(of).filter(|one| one.moved > 0).max_by_key(|one| (one.moved, one.host))
    }

    /// Reference runs that tell if the pair is to blame: each NIC with its own kind, and the pair without the
    /// events.
    pub(crate) fn references(analysis: &Analysis) -> Vec<Reference> {
        let without_events = (analysis.event_count > 0).then_some(Reference::WithoutEvents);
        let pairs = [Reference::RequesterWithItself, Reference::ResponderWithItself];
        without_events.into_iter().chain(pairs).collect()
    }

    /// The anomaly, if there is one.
    pub(crate) fn anomaly(
        &self,
        observation: &Observation,
        analysis: &Analysis,
        sides: &Sides,
        references: &References,
    ) -> Option<Anomaly> {
        // Discards that only events cause do not depend on the NIC that sends.
        let always = |usual: &Baseline| usual.discards[self.host.index()] > 0;
        if analysis.event_count > 0 && !references.without_events.as_ref().is_some_and(always) {
            return None;
        }
        let (requesters, responders) = (&references.requester_with_itself, &references.responder_with_itself);
        let (own, other) = match self.host {
            Side::Requester => (requesters, responders),
            Side::Responder => (responders, requesters),
        };
        if [requesters, responders].into_iter().flatten().any(|usual| usual.discards != [0, 0])
            || self.is_overwhelmed(observation, sides, own.as_ref().zip(other.as_ref()))
        {
            return None;
        }
        let rule = match (requesters, responders) {
            (Some(_), Some(_)) => Rule::PairDiscards,
            _ => Rule::DiscardsUnexplained,
        };
        Some(self.describe(rule, observation, analysis))
    }

    /// Returns true if a conforming receiver may have had no room for the packets: a few that arrived at
    /// once, or more at once than from its own kind, by bytes, packets or spacing.
    fn is_overwhelmed(
        &self,
        observation: &Observation,
        sides: &Sides,
        own_and_other: Option<(&Baseline, &Baseline)>,
    ) -> bool {
        let (host, sender) = (self.host.index(), self.host.other().index());
        let burst = Burst::towards(self.host, &observation.trace, sides);
        let more = own_and_other.is_some_and(|(own, other)| {
            let [usual, closer] = [own, other].map(|baseline| baseline.spacing_ps[sender]);
            burst.exceeds(own.bursts[host])
                || usual.min(closer) == 0
                || usual * 100 > closer * MORE_AT_ONCE_PERCENT
        });
        !burst.fits() && (self.moved <= SUFFERS_BEYOND || more)
    }

    fn describe(&self, rule: Rule, observation: &Observation, analysis: &Analysis) -> Anomaly {
        let ends = analysis.connections.first().map(|connection| connection.ends);
        let (who, address) = match self.host {
            Side::Requester => ("requester", ends.map(|ends| ends.requester.ip)),
            Side::Responder => ("responder", ends.map(|ends| ends.responder.ip)),
        };
        let numbers = numbers(observation, analysis);
        let mut repeating: Vec<u32> =
            analysis.retransmissions.iter().map(|entry| numbers[entry.connection - 1]).collect();
        repeating.sort_unstable();
        repeating.dedup();
        let connections = analysis.connections.len();
        let what = match rule {
            Rule::PairDiscards => format!(
                "of the {who} discards {} packets of {connections} connections; neither NIC discards packets of its own kind",
                self.moved
            ),
            _ => format!(
                "of the {who} discards {} packets of {connections} connections; the testbed has no pair of equal NICs to compare",
                self.moved
            ),
        };
        let first = analysis.retransmissions.iter().find_map(|entry| entry.retransmission.or(entry.nack));
        let counters = discards(self.counters).filter(|(_, moved)| *moved > 0);
        let mut evidence = Evidence::packets(first).with_number("connections", connections as u64);
        evidence.counters = counters
            .map(|(name, moved)| CounterEvidence { name: name.to_owned(), moved, expected: 0 })
            .collect();
        evidence.connections = [("repeating", repeating)].into();
        Anomaly {
            rule,
            who: Who { role: Role::Port, address, connection: None },
            state: "".into(),
            what,
            evidence,
        }
    }
}
