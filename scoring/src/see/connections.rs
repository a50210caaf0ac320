//! Pairing of the flows of a trace into connections.
//!
//! The hosts' metadata says so where there is any. In a bare capture a BTH names only its destination QP, so
//! the pairing is found from addresses, PSN continuity (a response carries a PSN of its requester) and the UDP
//! source port (which senders derive from both QPNs); ambiguous flows are reported as such and not judged.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dumper::trace::FlowId;
use dumper::wire::{Class, Position};
use dumper::{Connection, Endpoint, Nanos, Observation, Psn, Record, Trace};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// MTU assumed where no packet shows it: then no Read was answered by more than one packet.
pub(crate) const LARGEST_MTU: u32 = 4096;

/// The smallest MTU.
const LEAST_MTU: u32 = 256;

/// Candidate pairs of flows between two addresses beyond which only flows with the same UDP source port are
/// compared, so that a hostile capture cannot make the search quadratic.
const MAX_CANDIDATES: usize = 1 << 22;

/// Path MTUs of RDMA, in bytes (IBA vol. 1, 9.2).
const MTUS: [u16; 5] = [256, 512, 1024, 2048, 4096];

/// Largest distance, in PSNs, of a misbehaving responder's answers from the requests.
const NEAR: i32 = 1 << 16;

/// Certainty that two flows belong together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// The hosts said so.
    Metadata,
    /// The only flow each way between two addresses.
    Addresses,
    /// The only pair whose PSNs fit.
    Psn,
    /// Several fit by PSN; one by UDP source port.
    SourcePort,
    /// No flow in the other direction.
    OneWay,
    /// Several fit; none was chosen, and nothing is judged.
    Ambiguous,
}

/// A requester's flow with the flow of the answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// Both ends.
    pub connection: Connection,
    /// PSN that relative numbers count from: the connection's initial PSN, or in a bare capture the first
    /// request's.
    pub initial_psn: Psn,
    /// Flow of the requests.
    pub requests: FlowId,
    /// Flow of the answers.
    pub answers: Option<FlowId>,
    /// Certainty of the pairing.
    pub certainty: Certainty,
    /// Flows that could be the answers, where the pairing is ambiguous.
    pub candidates: usize,
    /// Path MTU in bytes, where a packet's length shows it.
    pub mtu: Option<u32>,
    /// Path MTU in bytes, where only the PSNs tell it that Reads take, if the requester leaves none out.
    pub likely_mtu: Option<u32>,
}

impl Pair {
    /// Returns true if the trace has no answers, and may lack those that there were: only the hosts' word makes sure that
    /// there were none. The reasons of the requester are then unknown.
    pub(crate) fn answers_unknown(&self) -> bool {
        self.certainty == Certainty::OneWay && self.connection.requester.initial_psn.is_none()
    }
}

/// Key of a connection: its responder's address and QPN, which are unique.
pub(crate) const fn key_of(connection: &Connection) -> (IpAddr, Option<u32>) {
    (connection.responder.ip, connection.responder.qpn)
}

/// Kinds of answer beside the ACK, which every request may get.
mod answers {
    pub(super) const DATA: u8 = 1;
    pub(super) const ATOMIC: u8 = 2;
}

/// Profile of a flow from one pass over the trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowProfile {
    /// Packets.
    pub packets: u64,
    first_request: Option<(Psn, Nanos)>,
    /// Farthest request and the bytes that it asks for, if it is a Read.
    last_request: Option<(Psn, u32)>,
    /// Virtual address at which it ends, if it is a Read.
    read_ends_at: Option<u64>,
    /// Kinds of answer that the requests ask for, and that the responses are.
    asks: u8,
    answers: u8,
    /// Lowest and highest PSN of the responses, and the time of the first.
    responses: Option<(Psn, Psn, Nanos)>,
    src_port: u16,
    /// Largest payload of a FIRST or MIDDLE packet, which is the MTU.
    mtu: u16,
    /// Largest MTU by which a Read takes the PSNs up to the next request.
    spacing: u16,
}

