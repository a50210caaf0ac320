//! Connections that still had packets when a test was stopped.

use std::net::IpAddr;

use corpus::TestConfig;
use dumper::timers::{LATEST_EXPIRY, ack_timeout, rnr_wait};
use dumper::{Connection, FlowId, Nanos, Observation};
use rustc_hash::FxHashSet;

use crate::thresholds::Times;

/// Flows with packets so shortly before a test was stopped that more may have come, by their addresses and QPN; none where it was
/// not stopped.
pub(super) struct Recent(FxHashSet<(IpAddr, IpAddr, u32)>);

impl Recent {
    /// The silence that a connection may keep is that of its ACK timer at its latest, of an RNR NAK, of the injector and of the pauses
    /// between messages, whichever the test has.
    pub(super) fn of(observation: &Observation, config: &TestConfig) -> Self {
        let trace = &observation.trace;
        let (Some(stopped_after), Some(first)) = (observation.stopped_after, trace.records().first()) else {
            return Self(FxHashSet::default());
        };
        let traffic = &config.traffic;
        let timer = ack_timeout(traffic.min_retransmit_timeout).unwrap_or_default();
        let may_be_silent = [
            timer.times(LATEST_EXPIRY.into()),
            rnr_wait(traffic.min_rnr_timer),
            Nanos(config.longest_hold_ns()),
            Nanos(traffic.pauses_ns()),
            Times::of(Some(config), observation).hosts_take,
        ];
        let end = Nanos(first.time.0.saturating_add(stopped_after.0));
        let since = may_be_silent.into_iter().fold(end, |since, time| since - time);
        let recent = trace.records().iter().filter(|record| record.time >= since).map(|record| record.flow);
        let recent: FxHashSet<FlowId> = recent.collect();
        let flows = recent.into_iter().map(|flow| &trace.flows()[flow.index()]);
        Self(flows.map(|flow| (flow.source, flow.destination, flow.dest_qpn)).collect())
    }

    /// Returns true if a connection has such a flow, and may have gone on.
    pub(super) fn has(&self, Connection { requester, responder }: &Connection) -> bool {
        [(requester, responder), (responder, requester)]
            .iter()
            .any(|(from, to)| to.qpn.is_some_and(|qpn| self.0.contains(&(from.ip, to.ip, qpn))))
    }
}
