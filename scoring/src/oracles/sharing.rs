//! Transmission selection (Lumina §6.2.1): traffic classes that do not get the bandwidth that others leave.

use std::collections::BTreeMap;

use corpus::{Ets, Host, Pattern, TestConfig};
use dumper::{Nanos, Observation, Trace};

use super::baseline::Baseline;
use super::spacing::{Gap, Gaps, middle};
use crate::Analysis;
use crate::anomaly::{Anomaly, Evidence, Role, Who};
use crate::rules::Rule;
use crate::see::sides::{Side, Sides};
use crate::thresholds::{FEWEST_GAPS, IDLE_PERCENT, STAMPS_APART, WITHHELD_PERCENT};

/// Selection of a host between its classes, and the gaps between the packets of each class.
type Classes<'a> = (&'a Ets, BTreeMap<u8, Vec<Gap>>);

/// Packets of the classes of a test's hosts, where a host selects between classes.
pub(crate) struct Sharing<'a> {
    /// The requester's and the responder's.
    hosts: [Option<Classes<'a>>; 2],
}

/// Bandwidth of a class where others leave it more.
struct Withheld {
    class: u8,
    strict: bool,
    /// Time from one of its packets to the next, in picoseconds, and the time that one takes.
    gap: u64,
    usual: u64,
    /// Part of the link that its weight guarantees, in percent.
    guaranteed: f64,
    /// The first gap that shows it.
    first: Gap,
}

impl<'a> Sharing<'a> {
    /// `None` where no host has transmission selection configured.
    pub(crate) fn of(
        config: &'a TestConfig,
        observation: &Observation,
        analysis: &Analysis,
        sides: &Sides,
    ) -> Option<Self> {
        let hosts = [&config.requester, &config.responder];
        hosts.iter().find(|host| host.ets.is_some())?;
        if Self::unjudged(config, analysis).is_some() {
            return None;
        }
        let class = |side: Side, connection| class_of(hosts[side.index()], connection);
        let [requester, responder] = Gaps::of(observation, analysis, sides, class).hosts;
        let of = |host: &'a Host, classes| Some((host.ets.as_ref()?, classes));
        Some(Self { hosts: [of(&config.requester, requester), of(&config.responder, responder)] })
    }

    /// Reason why the shares of a test are not judged, if there is one.
    pub(crate) fn unjudged(config: &TestConfig, analysis: &Analysis) -> Option<&'static str> {
        match config.traffic.pattern {
            Pattern::PingPong => {
                Some("the hosts post in turn, so that what a class leaves may be waiting time")
            }
            Pattern::OneWay => analysis.times.no_distances,
        }
    }

    /// Returns true if enough was sent in the middle of messages to compare it with a test without
    /// transmission selection.
    pub(crate) fn can_be_compared(&self) -> bool {
        self.classes().any(|(_, _, gaps)| stretches(gaps).next().is_some())
    }

    /// The most weighted classes that a host sent data in.
    pub(crate) fn weighted_classes(&self) -> usize {
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

    /// Bandwidth that a class could have used, of what others left, over the bandwidth that it used; at least
    /// 1.
    pub(crate) fn idle_share(&self, reference: &Baseline) -> f64 {
        let share = |(side, _, gaps): (Side, u8, &[Gap])| {
            let usual = reference.spacing_ps[side.index()];
            let left = idle(gaps, usual);
            let used = usual * gaps.len() as u64;
            if used == 0 { 1.0 } else { 1.0 + left as f64 / used as f64 }
        };
        self.classes().map(share).fold(1.0, f64::max)
    }

    /// The anomalies, one for each class that does not get the bandwidth that others leave.
    pub(crate) fn anomalies(&self, trace: &Trace, reference: &Baseline) -> Vec<Anomaly> {
        let withheld = self.classes().filter_map(|(side, class, gaps)| {
            let (ets, _) = self.hosts[side.index()].as_ref()?;
            Withheld::of(class, gaps, ets, reference.spacing_ps[side.index()])
        });
        withheld.map(|class| class.anomaly(trace)).collect()
    }
}

/// The class that a host sends a connection's data in.
pub(crate) fn class_of(host: &Host, connection: u32) -> u8 {
    host.traffic_class.as_ref().and_then(|classes| classes.of(connection)).unwrap_or(0)
}

/// Idle time of the link in some gaps, in picoseconds, if each packet takes as long as a usual one.
fn idle<'g>(gaps: impl IntoIterator<Item = &'g Gap>, usual: u64) -> u64 {
    let add = |(took, packets), gap: &Gap| (took + gap.took.0 * 1_000, packets + u64::from(gap.packets));
    let (took, packets) = gaps.into_iter().fold((0_u64, 0), add);
    took.saturating_sub(packets * usual)
}

/// Gaps in a row, so many that it evens out who waits for whom, and catches up.
fn stretches(gaps: &[Gap]) -> impl Iterator<Item = &[Gap]> {
    gaps.chunk_by(|gap, next| gap.run == next.run).flat_map(|run| run.windows(FEWEST_GAPS))
}

/// Returns true if the link is idle in a stretch, the longest gap left out: that may be a hiccup.
fn is_idle(stretch: &[Gap], usual: u64) -> bool {
    let longest = (0..stretch.len()).max_by_key(|at| stretch[*at].took);
    let others = || (0..stretch.len()).filter(|at| Some(*at) != longest).map(|at| &stretch[at]);
    let packets: u64 = others().map(|gap| u64::from(gap.packets)).sum();
    let idle = idle(others(), usual);
    idle * 100 > packets * usual * IDLE_PERCENT && idle > packets * STAMPS_APART.0 * 1_000
}

/// The part of the link that a class can count on, in percent: a strict one all of it.
pub(crate) fn guaranteed_percent(ets: &Ets, class: u8) -> f64 {
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
        let all = stretches(gaps).count();
        let withheld: Vec<&[Gap]> = stretches(gaps).filter(|stretch| is_idle(stretch, usual)).collect();
        let first = *withheld.first()?.first()?;
        if usual == 0 || guaranteed == 0.0 || withheld.len() * 100 < all * WITHHELD_PERCENT {
            return None;
        }
        let gap = |stretch: &&[Gap]| {
            let took: u64 = stretch.iter().map(|gap| gap.took.0).sum();
            took * 1_000 / stretch.len() as u64
        };
        let gap = middle(withheld.iter().map(gap).collect())?;
        let strict = ets.strict.contains(&class);
        Some(Self { class, strict, gap, usual, guaranteed, first })
    }

    fn anomaly(&self, trace: &Trace) -> Anomaly {
        let Self { class, strict, gap, usual, guaranteed, first } = self;
        let used = *usual as f64 * 100.0 / *gap as f64;
        let [from, to] = [first.from, first.to].map(|at| &trace.records()[at as usize]);
        let what = format!(
            "gives traffic class {class} only {used:.0} % of the link ({guaranteed:.0} % guaranteed) while others leave more idle"
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
            state: if *strict { "strict" } else { "weighted" }.into(),
            what,
            evidence,
        }
    }
}
