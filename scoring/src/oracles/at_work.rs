//! Time since which a host has been sending without a break: its next packets may wait behind that.

use corpus::TestConfig;
use dumper::{Nanos, Observation, Record};

use super::numbers::numbers;
use super::sharing::{class_of, guaranteed_percent};
use crate::Analysis;
use crate::see::sides::{Side, Sides};
use crate::see::slowest::takes_of;

/// A packet that was sent.
#[derive(Clone, Copy)]
struct Sent {
    time: Nanos,
    frame_len: u32,
}

impl Sent {
    /// Returns true if a later packet may have waited for this one, where both can count on so many percent
    /// of the link. A switch may stamp packets when they begin or when they end.
    fn holds_up(self, later: Self, percent: f64) -> bool {
        later.time - self.time <= takes_of(percent, later.frame_len.max(self.frame_len))
    }
}

/// Lane of a flow's packets.
#[derive(Clone, Copy)]
struct Lane {
    side: Option<Side>,
    class: u8,
    /// The part of the link that they can count on.
    percent: f64,
}

/// Last packets of a host, in all and of each class, and the packet since which it has been sending without a
/// break.
struct Work {
    since: usize,
    last: Option<Sent>,
    of_class: Vec<Option<Sent>>,
}

/// Both hosts, as their packets enter the switch.
pub(crate) struct AtWork {
    /// By flow.
    lanes: Vec<Lane>,
    hosts: [Work; 2],
}

impl AtWork {
    /// State before the first packet. Where a host selects between classes, each may be held to the share
    /// that its weight guarantees.
    pub(crate) fn of(
        config: &TestConfig,
        observation: &Observation,
        analysis: &Analysis,
        sides: &Sides,
    ) -> Self {
        let whole = |flow: &dumper::Flow| Lane { side: sides.at(flow.source), class: 0, percent: 100.0 };
        let mut lanes: Vec<Lane> = observation.trace.flows().iter().map(whole).collect();
        let hosts = [&config.requester, &config.responder];
        for (pair, number) in analysis.pairs.iter().zip(numbers(observation, analysis)) {
            for flow in [Some(pair.requests), pair.answers].into_iter().flatten() {
                let lane = &mut lanes[flow.index()];
                let host = lane.side.map(|side| hosts[side.index()]);
                if let Some((host, ets)) = host.and_then(|host| Some((host, host.ets.as_ref()?))) {
                    lane.class = class_of(host, number);
                    lane.percent = guaranteed_percent(ets, lane.class);
                }
            }
        }
        let classes = 1 + lanes.iter().map(|lane| usize::from(lane.class)).max().unwrap_or(0);
        let hosts = [(); 2].map(|()| Work { since: 0, last: None, of_class: vec![None; classes] });
        Self { lanes, hosts }
    }

    /// A packet, by its index among the records: the one since which its host has been sending without a
    /// break, none where it is of neither host.
    pub(crate) fn sends(&mut self, at: usize, record: &Record) -> Option<usize> {
        let Lane { side, class, percent } = self.lanes[record.flow.index()];
        let work = &mut self.hosts[side?.index()];
        let sent = Sent { time: record.time, frame_len: record.frame_len };
        let last_of_class = &mut work.of_class[usize::from(class)];
        let waits = |last: Option<Sent>, percent| last.is_some_and(|last| last.holds_up(sent, percent));
        if !waits(work.last, 100.0) && !waits(*last_of_class, percent) {
            work.since = at;
        }
        (work.last, *last_of_class) = (Some(sent), Some(sent));
        Some(work.since)
    }
}