impl FlowProfile {
    #[inline]
    fn take(&mut self, record: &Record) {
        self.packets += 1;
        self.src_port = record.src_port;
        let psn = record.psn;
        let class = record.class();
        if let Class::Request(_, position) | Class::ReadResponse(position) = class
            && matches!(position, Position::First | Position::Middle)
        {
            // A length that is not an MTU is a damaged or misbuilt packet's.
            if MTUS.contains(&record.payload_len) {
                self.mtu = self.mtu.max(record.payload_len);
            }
        }
        match class {
            Class::ReadRequest => self.asks |= answers::DATA,
            Class::AtomicRequest => self.asks |= answers::ATOMIC,
            Class::ReadResponse(_) => self.answers |= answers::DATA,
            Class::AtomicAcknowledge => self.answers |= answers::ATOMIC,
            _ => {}
        }
        if class.is_request() {
            self.first_request.get_or_insert((psn, record.time));
            // The rest of a Read that is issued again says nothing new.
            let ends_at = record.virtual_address.wrapping_add(u64::from(record.dma_length));
            let rest =
                class == Class::ReadRequest && record.dma_length > 0 && self.read_ends_at == Some(ends_at);
            if !rest && self.last_request.is_none_or(|(last, _)| psn.is_after(last)) {
                if let Some((read, bytes)) = self.last_request.filter(|(_, bytes)| *bytes > LEAST_MTU) {
                    self.take_spacing(psn.since(read), bytes);
                }
                self.last_request = Some((psn, record.dma_length));
                self.read_ends_at = (class == Class::ReadRequest).then_some(ends_at);
            }
        } else if class.is_response() {
            let (low, high, first) = self.responses.unwrap_or((psn, psn, record.time));
            let low = if psn.is_before(low) { psn } else { low };
            let high = if psn.is_after(high) { psn } else { high };
            self.responses = Some((low, high, first));
        }
    }

    /// A Read of so many bytes took so many PSNs before the next request: that tells the MTU of a Read that
    /// nothing of was answered.
    fn take_spacing(&mut self, psns: i32, bytes: u32) {
        let fits = |mtu: &u32| i64::from(bytes.div_ceil(*mtu)) == i64::from(psns);
        if psns > 1
            && let Some(mtu) = [4096, 2048, 1024, 512, LEAST_MTU].into_iter().find(fits)
        {
            self.spacing = self.spacing.max(mtu as u16);
        }
    }

    /// Returns true if `answers` can be the answers to this flow's requests, by PSN and time.
    fn answered_by(&self, answers: &Self) -> bool {
        let Some((low, high, first)) = answers.responses else { return true };
        let Some((start, since)) = self.first_request else { return false };
        let Some((last, bytes)) = self.last_request else { return false };
        let mtu = shown_mtu(self, answers).or(likely_mtu(self, answers)).unwrap_or(LARGEST_MTU);
        let end = last.add(bytes.div_ceil(mtu).clamp(1, Psn::SPACE / 2));
        // In a capture that starts in the middle of a connection, the first answers are to requests before it.
        let late = low.is_before(start) || first < since;
        let overlaps = high.is_before(end) && (!high.is_before(start) || late && high.add(1) == start);
        overlaps && self.asks & answers.answers == answers.answers
    }

    /// Returns true if neither flow has an answer to the requests of the other: nothing then makes them a connection.
    fn are_only_requests(&self, other: &Self) -> bool {
        let asks = |one: &Self| one.first_request.is_some() && one.responses.is_none();
        asks(self) && asks(other)
    }

    fn pairs_with(&self, other: &Self) -> bool {
        !self.are_only_requests(other) && self.answered_by(other) && other.answered_by(self)
    }

    /// Returns true if `answers` can be the answers of a responder with wrong PSNs: they come after the
    /// requests, and their PSNs are near. Two connections' PSNs are random, and so near by chance only once
    /// in a hundred times.
    fn roughly_answered_by(&self, answers: &Self) -> bool {
        let Some((low, high, first)) = answers.responses else { return true };
        let Some((start, since)) = self.first_request else { return false };
        let Some((last, _)) = self.last_request else { return false };
        low.since(start) > -NEAR && high.since(last) < NEAR && first >= since
    }

    fn roughly_pairs_with(&self, other: &Self) -> bool {
        !self.are_only_requests(other) && self.roughly_answered_by(other) && other.roughly_answered_by(self)
    }
}

/// Path MTU in bytes, where a packet of either direction shows it.
const fn shown_mtu(one: &FlowProfile, other: &FlowProfile) -> Option<u32> {
    larger(one.mtu, other.mtu)
}

/// Path MTU in bytes, as the Reads of either direction take PSNs.
const fn likely_mtu(one: &FlowProfile, other: &FlowProfile) -> Option<u32> {
    larger(one.spacing, other.spacing)
}

