//! Reordering that a NIC takes before its goodput collapses, by bisection of the paths' delays and of the connections.

use corpus::TestConfig;
use scoring::{Anomaly, Kind, Reordering};

use super::probe::{Probe, Run};
use super::threshold::fewest;
use crate::judge::JudgeError;
use crate::minimize::renumber;

/// Part of a delay to which the largest one that a NIC takes is known.
const PRECISION: u64 = 50;

/// So many connections and fewer are each tried: whether packets overtake each other depends on how connections and paths take turns, and
/// four may take what three and five do not.
const EACH: u32 = 8;

/// Reordering that the NIC of a finding takes; what was not found is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Limits {
    /// Largest delay of the slowest path, in ns.
    pub(super) delay_ns: Option<u64>,
    /// Largest extent of reordering in a test that it takes, in packets.
    pub(super) extent: Option<u64>,
    /// Fewest connections that were seen to collapse with the delay of the finding.
    pub(super) connections: Option<u32>,
}

/// Limits of the NIC that collapses in a test over several paths: its delays are made shorter, in the same ratio, and its
/// connections fewer. Where runs of a test differ, or it has one path, nothing is looked for.
pub(super) fn limits(sprayed: &TestConfig, probe: &mut Probe<'_>) -> Result<Limits, JudgeError> {
    let slowest = sprayed.network.longest_delay_ns();
    let mut limits = Limits::default();
    if !probe.policy().replays_exactly() || sprayed.network.paths.len() < 2 || slowest == 0 {
        return Ok(limits);
    }
    let (mut takes, mut collapses) = (0, slowest);
    while collapses - takes > (collapses / PRECISION).max(1) {
        let middle = takes.midpoint(collapses);
        let run = probe.run(with_slowest(sprayed, middle, slowest))?;
        if is_collapse(run.as_ref()) {
            collapses = middle;
        } else {
            takes = middle;
            limits.extent = run.map(|run| extent(&run));
        }
    }
    limits.delay_ns = Some(takes);
    let most = sprayed.traffic.load.connections();
    let mut collapses = |connections| {
        let run = probe.run(of_connections(sprayed, connections))?;
        Ok::<_, JudgeError>(is_collapse(run.as_ref()))
    };
    for connections in 1..=EACH.min(most) {
        if connections == most || collapses(connections)? {
            limits.connections = Some(connections);
            return Ok(limits);
        }
    }
    // So few are known to be none.
    let mut many_collapse = |connections| Ok::<_, JudgeError>(connections > EACH && collapses(connections)?);
    limits.connections = Some(fewest(most, &mut many_collapse)?);
    Ok(limits)
}

/// Largest extent that the evidence of a finding has.
pub(super) fn extent_of(anomaly: &Anomaly) -> Option<u64> {
    anomaly.evidence.numbers.get("extent-packets").copied()
}

/// Returns true if the goodput collapses, or so much that the test comes to no end.
fn is_collapse(run: Option<&Run>) -> bool {
    run.is_none_or(|run| run.shows(Kind::ReorderCollapse))
}

fn extent(run: &Run) -> u64 {
    let towards = Reordering::of_all(&run.seen().analysis.reordering);
    towards.iter().map(|one| one.extent).max().unwrap_or_default()
}

/// The same test with delays in the same ratio, the longest of them this one.
fn with_slowest(config: &TestConfig, delay_ns: u64, before: u64) -> TestConfig {
    let mut test = config.clone();
    for path in &mut test.network.paths {
        let scaled = u128::from(path.delay_ns) * u128::from(delay_ns) / u128::from(before);
        path.delay_ns = u64::try_from(scaled).unwrap_or(u64::MAX);
    }
    test
}

/// The same test with its first connections.
fn of_connections(config: &TestConfig, connections: u32) -> TestConfig {
    let mut test = config.clone();
    renumber(&mut test, &(1..=connections).collect::<Vec<_>>());
    test
}

#[cfg(test)]
mod tests {
    use corpus::{Load, Verb};

    use super::*;

    #[test]
    fn fewer_connections_are_the_first_ones_with_their_verbs() {
        for load in [
            Load::Same { verb: Verb::Read, connections: 9 },
            Load::Alternating { connections: 9 },
            Load::Split { send: 4, read: 5 },
        ] {
            let mut config = TestConfig::default();
            config.traffic.load = load;
            for connections in 1..=9 {
                let fewer = of_connections(&config, connections).traffic.load;
                assert_eq!(fewer.connections(), connections);
                for (qpn, message) in (1..=connections).flat_map(|qpn| [(qpn, 0), (qpn, 1)]) {
                    assert_eq!(fewer.verb(qpn, message), load.verb(qpn, message), "{load:?}, {connections}");
                }
            }
        }
    }
}
