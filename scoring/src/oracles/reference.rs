//! Runs that a test is compared with.

use std::collections::BTreeMap;

use corpus::TestConfig;

use super::baseline::Baseline;

/// A run that a test is compared with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Reference {
    /// The same traffic between the same NICs, without events.
    WithoutEvents,
    /// The same test without transmission selection, so that all classes share one queue.
    WithoutEts,
    /// The same test, over the same losses, without copies of packets and without dummies.
    WithoutMitigation,
    /// The same test over its slowest path alone.
    OnePath,
    /// The same test with nine tenths of the flows.
    FewerFlows,
    /// The same test with as few flows as it can have.
    FewestFlows,
    /// The same test with the flows that operations leave from the start.
    WithoutRemoval,
    /// The same test with the requester's NIC at both hosts.
    RequesterWithItself,
    /// The same test with the responder's NIC at both hosts.
    ResponderWithItself,
}

impl Reference {
    /// The test to run for it.
    #[must_use]
    pub fn of(self, config: &TestConfig) -> TestConfig {
        let mut test = config.clone();
        match self {
            Self::WithoutEvents => {
                (test.events, test.network) = (Vec::new(), config.network.without_losses());
            }
            Self::WithoutEts => (test.requester.ets, test.responder.ets) = (None, None),
            Self::WithoutMitigation => return config.without_mitigation(),
            Self::OnePath => return config.over_slowest_path(),
            Self::FewerFlows => return config.with_fewer_flows().unwrap_or(test),
            Self::FewestFlows => return config.with_fewest_flows().unwrap_or(test),
            Self::WithoutRemoval => return config.without_removal().unwrap_or(test),
            Self::RequesterWithItself => test.responder.nic.clone_from(&config.requester.nic),
            Self::ResponderWithItself => test.requester.nic.clone_from(&config.responder.nic),
        }
        test
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::WithoutEvents => "the same test without events",
            Self::WithoutEts => "the same test without transmission selection",
            Self::WithoutMitigation => "the same test without copies and dummies",
            Self::OnePath => "the same test over its slowest path alone",
            Self::FewerFlows => "the same test with nine tenths of the flows",
            Self::FewestFlows => "the same test with as few flows as it can have",
            Self::WithoutRemoval => "the same test with the flows that are left from the start",
            Self::RequesterWithItself => "the same test with the requester's NIC at both hosts",
            Self::ResponderWithItself => "the same test with the responder's NIC at both hosts",
        })
    }
}

/// The reference runs that [`references_needed`](crate::score::references_needed) asked for; none of what the testbed cannot run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct References {
    /// [`Reference::WithoutEvents`].
    pub without_events: Option<Baseline>,
    /// [`Reference::WithoutEts`].
    pub without_ets: Option<Baseline>,
    /// [`Reference::WithoutMitigation`].
    pub without_mitigation: Option<Baseline>,
    /// [`Reference::OnePath`].
    pub one_path: Option<Baseline>,
    /// [`Reference::FewerFlows`].
    pub fewer_flows: Option<Baseline>,
    /// [`Reference::FewestFlows`].
    pub fewest_flows: Option<Baseline>,
    /// [`Reference::WithoutRemoval`].
    pub without_removal: Option<Baseline>,
    /// [`Reference::RequesterWithItself`].
    pub requester_with_itself: Option<Baseline>,
    /// [`Reference::ResponderWithItself`].
    pub responder_with_itself: Option<Baseline>,
    /// Those that were not made, each with the reason: an oracle that needs one does not judge. A testbed that cannot run
    /// one is no such reason.
    pub not_made: BTreeMap<Reference, String>,
}

impl References {
    /// Takes the summary of a run; none where it could not be judged.
    pub fn set(&mut self, reference: Reference, baseline: Option<Baseline>) {
        let place = match reference {
            Reference::WithoutEvents => &mut self.without_events,
            Reference::WithoutEts => &mut self.without_ets,
            Reference::WithoutMitigation => &mut self.without_mitigation,
            Reference::OnePath => &mut self.one_path,
            Reference::FewerFlows => &mut self.fewer_flows,
            Reference::FewestFlows => &mut self.fewest_flows,
            Reference::WithoutRemoval => &mut self.without_removal,
            Reference::RequesterWithItself => &mut self.requester_with_itself,
            Reference::ResponderWithItself => &mut self.responder_with_itself,
        };
        *place = baseline;
    }

    pub(crate) fn get(&self, reference: Reference) -> Option<&Baseline> {
        match reference {
            Reference::WithoutEvents => &self.without_events,
            Reference::WithoutEts => &self.without_ets,
            Reference::WithoutMitigation => &self.without_mitigation,
            Reference::OnePath => &self.one_path,
            Reference::FewerFlows => &self.fewer_flows,
            Reference::FewestFlows => &self.fewest_flows,
            Reference::WithoutRemoval => &self.without_removal,
            Reference::RequesterWithItself => &self.requester_with_itself,
            Reference::ResponderWithItself => &self.responder_with_itself,
        }
        .as_ref()
    }

    /// Returns true if one of some references was not made.
    pub(crate) fn lack(&self, references: &[Reference]) -> bool {
        references.iter().any(|reference| self.not_made.contains_key(reference))
    }
}