/// The larger of two numbers of bytes, where 0 is unknown.
const fn larger(one: u16, other: u16) -> Option<u32> {
    match if one > other { one } else { other } {
        0 => None,
        bytes => Some(bytes as u32),
    }
}

/// Profiles of all flows, by flow index.
pub(crate) fn profiles(trace: &Trace) -> Vec<FlowProfile> {
    let mut profiles = vec![FlowProfile::default(); trace.flows().len()];
    for record in trace.records() {
        profiles[record.flow.index()].take(record);
    }
    profiles
}

/// All pairs of an observation: one for each flow that carries requests, in the order of the hosts' metadata,
/// then of first appearance.
pub(crate) fn pairs(observation: &Observation, profiles: &[FlowProfile]) -> Vec<Pair> {
    let trace = &observation.trace;
    let mut partner = vec![None; profiles.len()];
    let mut finder = Finder { trace, profiles, partner: &mut partner };
    let listed = finder.by_metadata(&observation.connections);
    finder.by_evidence();

    let mut pairs = Vec::new();
    let mut done = vec![false; profiles.len()];
    let order = listed.into_iter().chain((0..profiles.len()).map(|at| FlowId(at as u32)));
    for flow in order {
        if !std::mem::replace(&mut done[flow.index()], true)
            && let Some(pair) = pair_of(observation, profiles, &partner, flow)
        {
            pairs.push(pair);
        }
    }
    pairs
}

fn pair_of(
    observation: &Observation,
    profiles: &[FlowProfile],
    partner: &[Option<Partner>],
    requests: FlowId,
) -> Option<Pair> {
    let profile = &profiles[requests.index()];
    let (first, _) = profile.first_request?;
    let flow = observation.trace.flows()[requests.index()];
    let (answers, certainty, candidates) = match partner[requests.index()] {
        Some(Partner::Found(answers, certainty)) => (Some(answers), certainty, 1),
        Some(Partner::Several(candidates)) => (None, Certainty::Ambiguous, candidates),
        None => (None, Certainty::OneWay, 0),
    };
    let requester_qpn = answers.map(|answers| observation.trace.flows()[answers.index()].dest_qpn);
    let known = observation.connections.iter().find(|connection| {
        let (from, to) = (&connection.requester, &connection.responder);
        from.ip == flow.source && to.ip == flow.destination && to.qpn == Some(flow.dest_qpn)
    });
    let connection = known.copied().unwrap_or_else(|| Connection {
        requester: Endpoint { qpn: requester_qpn, ..Endpoint::new(flow.source) },
        responder: Endpoint { qpn: Some(flow.dest_qpn), ..Endpoint::new(flow.destination) },
    });
    let other = answers.map_or(profile, |answers| &profiles[answers.index()]);
    Some(Pair {
        connection,
        initial_psn: connection.requester.initial_psn.unwrap_or(first),
        requests,
        answers,
        certainty,
        candidates,
        mtu: shown_mtu(profile, other),
        likely_mtu: likely_mtu(profile, other),
    })
}

/// State of the search for a flow's other direction.
#[derive(Clone, Copy, Debug)]
enum Partner {
    Found(FlowId, Certainty),
    Several(usize),
}

struct Finder<'a> {
    trace: &'a Trace,
    profiles: &'a [FlowProfile],
    partner: &'a mut [Option<Partner>],
}

