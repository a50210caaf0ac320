//! Time-outs of a run by cause, and whether they are as many as expected.

use std::collections::BTreeMap;
use std::path::Path;

use corpus::TestConfig;
use dumper::Observation;
use dumper::observation::CompletionStatus;
use executor::Testbed as _;
use executor::sim::Sim;
use scoring::{ExpiryCause, Options, analyze};
use statrs::distribution::{ContinuousCDF as _, DiscreteCDF as _, Normal, Poisson};

use crate::setting::Setting;

/// A NIC that merges the ACKs of what arrives together.
const MERGING: &str = "[responder]\nack-ns = 5_000\nmerge-acks = true\n";

/// Time-outs of a run.
pub(crate) struct Counted {
    /// Messages that completed.
    pub(crate) messages: u64,
    /// By cause: how many each message has that has any.
    causes: BTreeMap<ExpiryCause, BTreeMap<u32, u64>>,
}

/// Time-outs of a cause.
pub(crate) struct Seen {
    messages: u64,
    of_each: Vec<u64>,
}

/// Runs a setting.
pub(crate) fn ran(setting: &Setting, seed: u64, merges: bool) -> (TestConfig, Observation) {
    ran_on(setting.test(seed), if merges { MERGING } else { "" })
}

/// Runs a test with a responder of this profile.
pub(crate) fn ran_on(mut config: TestConfig, profile: &str) -> (TestConfig, Observation) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("responder.toml"), profile).unwrap();
    config.responder.nic = "./responder.toml".into();
    let observation = Sim::new(Path::new(folder.path())).run(&config).unwrap();
    (config, observation)
}

impl Counted {
    /// Runs a setting on a NIC that conforms.
    pub(crate) fn of(setting: &Setting, seed: u64) -> Self {
        Self::on(setting, seed, false)
    }

    /// Runs it, maybe with a responder that merges ACKs.
    pub(crate) fn on(setting: &Setting, seed: u64, merges: bool) -> Self {
        let (config, observation) = ran(setting, seed, merges);
        let analysis = analyze(&observation, Options { config: Some(&config) });
        let found: Vec<_> = analysis.anomalies.kept().iter().map(scoring::Anomaly::signature).collect();
        assert!(found.is_empty(), "{found:?}");
        let completions = observation.completions();
        let messages = completions.iter().filter(|one| one.status == CompletionStatus::Success).count();
        let per_message = config.traffic.shape().packets_per_message();
        let mut causes = BTreeMap::<_, BTreeMap<_, _>>::new();
        for entry in &analysis.retransmissions {
            if let Some(cause) = entry.cause {
                let message = (entry.from_psn - 1) / per_message;
                *causes.entry(cause).or_default().entry(message).or_default() += 1;
            }
        }
        Self { messages: messages as u64, causes }
    }

    pub(crate) fn of_cause(&self, name: &str) -> Seen {
        let of_this = self.causes.iter().find(|(cause, _)| cause.name() == name);
        let of_each = of_this.map(|(_, of_each)| of_each.values().copied().collect()).unwrap_or_default();
        Seen { messages: self.messages, of_each }
    }

    pub(crate) fn all(&self) -> u64 {
        self.causes.values().flat_map(BTreeMap::values).sum()
    }

    /// Time-outs of causes that losses alone do not have.
    pub(crate) fn others(&self) -> u64 {
        let theirs = ["tail-lost", "lost-again", "nak-lost", "ack-lost"];
        self.all() - theirs.iter().map(|name| self.of_cause(name).total()).sum::<u64>()
    }
}

impl Seen {
    pub(crate) fn total(&self) -> u64 {
        self.of_each.iter().sum()
    }

    /// Returns true if the number is not further from the expected one than chance brings it, but for a probability of `error`. Messages
    /// are independent, and time-outs of one are not: so the variance is that over messages.
    pub(crate) fn agrees_with(&self, expected: f64, error: f64) -> bool {
        let total = self.total() as f64;
        if expected < 30.0 {
            // A few: as if they were independent.
            let poisson = Poisson::new(expected.max(1e-9)).unwrap();
            let up_to = poisson.cdf(self.total());
            let at_least = if self.total() == 0 { 1.0 } else { poisson.sf(self.total() - 1) };
            return up_to > error / 2.0 && at_least > error / 2.0;
        }
        let squares: f64 = self.of_each.iter().map(|count| (*count as f64).powi(2)).sum();
        let variance = squares - total * total / self.messages as f64;
        let limit = Normal::standard().inverse_cdf(1.0 - error / 2.0) * variance.max(expected).sqrt();
        (total - expected).abs() <= limit
    }
}
