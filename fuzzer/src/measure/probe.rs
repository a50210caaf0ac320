//! Tests on the hosts of a finding.

use corpus::{RoceParameters, Role, TestConfig, Verb};
use executor::Testbed;
use scoring::{Anomaly, Kind};

use super::Seen;
use crate::judge::{InMemory, JudgeError, Judged, Verdict, judge};
use crate::policy::Policy;

/// Runs tests on the hosts of a finding.
pub(super) struct Probe<'a> {
    /// The reproducer.
    pub(super) of: &'a TestConfig,
    testbed: &'a mut dyn Testbed,
    /// Tests that were run, references included.
    pub(super) executions: u64,
}

impl<'a> Probe<'a> {
    pub(super) fn new(of: &'a TestConfig, testbed: &'a mut dyn Testbed) -> Self {
        Self { of, testbed, executions: 0 }
    }

    /// Policy on the testbed.
    pub(super) fn policy(&self) -> Policy {
        Policy::on(self.testbed)
    }

    /// Runs a test; none of one that cannot be judged.
    pub(super) fn run(&mut self, mut config: TestConfig) -> Result<Option<Run>, JudgeError> {
        for role in Role::ALL {
            let host = config.host_mut(role);
            host.nic.clone_from(&self.of.host(role).nic);
            // A reaction point would only slow the test down.
            host.roce = RoceParameters { dcqcn_rp_enable: false, ..self.of.host(role).roce };
        }
        let baselines = InMemory::on(self.testbed);
        let verdict = judge(self.testbed, &config, &baselines)?;
        self.executions += 1 + baselines.runs();
        Ok(match verdict {
            Verdict::Judged(judged) => Some(Run { config, judged }),
            Verdict::Invalid { .. } => None,
        })
    }

    /// The host that did it; the responder where the anomaly names none.
    pub(super) fn host(&self, anomaly: &Anomaly) -> Role {
        let is_requester = |address| self.of.requester.ip_list.iter().any(|own| own.addr == address);
        if anomaly.who.address.is_some_and(is_requester) { Role::Requester } else { Role::Responder }
    }

    /// The verb of the connection that it happened on.
    pub(super) fn verb(&self, anomaly: &Anomaly) -> Verb {
        let connection = anomaly.who.connection.unwrap_or(1) as u32;
        self.of.traffic.load.verb(connection, 0)
    }
}

/// A test of a probe that ran.
pub(super) struct Run {
    pub(super) config: TestConfig,
    pub(super) judged: Box<Judged>,
}

impl Run {
    /// Returns true if the test shows a kind of finding.
    pub(super) fn shows(&self, kind: Kind) -> bool {
        self.judged.assessment.findings().any(|anomaly| anomaly.kind() == kind)
    }

    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { config: &self.config, observation: &self.judged.observation, analysis: &self.judged.analysis }
    }
}
