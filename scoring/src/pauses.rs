//! Pauses of flow control: the trace does not show them, counters of the hosts do.

use corpus::TestConfig;
use dumper::{HostCounters, Observation};

/// Whether a counter counts pauses (names as the vendors' tools match them).
pub(crate) fn counts_pauses(name: &str) -> bool {
    name.contains("pause") || name.contains("xoff")
}

/// Returns true if pauses may have kept packets: a host has counted some, or the test allows them, and a host has no counter for
/// them.
pub(crate) fn are_possible(config: Option<&TestConfig>, observation: &Observation) -> bool {
    let pauses = |host: &HostCounters| {
        let names = host.names().filter(|name| counts_pauses(name));
        names.filter_map(|name| host.moved(name)).reduce(|all, one| all + one)
    };
    let counted = [&observation.requester, &observation.responder].map(|host| host.as_ref().and_then(pauses));
    let allowed = config.is_some_and(|config| config.network.pfc);
    counted.iter().flatten().any(|pauses| *pauses > 0) || allowed && counted.contains(&None)
}

#[cfg(test)]
mod tests {
    use dumper::Counters;

    use super::*;

    fn counted(counters: &[(&str, u64)]) -> Option<HostCounters> {
        let group = |value: &dyn Fn(u64) -> u64| Counters {
            ethtool_counters: counters
                .iter()
                .map(|(name, count)| ((*name).to_owned(), value(*count)))
                .collect(),
            ..Counters::default()
        };
        Some(HostCounters { start: group(&|_| 0), finish: group(&|count| count) })
    }

    #[test]
    fn counters_tell_if_there_were_pauses() {
        let mut config = TestConfig::default();
        let mut observation = Observation::default();
        let possible =
            |config: &TestConfig, observation: &Observation| are_possible(Some(config), observation);
        assert!(!possible(&config, &observation));
        config.network.pfc = true;
        assert!(possible(&config, &observation), "nothing counts them");
        let none = || counted(&[("rx_prio3_pause", 0), ("tx_prio3_pause", 0), ("rx_discards_phy", 4)]);
        (observation.requester, observation.responder) = (none(), counted(&[("rx_discards_phy", 0)]));
        assert!(possible(&config, &observation), "one host does not count them");
        observation.responder = none();
        assert!(!possible(&config, &observation));
        config.network.pfc = false;
        observation.responder = counted(&[("tx_priority_0_xoff.nic", 1)]);
        assert!(possible(&config, &observation), "there were some, whatever the test says");
        assert!(are_possible(None, &observation));
    }
}
