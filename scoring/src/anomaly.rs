//! Anomalies that analyzers report: kind, rule, host, evidence.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use dumper::Nanos;
use dumper::script::FoundAnomaly;
use serde::{Deserialize, Serialize};

use crate::causes::ExpiryCause;
use crate::rules::{Kind, Rule};

/// Part of a NIC at fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The end that sends requests.
    Requester,
    /// The end that answers them.
    Responder,
    /// The receiver of data that sends CNPs.
    NotificationPoint,
    /// The sender of data that CNPs are for.
    ReactionPoint,
    /// The port, which all packets of a host pass.
    Port,
    /// The NIC's own switch, with the host's software for its flow table.
    Eswitch,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Requester,
        Self::Responder,
        Self::NotificationPoint,
        Self::ReactionPoint,
        Self::Port,
        Self::Eswitch,
    ];

    /// Its name in signatures, and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Responder => "responder",
            Self::NotificationPoint => "notification-point",
            Self::ReactionPoint => "reaction-point",
            Self::Port => "port",
            Self::Eswitch => "eswitch",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Requester => "requester",
            Self::Responder => "responder",
            Self::NotificationPoint => "notification point",
            Self::ReactionPoint => "reaction point",
            Self::Port => "port",
            Self::Eswitch => "eSwitch",
        })
    }
}

/// The party at fault: the role, the host, and the connection where it is one connection's doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Who {
    /// Part of the NIC.
    pub role: Role,
    /// Address of the host.
    pub address: Option<IpAddr>,
    /// Connection, from 1.
    pub connection: Option<usize>,
}

/// A counter as evidence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CounterEvidence {
    /// Its vendor's name.
    pub name: String,
    /// Increase of the counter.
    pub moved: u64,
    /// Count in the trace; for discards, the increase in the reference run.
    pub expected: u64,
}

/// Evidence of an anomaly.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Evidence {
    /// Packets by mirror sequence number; the first is the one that broke the rule.
    pub packets: Vec<u32>,
    /// Named times in nanoseconds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub times_ns: BTreeMap<&'static str, Nanos>,
    /// Named numbers, their unit in the name: properties of the NIC that were inferred.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<&'static str, u64>,
    /// Counters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterEvidence>,
    /// Named sets of connections, from 1.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub connections: BTreeMap<&'static str, Vec<u32>>,
    /// Named causes of time-outs, and how many each has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub timeouts: BTreeMap<&'static str, BTreeMap<ExpiryCause, usize>>,
}

impl Evidence {
    /// Evidence of packets alone.
    pub fn packets(packets: impl IntoIterator<Item = u32>) -> Self {
        Self { packets: packets.into_iter().collect(), ..Self::default() }
    }

    /// With a named time.
    pub fn with_time(mut self, name: &'static str, time: Nanos) -> Self {
        self.times_ns.insert(name, time);
        self
    }

    /// With a named number.
    pub fn with_number(mut self, name: &'static str, number: u64) -> Self {
        self.numbers.insert(name, number);
        self
    }
}

/// Something that was observed and should not have been.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anomaly {
    /// The rule that was broken; it fixes the kind, the expected behaviour, and the source.
    pub rule: Rule,
    /// The party at fault.
    pub who: Who,
    /// State of the machine that judged, normalised, or the function of a kernel's fault; part of the signature.
    pub state: Cow<'static, str>,
    /// Description, in one sentence with the packet's relative numbers.
    pub what: String,
    /// Evidence.
    pub evidence: Evidence,
}

impl From<&Anomaly> for FoundAnomaly {
    fn from(anomaly: &Anomaly) -> Self {
        Self {
            kind: anomaly.kind().name().to_owned(),
            rule: anomaly.rule.name().to_owned(),
            text: anomaly.what.clone(),
        }
    }
}

impl Anomaly {
    /// Kind of the anomaly.
    pub const fn kind(&self) -> Kind {
        self.rule.kind()
    }

    /// Signature that distinguishes findings: kind, role, rule and, unless that is empty, state; never PSN,
    /// QPN or time.
    pub fn signature(&self) -> String {
        let (kind, role, rule, state) = (self.kind(), self.who.role.name(), self.rule.name(), &self.state);
        let separator = if state.is_empty() { "" } else { "/" };
        format!("{kind}/{role}/{rule}{separator}{state}")
    }
}

/// Most anomalies of one signature that are kept whole. A NIC that breaks a rule breaks it thousands of times;
/// the first ones say all there is, the rest are counted.
pub const MAX_KEPT_PER_SIGNATURE: u64 = 16;

/// Collects anomalies, in the order in which they were seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Anomalies {
    kept: Vec<Anomaly>,
    sightings: BTreeMap<String, u64>,
    /// First packet of evidence of the first sighting of each rule on each connection.
    first: BTreeMap<(Rule, Option<usize>), Option<u32>>,
    /// The trace may have holes that nothing shows.
    lenient: bool,
}

impl Anomalies {
    /// A collection that leaves out anomalies that packets missing from the trace could explain.
    pub fn lenient() -> Self {
        Self { lenient: true, ..Self::default() }
    }

    /// Adds one.
    pub fn push(&mut self, anomaly: Anomaly) {
        if self.lenient && anomaly.rule.excused_by_unseen_packets() {
            return;
        }
        self.push_certain(anomaly);
    }

    /// Adds one that no packet missing from the trace could explain, whatever other sightings of its rule could be.
    pub(crate) fn push_certain(&mut self, anomaly: Anomaly) {
        let packet = anomaly.evidence.packets.first().copied();
        self.first.entry((anomaly.rule, anomaly.who.connection)).or_insert(packet);
        let sightings = self.sightings.entry(anomaly.signature()).or_default();
        *sightings += 1;
        if *sightings <= MAX_KEPT_PER_SIGNATURE {
            self.kept.push(anomaly);
        }
    }

    /// The anomalies that were kept whole.
    pub fn kept(&self) -> &[Anomaly] {
        &self.kept
    }

    /// The same, to add evidence to.
    pub(crate) fn kept_mut(&mut self) -> &mut [Anomaly] {
        &mut self.kept
    }

    /// Returns true if a rule was broken.
    pub(crate) fn has(&self, rule: Rule) -> bool {
        self.first.keys().any(|(broken, _)| *broken == rule)
    }

    /// Number of sightings of each signature, kept or not.
    pub const fn sightings(&self) -> &BTreeMap<String, u64> {
        &self.sightings
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Each rule that was broken on each connection, with the first packet of evidence of its first sighting.
    pub(crate) const fn first(&self) -> &BTreeMap<(Rule, Option<usize>), Option<u32>> {
        &self.first
    }

    /// Number of sightings of signatures of such kinds.
    pub(crate) fn sightings_of(&self, is: impl Fn(Kind) -> bool) -> u64 {
        let mut kinds: BTreeMap<String, bool> = BTreeMap::new();
        for anomaly in &self.kept {
            kinds.entry(anomaly.signature()).or_insert_with(|| is(anomaly.kind()));
        }
        kinds.iter().filter(|(_, counts)| **counts).map(|(signature, _)| self.sightings[signature]).sum()
    }

    /// Orders by the first packet of evidence, so that the order of analyzers does not show.
    pub(crate) fn sort(&mut self) {
        self.kept.sort_by_key(|anomaly| anomaly.evidence.packets.first().copied().unwrap_or(u32::MAX));
    }
}
