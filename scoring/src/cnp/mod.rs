//! CNPs against ECN marks (Lumina §4, congestion notification).

mod certain;
mod infer;
mod limiter;
mod log;
mod withheld;

use std::collections::BTreeMap;
use std::net::IpAddr;

use dumper::Fate;
use dumper::trace::{Flow, FlowId, Record, flags};
use dumper::wire::{Class, NakCode, Syndrome};
use dumper::{Nanos, Psn, Trace};

pub(crate) use self::infer::Outcome;
pub use self::limiter::CnpLimiter;
use self::log::Log;
use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::known::Known;
use crate::rules::Rule;
use crate::see::connections::Pair;
use crate::see::sides::{Side, Sides};
use crate::thresholds::{CNP_BEHIND_DATA, CNP_INTERVAL_PERCENT};

/// A CNP without a reason, sent on a flow.
#[derive(Clone, Debug)]
struct Held {
    sent: Nanos,
    flow: FlowId,
    anomaly: Anomaly,
}

/// CNPs without a reason that are held back on a flow until it is sure that there is none.
const MAX_HELD: usize = 64;

/// A delivered packet with congestion experienced.
#[derive(Clone, Copy, Debug)]
struct Mark {
    sequence: u32,
    psn: Psn,
    left: Nanos,
}

/// CNPs and marks of one direction of a QP.
#[derive(Clone, Debug, Default)]
struct QpState {
    /// Reasons for a CNP that were delivered and that no CNP has answered yet.
    credits: u64,
    /// A packet of this flow was lost or held back, or is missing as its receiver says: the packets behind it
    /// are out of order, a reason for a CNP where loss counts as congestion.
    lossy: bool,
    /// First marked packet that was delivered and not repeated since, so that nothing says that it was lost
    /// behind the switch, and the first packet by which its receiver showed that it was alive afterwards.
    first_mark: Option<Mark>,
    answered_by: Option<u32>,
    /// CNPs without a reason so far: a loss behind the switch may explain them, which only its repair shows.
    unexplained: Vec<Held>,
    /// Time at which its sender last sent something other than a CNP.
    last_sent: Nanos,
    /// Farthest Read request on this flow: its PSN and the virtual address at which it ends.
    last_read: Option<(Psn, u64)>,
}

/// Counts per flow, for the counters analyzer and the summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CnpCounts {
    /// Marked data packets delivered on this flow.
    pub marked: u64,
    /// CNPs sent on this flow.
    pub cnps: u64,
}

/// Totals of one host.
#[derive(Clone, Copy, Debug, Default)]
struct HostTotals {
    marked: u64,
    cnps: u64,
    alive: Option<Alive>,
}

/// A marked packet that reached a host, and a later packet by which the host shows that it went on.
#[derive(Clone, Copy, Debug)]
struct Alive {
    mark: u32,
    answer: u32,
    connection: usize,
    address: IpAddr,
}

/// Fed packet by packet; judges when a CNP passes and at the end.
pub(crate) struct CnpAnalyzer<'a> {
    trace: &'a Trace,
    known: Known,
    /// The other direction of each flow, and the connection's number.
    partner: Vec<Option<(FlowId, usize)>>,
    /// The hosts that each flow comes from and goes to.
    hosts: Vec<[Option<Side>; 2]>,
    /// Time of the first packet, and whether the hosts say of a flow that it starts there.
    start: Nanos,
    from_start: Vec<bool>,
    flows: Vec<QpState>,
    counts: Vec<CnpCounts>,
    /// Time and number of the last CNP on each flow, and how long it may have waited to be sent.
    last_cnp: BTreeMap<FlowId, (Nanos, u32, Nanos)>,
    log: Log,
}

impl<'a> CnpAnalyzer<'a> {
    /// An analyzer of a trace whose connections are `pairs`.
    pub(crate) fn new(trace: &'a Trace, pairs: &[Pair], sides: &Sides, known: Known) -> Self {
        let mut partner = vec![None; trace.flows().len()];
        let mut from_start = vec![false; trace.flows().len()];
        for (pair, number) in pairs.iter().zip(1..) {
            let told = pair.connection.requester.initial_psn.is_some();
            for flow in [Some(pair.requests), pair.answers].into_iter().flatten() {
                from_start[flow.index()] |= told;
            }
            if let Some(answers) = pair.answers {
                partner[pair.requests.index()].get_or_insert((answers, number));
                partner[answers.index()].get_or_insert((pair.requests, number));
            }
        }
        let flows = vec![QpState::default(); partner.len()];
        let counts = vec![CnpCounts::default(); partner.len()];
        let start = trace.records().first().map(|record| record.time).unwrap_or_default();
        let (last_cnp, log) = (BTreeMap::new(), Log::new(partner.len()));
        let hosts = |flow: &Flow| [flow.source, flow.destination].map(|address| sides.at(address));
        let hosts = trace.flows().iter().map(hosts).collect();
        Self { trace, known, partner, hosts, start, from_start, flows, counts, last_cnp, log }
    }

    /// Counts per flow.
    pub(crate) fn counts(&self) -> &[CnpCounts] {
        &self.counts
    }

