//! Knowledge of a test besides its trace.

use corpus::{LossRecovery, TestConfig};
use dumper::timers::ack_timeout;
use dumper::trace::Origin;
use dumper::{HostCounters, Nanos, Observation};
use serde::Serialize;

use crate::counters::{discards, received_all};
use crate::see::facts::HostFacts;
use crate::see::sides::Side;
use crate::thresholds::Times;

/// The configured ACK timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timeout {
    /// Exponent 0: the timer never expires.
    Disabled,
    /// T, from which an expiry may be 4T away.
    Enabled(Nanos),
}

impl Timeout {
    /// The timeout of an exponent, 0 to 31.
    pub const fn from_exponent(exponent: u8) -> Self {
        match ack_timeout(exponent) {
            None => Self::Disabled,
            Some(shortest) => Self::Enabled(shortest),
        }
    }
}

/// Configuration of the requester's ACK timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct AckTimer {
    /// T, the shortest time-out; an expiry may be 4 T away (IBA vol. 1, 9.7.6.1.3). `None` where the timer is off.
    pub t_ns: Option<Nanos>,
    /// Retries between two moments of progress.
    pub retry_cnt: u32,
}

/// The configured RNR retry budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RnrRetries {
    /// Any number of retries (7 in the QP's attributes; IBA vol. 1, 9.7.5.2.8).
    Unlimited,
    /// So many between two moments of progress.
    Limited(u32),
}

impl RnrRetries {
    /// The budget of a QP attribute, 0 to 7.
    pub const fn from_attribute(rnr_retry: u8) -> Self {
        match rnr_retry {
            0..=6 => Self::Limited(rnr_retry as u32),
            7.. => Self::Unlimited,
        }
    }

    /// The most retries, where there is a limit.
    pub const fn limit(self) -> Option<u32> {
        match self {
            Self::Unlimited => None,
            Self::Limited(most) => Some(most),
        }
    }
}

/// Scope of one CNP interval (Lumina §6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CnpScope {
    /// Those to one QP.
    Qp,
    /// Those to one destination address.
    DestinationIp,
    /// All of the NIC port.
    Port,
}

impl CnpScope {
    /// All of them, from the narrowest to the widest.
    pub const ALL: [Self; 3] = [Self::Qp, Self::DestinationIp, Self::Port];
}

/// Knowledge of one host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// True if its notification point was switched on.
    pub notifies: Option<bool>,
    /// Shortest interval between CNPs that the host's notification point was given.
    pub cnp_interval: Option<Nanos>,
    /// Packets that it discarded for reasons that the trace does not show; `None` without such a counter.
    pub discards: Option<u64>,
    /// A counter proves that every intact packet that left the switch reached its transport; a counter of discards that is
    /// 0 only says that none was counted.
    pub received_all: bool,
}

/// Returns true if the hosts of a test recover from losses by selective repeat, which the rules of go-back-N do not fit.
pub(crate) fn repeats_selectively(config: &TestConfig) -> bool {
    config.requester.roce.loss_recovery == LossRecovery::SelectiveRepeat
}

/// Knowledge of a test besides its trace; every field may be unknown, and rules that depend on an unknown
/// field are not judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Known {
    /// ACK timeout of the requester.
    pub timeout: Option<Timeout>,
    /// Retries of the requester between two moments of progress.
    pub retries: Option<u32>,
    /// RNR retries of the requester between two moments of progress.
    pub rnr_retries: Option<RnrRetries>,
    /// Path MTU in bytes.
    pub mtu: Option<u32>,
    /// The thresholds of the observation's clock.
    pub times: Times,
    /// The host that posts the test's verbs.
    pub requester: Host,
    /// The other host.
    pub responder: Host,
    /// The trace begins with the first packet that the injector mirrored, so that nothing came before it. An
    /// injector counts from 1 in every test (Lumina §3.4).
    pub from_the_start: bool,
}

impl Known {
    /// Knowledge from a configuration and the counters of an observation.
    /// `facts` are those of the two hosts: corrupted packets are no secret.
    pub(crate) fn of(config: Option<&TestConfig>, observation: &Observation, facts: &[HostFacts; 2]) -> Self {
        let host = |counters: &Option<HostCounters>, facts: &HostFacts| Host {
            discards: counters.as_ref().and_then(|counters| discards(counters, facts)),
            received_all: counters.as_ref().is_some_and(|counters| received_all(counters, facts)),
            ..Host::default()
        };
        let trace = &observation.trace;
        let mut known = Self {
            requester: host(&observation.requester, &facts[0]),
            responder: host(&observation.responder, &facts[1]),
            from_the_start: trace.origin() == Origin::Mirror
                && trace.records().first().is_some_and(|first| first.sequence == 1),
            times: Times::of(config, observation),
            ..Self::default()
        };
        if let Some(config) = config {
            known.take_config(config);
        }
        known
    }
}

impl Known {
    /// The same where counters of discards that are 0 are unknown, unless something else proves that all packets were
    /// received. `None` where there is no such counter.
    pub(crate) fn without_unproven_discards(mut self) -> Option<Self> {
        let before = [self.requester.discards, self.responder.discards];
        for host in [&mut self.requester, &mut self.responder] {
            host.discards = host.discards.filter(|discards| *discards > 0 || host.received_all);
        }
        (before != [self.requester.discards, self.responder.discards]).then_some(self)
    }

    /// Returns true if the ACK timer is long enough for the switch to see its expiry: several times the delay
    /// that links and queues hide.
    pub(crate) fn timer_shows(&self) -> bool {
        !matches!(self.timeout, Some(Timeout::Enabled(shortest)) if shortest < self.times.timer_slack.times(4))
    }

    /// Returns true if the ACK timer is long enough for a requester to act on a NAK before it expires: twice the longest
    /// delay of a host.
    pub(crate) fn timer_outlasts_naks(&self) -> bool {
        matches!(self.timeout, Some(Timeout::Enabled(shortest)) if shortest >= self.times.timer_slack.times(2))
    }

    /// Configuration of the requester's ACK timer.
    pub(crate) fn ack_timer(&self) -> Option<AckTimer> {
        let t_ns = match self.timeout? {
            Timeout::Disabled => None,
            Timeout::Enabled(shortest) => Some(shortest),
        };
        Some(AckTimer { t_ns, retry_cnt: self.retries? })
    }

    /// One of the hosts.
    pub(crate) const fn host(&self, side: Side) -> &Host {
        match side {
            Side::Requester => &self.requester,
            Side::Responder => &self.responder,
        }
    }

    fn take_config(&mut self, config: &TestConfig) {
        self.timeout = Some(Timeout::from_exponent(config.traffic.min_retransmit_timeout));
        self.retries = Some(u32::from(config.traffic.max_retransmit_retry));
        self.rnr_retries = Some(RnrRetries::from_attribute(config.traffic.rnr_retry));
        self.mtu = Some(config.traffic.mtu.bytes());
        for (host, configured) in
            [(&mut self.requester, &config.requester), (&mut self.responder, &config.responder)]
        {
            host.notifies = Some(configured.roce.dcqcn_np_enable);
            host.cnp_interval = Some(Nanos::from_micros(u64::from(configured.roce.min_time_between_cnps)));
        }
    }
}
