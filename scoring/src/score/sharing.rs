//! Transmission selection (001 §6.2.1): traffic classes that do not get what the others leave of the link.

use std::collections::BTreeMap;

use corpus::{Ets, Host, TestConfig};
use dumper::{Nanos, Observation, Trace};

use super::baseline::Baseline;
use super::spacing::{Gap, Gaps, typical};
use crate::Analysis;
use crate::anomaly::{Anomaly, Evidence, Role, Who};
use crate::rules::Rule;
use crate::sides::{Side, Sides};
use crate::thresholds::{FEWEST_GAPS, IDLE_PERCENT, STAMPS_APART, WITHHELD_PERCENT};

/// How a host selects between its classes, and what each sends.
type Classes<'a> = (&'a Ets, BTreeMap<u8, Vec<Gap>>);

/// What the classes of a test's hosts send, where a host selects between them.
pub(super) struct Sharing<'a> {
    /// The requester's and the responder's.
    hosts: [Option<Classes<'a>>; 2],
}

/// What a class gets of a link, where others leave it more.
struct Withheld {
    class: u8,
    strict: bool,
    /// Time from one of its packets to the next, in picoseconds, and what one takes.
    gap: u64,
    usual: u64,
    /// Part of the link that its weight guarantees, in percent.
    guaranteed: f64,
    /// The first gap that shows it.
    first: Gap,
}

impl<'a> Sharing<'a> {
    /// `None` where no host has transmission selection configured.
    pub(super) fn of(
        config: &'a TestConfig,
        observation: &Observation,
        analysis: &Analysis,
        sides: &Sides,
    ) -> Option<Self> {
        let hosts = [&config.requester, &config.responder];
        hosts.iter().find(|host| host.ets.is_some())?;
        let class = |side: Side, connection| class_of(hosts[side.index()], connection);
        let [requester, responder] = Gaps::of(observation, analysis, sides, class).hosts;
        let of = |host: &'a Host, classes| Some((host.ets.as_ref()?, classes));
        Some(Self { hosts: [of(&config.requester, requester), of(&config.responder, responder)] })
    }

    /// Whether enough was sent in the middle of messages to compare it with a test without transmission selection.
    pub(super) fn can_be_compared(&self) -> bool {
        self.classes().any(|(_, _, gaps)| gaps.len() >= FEWEST_GAPS)
    }

    /// The most weighted classes that a host sent data in.
    pub(super) fn weighted_classes(&self) -> usize {
        let weighted = |host: &Option<Classes<'_>>| {
            let classes =
                host.iter().flat_map(|(ets, classes)| classes.keys().map(move |class| (ets, class)));
            classes.filter(|(ets, class)| !ets.strict.contains(class)).count()
        };
        self.hosts.iter().map(weighted).max().unwrap_or(0)
    }

    fn classes(&self) -> impl Iterator<Item = (Side, u8, &[Gap])> {
        [Side::Requester, Side::Responder].into_iter().zip(&self.hosts).flat_map(|(side, host)| {
            let classes = host.iter().flat_map(|(_, classes)| classes);
            classes.map(move |(class, gaps)| (side, *class, &gaps[..]))
        })
    }

    /// How many times the bandwidth that a class used it could have used, of what others left; at least 1.
    pub(super) fn idle_share(&self, reference: &Baseline) -> f64 {
        let share = |(side, _, gaps): (Side, u8, &[Gap])| {
            let usual = reference.spacing_ps[side.index()];
            let left: u64 = gaps.iter().map(|gap| idle(gap, usual)).sum();
            let used = usual * gaps.len() as u64;
            if used == 0 { 1.0 } else { 1.0 + left as f64 / used as f64 }
        };
        self.classes().map(share).fold(1.0, f64::max)
    }

    /// The anomalies, one for each class that does not get what others leave.
    pub(super) fn anomalies(&self, trace: &Trace, reference: &Baseline) -> Vec<Anomaly> {
        let withheld = self.classes().filter_map(|(side, class, gaps)| {
            let (ets, _) = self.hosts[side.index()].as_ref()?;
            Withheld::of(class, gaps, ets, reference.spacing_ps[side.index()])
        });
        withheld.map(|class| class.anomaly(trace)).collect()
    }
}