    /// A packet enters the switch, and its sender is judged.
    #[inline]
    pub(crate) fn enters(&mut self, record: &Record, fate: Fate, anomalies: &mut Anomalies) {
        let class = record.class();
        if class == Class::Cnp {
            self.cnp(record, anomalies);
        } else {
            self.log.enters(record, class, fate, self.sender(record.flow));
            if let (Some(from), Some((other, _))) =
                (missing(record, class), self.partner[record.flow.index()])
            {
                self.log.missing(other, from);
            }
            let state = &mut self.flows[record.flow.index()];
            state.last_sent = record.time;
            state.lossy |= fate != Fate::Delivered { left: record.time, copies: 1 };
            if class.is_data() && state.first_mark.is_some_and(|mark| !record.psn.is_after(mark.psn)) {
                state.first_mark = None;
                state.answered_by = None;
            }
        }
        if self.shows_a_loss(record, class)
            && let Some((other, _)) = self.partner[record.flow.index()]
        {
            self.log.missing(other, record.psn);
            let other = &mut self.flows[other.index()];
            other.lossy = true;
            let in_flight = self.known.times.ack_in_flight;
            other.unexplained.retain(|held| record.time - held.sent > in_flight);
        }
        // Whatever a receiver of marks sends shows that it is alive; cheap to skip where nothing was marked.
        if let Some((other, _)) = self.partner[record.flow.index()] {
            let other = &mut self.flows[other.index()];
            if class != Class::Cnp
                && other
                    .first_mark
                    .is_some_and(|mark| record.time - mark.left >= self.known.times.cnp_patience)
            {
                other.answered_by.get_or_insert(record.sequence);
            }
        }
    }

    /// Returns true if a packet may follow from one before the capture: the capture is not known to start
    /// with the connection, and it has just started.
    fn may_be_from_before(&self, flow: FlowId, now: Nanos) -> bool {
        let told = self.known.from_the_start || self.from_start[flow.index()];
        !told && now - self.start <= self.known.times.ack_in_flight
    }

    /// Returns true if a packet shows that its sender misses a packet of the other direction: a sequence NAK,
    /// a Read for the second time.
    #[inline]
    fn shows_a_loss(&mut self, record: &Record, class: Class) -> bool {
        match class {
            Class::Acknowledge => record.aeth().syndrome == Syndrome::Nak(NakCode::PsnSequenceError),
            Class::ReadRequest => {
                // The rest of a Read ends where the whole Read does.
                let end = record.virtual_address.wrapping_add(u64::from(record.dma_length));
                let last = &mut self.flows[record.flow.index()].last_read;
                let repeated = last.is_some_and(|(psn, ends)| !record.psn.is_after(psn) || end == ends);
                if !repeated {
                    *last = Some((record.psn, end));
                }
                repeated
            }
            _ => false,
        }
    }

    /// A packet has left the switch, the first of those that were delivered or a further copy of it.
    #[inline]
    pub(crate) fn leaves(&mut self, record: &Record, left: Nanos, copy: u8) {
        if record.class() == Class::Cnp {
            return;
        }
        let marked = self.trace.marked(record, copy);
        if let [_, Some(receiver)] = self.hosts[record.flow.index()] {
            self.log.leaves(record, left, marked, receiver);
        }
        let from_before = self.may_be_from_before(record.flow, record.time);
        let state = &mut self.flows[record.flow.index()];
        if marked {
            state.credits += 1;
            let (sequence, psn) = (record.sequence, record.psn);
            if from_before {
                return;
            }
            state.first_mark.get_or_insert(Mark { sequence, psn, left });
            self.counts[record.flow.index()].marked += 1;
        } else if state.lossy && record.class().is_data() {
            state.credits += 1;
        }
    }

    /// The host that a flow comes from.
    #[inline]
    fn sender(&self, flow: FlowId) -> Option<Side> {
        self.hosts[flow.index()][0]
    }

    /// Packets that the sender of a flow discarded, by its counters.
    fn discards_of_sender(&self, flow: FlowId) -> Option<u64> {
        self.known.host(self.sender(flow)?).discards
    }

