//! The pair of guests that all tests share, and what is asked of every observation.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use corpus::{Role, TestConfig};
use dumper::Observation;
use dumper::integrity::{self, Verdict};
use dumper::observation::CompletionStatus;
use executor::guests::{self, Pairs};
use scoring::{Analysis, Options};

use super::site::{KERNELS, Site, capabilities};

/// Guests are booted once, for all tests but those that choose their kernels.
pub(crate) static PAIRS: LazyLock<Pairs<Site>> = LazyLock::new(|| Pairs::new(KERNELS));

/// One test at a time, on any of the guests, as they share the machine.
static ONE: Mutex<()> = Mutex::new(());

/// Nobody else runs a test meanwhile.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A test and what was observed of it.
pub(crate) struct Ran {
    pub(crate) config: TestConfig,
    pub(crate) observation: Observation,
}

/// The test of `traffic` (keys of its section) with events (`[[event]]` sections).
pub(crate) fn test(traffic: &str, events: &str) -> TestConfig {
    let text = format!("[traffic]\nmtu = 1024\nmin-retransmit-timeout = 17\n{traffic}\n{events}");
    let mut config = corpus::from_toml("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    for role in Role::ALL {
        config.host_mut(role).roce = capabilities().fixed;
    }
    config
}

/// Runs [`test`].
pub(crate) fn run(traffic: &str, events: &str) -> Ran {
    let _alone = alone();
    Ran::of(&PAIRS, test(traffic, events))
}

impl Ran {
    /// Runs a test on a pair.
    pub(crate) fn of(pairs: &Pairs<impl guests::Site + 'static>, config: TestConfig) -> Self {
        let observation = pairs.lease().run(&config);
        let observation = observation.unwrap_or_else(|error| panic!("{error}\n{}", config.to_toml()));
        Self { config, observation }
    }

    /// Every packet that the switch had is in the trace, and the hosts' counters say nothing else.
    pub(crate) fn whole(self) -> Self {
        let checked = integrity::check(&self.observation.trace, self.observation.switch.as_ref());
        let failed: Vec<_> =
            checked.conditions.iter().filter(|condition| condition.verdict == Verdict::Fail).collect();
        assert!(failed.is_empty(), "{failed:?}");
        self
    }

    /// All messages completed, with these bytes in memory.
    pub(crate) fn completes(self) -> Self {
        let traffic = &self.config.traffic;
        let messages = (traffic.load.connections() * traffic.num_msgs_per_qp) as usize;
        let observation = &self.observation;
        let good = observation.completions().iter().filter(|one| one.status == CompletionStatus::Success);
        assert_eq!(good.count(), messages, "{:?}", observation.completions);
        assert_eq!(observation.deliveries().len(), messages, "{:?}", observation.deliveries);
        let is_right = |one: &dumper::Delivery| one.intact && one.bytes == u64::from(traffic.message_size);
        assert!(observation.deliveries().iter().all(is_right), "{:?}", observation.deliveries);
        self
    }

    /// Analysis of the test.
    pub(crate) fn analysis(&self) -> Analysis {
        scoring::analyze(&self.observation, Options { config: Some(&self.config) })
    }

    /// The rules that are broken, and by what.
    pub(crate) fn said(&self) -> Vec<(&'static str, String)> {
        let analysis = self.analysis();
        let anomalies = analysis.anomalies.kept();
        anomalies.iter().map(|anomaly| (anomaly.rule.name(), anomaly.what.clone())).collect()
    }

    /// Nothing is wrong with it.
    pub(crate) fn conforms(self) -> Self {
        self.breaks(&[])
    }

    /// It breaks these rules and no others: what `rdma_rxe` is known for (docs/findings-rxe.md).
    pub(crate) fn breaks(self, rules: &[&str]) -> Self {
        let said = self.said();
        let mut broken: Vec<_> = said.iter().map(|(rule, _)| *rule).collect();
        broken.dedup();
        assert_eq!(broken, rules, "{said:?}");
        self
    }

    /// The event hit, and as many packets left as it says.
    pub(crate) fn hits(self, event: dumper::Event, count: usize) -> Self {
        let records = self.observation.trace.records();
        let hit = records.iter().filter(|record| record.event() == event).count();
        assert_eq!(hit, count, "packets that {event:?} hit");
        self
    }
}
