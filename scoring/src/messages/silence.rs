//! Silence of connections before the end of a test that was stopped.

use std::net::IpAddr;

use corpus::TestConfig;
use dumper::timers::{LATEST_EXPIRY, ack_timeout, rnr_wait};
use dumper::{Connection, Nanos, Observation};
use rustc_hash::FxHashMap;

use crate::thresholds::Times;

/// Last packets of the connections of a test, and the end of the wait for it.
pub(super) struct Silence {
    /// A connection without a packet since then had come to rest before the test was stopped; `None` where none was stopped.
    since: Option<Nanos>,
    /// Time of the last packet between two addresses, to a QPN.
    last: FxHashMap<(IpAddr, IpAddr, u32), Nanos>,
}

impl Silence {
    /// The silence that a connection may keep is that of its ACK timer at its latest, of an RNR NAK, of the injector and of the pauses
    /// between messages, whichever the test has.
    pub(super) fn of(observation: &Observation, config: &TestConfig) -> Self {
        let trace = &observation.trace;
        let mut silence = Self { since: None, last: FxHashMap::default() };
        let (Some(stopped_after), Some(first)) = (observation.stopped_after, trace.records().first()) else {
            return silence;
        };
        let traffic = &config.traffic;
        let timer =
            ack_timeout(traffic.min_retransmit_timeout).unwrap_or_default().times(LATEST_EXPIRY.into());
        let may_be_silent = [
            timer,
            rnr_wait(traffic.min_rnr_timer),
            Nanos(config.longest_hold_ns()),
            Nanos(traffic.pauses_ns()),
            Times::of(Some(config), observation).hosts_take,
        ];
        let end = Nanos(first.time.0.saturating_add(stopped_after.0));
        silence.since = Some(may_be_silent.into_iter().fold(end, |since, time| since - time));
        for record in trace.records() {
            let flow = trace.flow(record);
            silence.last.insert((flow.source, flow.destination, flow.dest_qpn), record.time);
        }
        silence
    }

    /// Returns true if a connection still had packets so shortly before the test was stopped that it may have gone on.
    pub(super) fn may_go_on(&self, ends: &Connection) -> bool {
        let Connection { requester, responder } = ends;
        let ways = [(requester.ip, responder.ip, responder.qpn), (responder.ip, requester.ip, requester.qpn)];
        let last =
            ways.iter().filter_map(|(from, to, qpn)| self.last.get(&(*from, *to, (*qpn)?)).copied()).max();
        self.since.zip(last).is_some_and(|(since, last)| last >= since)
    }
}
