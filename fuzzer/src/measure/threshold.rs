//! Thresholds: the fewest connections that bring a finding about, by bisection.

use corpus::{ConnectionSet, Load, Network, TestConfig, Verb};
use scoring::Kind;

use super::probe::Probe;
use super::setups;
use crate::judge::JudgeError;

/// Innocent connections beside those with events: enough for some to lose the tail of a message, as in Lumina §6.2.2.
const INNOCENTS: u32 = 24;
/// Message sizes, in bytes, of tests that bring a receiver under load: together the connections send more than it buffers.
const SIZES: [u32; 3] = [20_480, 102_400, 409_600];

/// Fewest connections, up to `most`, which are known to show something. Both sides are run: so many show it, and one
/// fewer do not.
pub(super) fn fewest<E>(most: u32, shows: &mut dyn FnMut(u32) -> Result<bool, E>) -> Result<u32, E> {
    let (mut hides, mut found) = (0, most);
    while found.saturating_sub(hides) > 1 {
        let middle = hides.midpoint(found);
        if shows(middle)? {
            found = middle;
        } else {
            hides = middle;
        }
    }
    Ok(found)
}

/// Fewest connections with events from which others suffer: by bisection where one run of a test is enough, else those of the
/// reproducer.
pub(super) fn guilty(probe: &mut Probe<'_>) -> Result<u32, JudgeError> {
    let reproducer = probe.of.clone();
    let most = reproducer.connections_with_events() as u32;
    let verb = reproducer.traffic.load.verb(1, 0);
    threshold(most, Kind::NoisyNeighbor, probe, |guilty| {
        let tests = SIZES.map(|size| setups::neighbours(verb, guilty, INNOCENTS, size));
        std::iter::once(with_events_on(&reproducer, guilty)).chain(tests).collect()
    })
}

/// Fewest connections from which packets are discarded: by bisection where one run of a test is enough, else those of the
/// reproducer.
pub(super) fn connections(probe: &mut Probe<'_>) -> Result<u32, JudgeError> {
    let reproducer = probe.of.clone();
    let most = reproducer.traffic.load.connections();
    let verb = reproducer.traffic.load.verb(1, 0);
    threshold(most, Kind::InteropDiscard, probe, |connections| {
        let tests = SIZES.map(|size| setups::together(verb, connections, size));
        std::iter::once(of_connections(&reproducer, verb, connections)).chain(tests).collect()
    })
}

/// Fewest connections of which one of the `tests` shows a kind of finding. `most` of them do in the reproducer.
fn threshold(
    most: u32,
    kind: Kind,
    probe: &mut Probe<'_>,
    tests: impl Fn(u32) -> Vec<TestConfig>,
) -> Result<u32, JudgeError> {
    if !probe.policy().replays_exactly() {
        return Ok(most);
    }
    fewest(most, &mut |connections| {
        for test in tests(connections).into_iter().filter(TestConfig::is_valid) {
            if probe.run(test)?.is_some_and(|run| run.shows(kind)) {
                return Ok(true);
            }
        }
        Ok(false)
    })
}

/// A test whose events name only the first so many connections that they name now; as many connections send.
fn with_events_on(config: &TestConfig, guilty: u32) -> TestConfig {
    let connections = config.traffic.load.connections();
    let named: Vec<u32> =
        (1..=connections).filter(|qpn| config.has_events_on(*qpn)).take(guilty as usize).collect();
    let mut test = config.clone();
    let sets = test.events.iter_mut().map(|event| &mut event.connections);
    for set in sets.chain([&mut test.network.loss_qpn]) {
        let members = set.members(connections).filter(|qpn| named.binary_search(qpn).is_ok());
        *set = ConnectionSet::List(members.collect());
    }
    if test.network.loss_qpn.members(connections).next().is_none() || !test.network.loses() {
        test.network = Network::default();
    }
    test.events.retain(|event| event.connections.members(connections).next().is_some());
    test
}

/// A test with so many connections, all alike and without events.
fn of_connections(config: &TestConfig, verb: Verb, connections: u32) -> TestConfig {
    let mut test = config.clone();
    test.traffic.load = Load::Same { verb, connections };
    (test.events, test.network) = (Vec::new(), Network::default());
    test
}

#[cfg(test)]
mod tests {
    use super::fewest;

    #[test]
    fn both_sides_of_a_threshold_are_run() {
        for threshold in 1..=40 {
            let mut run = Vec::new();
            let found = fewest(40, &mut |connections| {
                run.push(connections);
                Ok::<_, ()>(connections >= threshold)
            });
            assert_eq!(found, Ok(threshold));
            assert!(threshold == 40 || run.contains(&threshold), "{run:?}");
            assert!(threshold == 1 || run.contains(&(threshold - 1)), "{run:?}");
            assert!(run.len() <= 6, "{run:?}");
        }
    }
}