impl Finder<'_> {
    fn join(&mut self, one: FlowId, other: FlowId, certainty: Certainty) {
        self.partner[one.index()] = Some(Partner::Found(other, certainty));
        self.partner[other.index()] = Some(Partner::Found(one, certainty));
    }

    fn is_free(&self, flow: FlowId) -> bool {
        self.partner[flow.index()].is_none()
    }

    /// Pairs the flows that the metadata names; the requests' flows in its order.
    fn by_metadata(&mut self, connections: &[Connection]) -> Vec<FlowId> {
        let flows: FxHashMap<(IpAddr, IpAddr, u32), FlowId> = (0..)
            .map(FlowId)
            .zip(self.trace.flows())
            .map(|(id, flow)| ((flow.source, flow.destination, flow.dest_qpn), id))
            .collect();
        let find = |from: &Endpoint, to: &Endpoint| flows.get(&(from.ip, to.ip, to.qpn?)).copied();
        let mut order = Vec::new();
        for connection in connections {
            let there = find(&connection.requester, &connection.responder);
            let back = find(&connection.responder, &connection.requester);
            if let (Some(there), Some(back)) = (there, back) {
                self.join(there, back, Certainty::Metadata);
            }
            order.extend(there);
        }
        order
    }

    /// Pairs the other flows by their packets.
    fn by_evidence(&mut self) {
        let mut between: BTreeMap<(IpAddr, IpAddr), [Vec<FlowId>; 2]> = BTreeMap::new();
        for (id, flow) in (0..).map(FlowId).zip(self.trace.flows()) {
            if self.is_free(id) && self.profiles[id.index()].packets > 0 {
                let (low, high) = (flow.source.min(flow.destination), flow.source.max(flow.destination));
                between.entry((low, high)).or_default()[usize::from(flow.source != low)].push(id);
            }
        }
        for [there, back] in between.into_values() {
            if let ([one], [other]) = (&there[..], &back[..])
                && self.are_alone(*one, *other)
            {
                self.join(*one, *other, Certainty::Addresses);
            } else {
                self.match_flows(&there, &back);
            }
        }
    }

    /// Returns true if the only flows between two addresses are one connection.
    fn are_alone(&self, one: FlowId, other: FlowId) -> bool {
        let (one, other) = (&self.profiles[one.index()], &self.profiles[other.index()]);
        one.pairs_with(other) || one.roughly_pairs_with(other)
    }

    /// Pairs flows that are each other's only candidate, by PSN and then by source port, until nothing changes.
    fn match_flows(&mut self, there: &[FlowId], back: &[FlowId]) {
        let by_port_only = there.len().saturating_mul(back.len()) > MAX_CANDIDATES;
        let candidates = self.candidates(there, back, by_port_only);
        for certainty in [Certainty::Psn, Certainty::SourcePort] {
            loop {
                let joined = self.join_unique(&candidates, certainty);
                if joined == 0 {
                    break;
                }
            }
        }
        for (flow, others) in &candidates {
            if self.is_free(*flow) && !others.is_empty() {
                let free = others.iter().filter(|other| self.is_free_or_several(**other)).count();
                if free > 0 {
                    self.partner[flow.index()] = Some(Partner::Several(free));
                }
            }
        }
    }

    fn is_free_or_several(&self, flow: FlowId) -> bool {
        !matches!(self.partner[flow.index()], Some(Partner::Found(..)))
    }

    /// Candidates of every flow, both ways.
    fn candidates(
        &self,
        there: &[FlowId],
        back: &[FlowId],
        by_port_only: bool,
    ) -> BTreeMap<FlowId, Vec<FlowId>> {
        let mut of_port: FxHashMap<u16, Vec<FlowId>> = FxHashMap::default();
        if by_port_only {
            for flow in back {
                of_port.entry(self.profiles[flow.index()].src_port).or_default().push(*flow);
            }
        }
        let mut candidates: BTreeMap<FlowId, Vec<FlowId>> = BTreeMap::new();
        for flow in there {
            let profile = &self.profiles[flow.index()];
            let others = if by_port_only {
                of_port.get(&profile.src_port).map_or(&[][..], |flows| &flows[..flows.len().min(back.len())])
            } else {
                back
            };
            for other in others.iter().filter(|other| profile.pairs_with(&self.profiles[other.index()])) {
                candidates.entry(*flow).or_default().push(*other);
                candidates.entry(*other).or_default().push(*flow);
            }
        }
        candidates
    }

    /// Joins the flows that are each other's only free candidate; returns how many pairs were joined.
    fn join_unique(&mut self, candidates: &BTreeMap<FlowId, Vec<FlowId>>, certainty: Certainty) -> usize {
        let only = |finder: &Self, flow: FlowId| {
            let port = finder.profiles[flow.index()].src_port;
            let fits = |other: &&FlowId| {
                finder.is_free(**other)
                    && (certainty == Certainty::Psn || finder.profiles[other.index()].src_port == port)
            };
            let mut fitting = candidates.get(&flow)?.iter().filter(fits);
            fitting.next().filter(|_| fitting.next().is_none()).copied()
        };
        let mut joined = 0;
        for flow in candidates.keys().copied() {
            if self.is_free(flow)
                && let Some(other) = only(self, flow)
                && only(self, other) == Some(flow)
            {
                self.join(flow, other, certainty);
                joined += 1;
            }
        }
        joined
    }
}