/// The class that a host sends a connection's data in.
fn class_of(host: &Host, connection: u32) -> u8 {
    host.traffic_class.as_ref().and_then(|classes| classes.of(connection)).unwrap_or(0)
}

/// How long of a gap the link stood idle, in picoseconds, if each packet takes as long as a usual one.
fn idle(gap: &Gap, usual: u64) -> u64 {
    (gap.took.0 * 1_000).saturating_sub(u64::from(gap.packets) * usual)
}

/// The part of the link that a class can count on, in percent: a strict one all of it.
fn guaranteed_percent(ets: &Ets, class: u8) -> f64 {
    if ets.strict.contains(&class) {
        return 100.0;
    }
    let weights = (0..).zip(&ets.weights).filter(|(other, _)| !ets.strict.contains(other));
    let all: u32 = weights.map(|(_, weight)| u32::from(*weight)).sum();
    let own = ets.weights.get(usize::from(class)).copied().unwrap_or(0);
    f64::from(own) * 100.0 / f64::from(all.max(1))
}

impl Withheld {
    fn of(class: u8, gaps: &[Gap], ets: &Ets, usual: u64) -> Option<Self> {
        let guaranteed = guaranteed_percent(ets, class);
        let is_withheld = |gap: &&Gap| {
            let idle = idle(gap, usual);
            idle * 100 > u64::from(gap.packets) * usual * IDLE_PERCENT && idle > STAMPS_APART.0 * 1_000
        };
        let withheld: Vec<&Gap> = gaps.iter().filter(is_withheld).collect();
        let first = **withheld.first()?;
        if usual == 0
            || guaranteed == 0.0
            || withheld.len() < FEWEST_GAPS
            || (withheld.len() * 100) < gaps.len() * WITHHELD_PERCENT
        {
            return None;
        }
        // Where nothing of others is in between, gaps are what its limit makes them. Elsewhere it may wait for a packet
        // that is being sent, and catch up.
        let alone = withheld.iter().filter(|gap| gap.packets == 1).map(|gap| gap.took).collect();
        let gap = match typical(alone) {
            0 => mean_of_runs(gaps, &withheld),
            typical => typical,
        };
        let strict = ets.strict.contains(&class);
        Some(Self { class, strict, gap, usual, guaranteed, first })
    }

    fn anomaly(&self, trace: &Trace) -> Anomaly {
        let Self { class, strict, gap, usual, guaranteed, first } = self;
        let used = *usual as f64 * 100.0 / *gap as f64;
        let [from, to] = [first.from, first.to].map(|at| &trace.records()[at as usize]);
        let what = format!(
            "class {class}, which {guaranteed:.0} % of the link are guaranteed, gets {used:.0} % while the others leave more"
        );
        let evidence = Evidence::packets([to.sequence, from.sequence])
            .with_number("class", u64::from(*class))
            .with_number("guaranteed-percent", guaranteed.round() as u64)
            .with_number("used-percent", used.round() as u64)
            .with_number("ceiling-percent", (used * 100.0 / guaranteed).round() as u64)
            .with_time("gap", Nanos(gap.div_ceil(1_000)))
            .with_time("usual-gap", Nanos(usual.div_ceil(1_000)));
        Anomaly {
            rule: Rule::BandwidthWithheld,
            who: Who { role: Role::Port, address: Some(trace.flow(to).source), connection: None },
            state: if *strict { "strict" } else { "weighted" },
            what,
            evidence,
        }
    }
}

/// Mean time from packet to packet, in picoseconds, from the first to the last withheld gap of each run.
fn mean_of_runs(gaps: &[Gap], withheld: &[&Gap]) -> u64 {
    let mut ends: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for gap in withheld {
        ends.entry(gap.run).or_insert((gap.from, gap.to)).1 = gap.to;
    }
    let inside = |gap: &&Gap| ends.get(&gap.run).is_some_and(|(from, to)| gap.from >= *from && gap.to <= *to);
    let (count, took) =
        gaps.iter().filter(inside).fold((0, 0), |(count, took), gap| (count + 1, took + gap.took.0));
    took * 1_000 / count.max(1)
}