    fn cnp(&mut self, record: &Record, anomalies: &mut Anomalies) {
        self.counts[record.flow.index()].cnps += 1;
        let flow = *self.trace.flow(record);
        // A CNP goes to the QP that sent the marked packet, so its reason is on the other direction.
        let reason = self.partner[record.flow.index()];
        let who = Who {
            role: Role::NotificationPoint,
            address: Some(flow.source),
            connection: reason.map(|(_, number)| number),
        };
        if let Some((state, wrong)) = misshapen(record) {
            anomalies.push(Anomaly {
                rule: Rule::CnpForm,
                who,
                state: state.into(),
                what: format!("sends a CNP with {wrong}"),
                evidence: Evidence::packets([record.sequence]),
            });
        }
        if let Some((marked, _)) = reason {
            let credits = &mut self.flows[marked.index()].credits;
            let unexplained = *credits == 0;
            *credits = credits.saturating_sub(1);
            // A loss that the trace does not show, or a mark from before the capture, would explain it.
            let excused = self.flows[marked.index()].lossy
                || self.discards_of_sender(record.flow).is_some_and(|lost| lost > 0)
                || self.may_be_from_before(record.flow, record.time);
            if unexplained && !excused {
                let anomaly = Anomaly {
                    rule: Rule::CnpWithoutEcn,
                    who,
                    state: "no-reason".into(),
                    what: "sends a CNP without an ECN-marked packet to answer".to_owned(),
                    evidence: Evidence::packets([record.sequence]),
                };
                let held = &mut self.flows[marked.index()].unexplained;
                if held.len() == MAX_HELD {
                    let oldest = held.remove(0);
                    anomalies.push(oldest.anomaly);
                }
                held.push(Held { sent: record.time, flow: record.flow, anomaly });
            }
        }
        let Some(side) = self.sender(record.flow) else { return };
        let waited = self.log.cnp(record, reason.map(|(marked, _)| marked), side);
        let Some(interval) = self.known.host(side).cnp_interval else { return };
        let this = (record.time, record.sequence, waited);
        if let Some((earlier, sequence, waited)) = self.last_cnp.insert(record.flow, this) {
            let apart = record.time - earlier;
            if self.known.times.no_distances.is_none()
                && apart.times(100) < interval.times(CNP_INTERVAL_PERCENT)
                && apart + CNP_BEHIND_DATA.max(waited) < interval
            {
                anomalies.push(Anomaly {
                    rule: Rule::CnpTooEarly,
                    who,
                    state: "per-qp".into(),
                    what: format!("sends two CNPs {apart} apart (interval {interval})"),
                    evidence: Evidence::packets([record.sequence, sequence])
                        .with_time("apart", apart)
                        .with_time("interval", interval),
                });
            }
        }
    }

    /// The trace has ended: a host that received marks, lived on and never sent a CNP is named.
    /// A connection whose messages are all complete, as `outcome` says by its number, has received its marks.
    pub(crate) fn ends(&mut self, outcome: impl Fn(usize) -> Outcome, anomalies: &mut Anomalies) {
        for held in
            self.flows.iter_mut().flat_map(|flow| std::mem::take(&mut flow.unexplained)).collect::<Vec<_>>()
        {
            // A QP that falls silent right after it may have lost the rest behind the switch, and given up.
            if self.discards_of_sender(held.flow).is_some()
                || self.flows[held.flow.index()].last_sent > held.sent + self.known.times.timer_slack
            {
                anomalies.push(held.anomaly);
            }
        }
        // A host may limit CNPs as a whole, so all of its addresses count together.
        let mut hosts = [HostTotals::default(); 2];
        for (at, flow) in self.trace.flows().iter().enumerate() {
            let [sender, receiver] = self.hosts[at];
            if let Some(side) = sender {
                hosts[side.index()].cnps += self.counts[at].cnps;
            }
            let Some(side) = receiver else { continue };
            let host = &mut hosts[side.index()];
            host.marked += self.counts[at].marked;
            if let (Some(Mark { sequence: mark, .. }), Some((_, connection))) =
                (self.flows[at].first_mark, self.partner[at])
                && let Some(answer) = self.flows[at]
                    .answered_by
                    .or_else(|| (outcome(connection) == Outcome::Complete).then_some(mark))
            {
                host.alive.get_or_insert(Alive { mark, answer, connection, address: flow.destination });
            }
        }
        for (host, known) in hosts.into_iter().zip([&self.known.requester, &self.known.responder]) {
            let switched_off = known.notifies == Some(false);
            // All discarded packets may have been marked.
            let arrived = host.marked > known.discards.unwrap_or(0);
            let Some(alive) = host.alive.filter(|_| host.cnps == 0 && arrived && !switched_off) else {
                continue;
            };
            anomalies.push(Anomaly {
                rule: Rule::EcnWithoutCnp,
                who: Who {
                    role: Role::NotificationPoint,
                    address: Some(alive.address),
                    connection: Some(alive.connection),
                },
                state: "no-cnp".into(),
                what: match host.marked {
                    1 => "receives an ECN-marked packet and sends no CNP".to_owned(),
                    marked => format!("receives {marked} ECN-marked packets and sends no CNP"),
                },
                evidence: Evidence::packets([alive.mark, alive.answer]),
            });
        }
    }
}

/// First PSN that the sender of a NAK has not taken.
#[inline]
fn missing(record: &Record, class: Class) -> Option<Psn> {
    let refuses = class == Class::Acknowledge && !matches!(record.aeth().syndrome, Syndrome::Ack(_));
    refuses.then_some(record.psn)
}

/// Error in a CNP's header, if any, as a state and in words.
fn misshapen(record: &Record) -> Option<(&'static str, String)> {
    if record.psn != Psn::new(0) {
        Some(("psn", format!("PSN {}, not 0", record.psn.value())))
    } else if record.flags & flags::BECN == 0 {
        Some(("becn", "BECN clear".to_owned()))
    } else if record.ack_req() {
        Some(("ack-req", "AckReq set".to_owned()))
    } else {
        None
    }
}
