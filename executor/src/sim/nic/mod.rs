//! A simulated NIC: a pure machine that takes inputs with their time, and is asked for packets, events and the time of
//! its next wake-up. It reads no clock and does no I/O.

mod congestion;
mod context;
mod eswitch;
mod port;
mod quirks;
mod reorder;
mod stats;
#[cfg(test)]
mod tests;
mod transport;

use dumper::Nanos;
use dumper::wire::{Class, Ecn};
use rand_chacha::ChaCha8Rng;

use congestion::{NotificationPoint, Signs};
pub(super) use context::{Attributes, Half, HostEvent};
use context::{Context, Job, every_nth};
pub(super) use eswitch::{Credit, Eswitch, Refusal};

use port::{Arrival, Paths, ReceiveBuffer, Selection, Transmitter};
use quirks::{Activity, QuirkSets};
use reorder::Engine;
pub(super) use stats::{FAMILIES, Stat, Stats};
pub(super) use transport::{Dummies, QpSetup};
use transport::{Qp, Requester};

use super::agenda::{Agenda, sooner};
use super::packet::Packet;
use super::random;
use crate::NicProfile;

/// Work that a host's software posts to its NIC.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// The host posts a message on a QP, with so many dummies behind it.
    Post { qp: u32, message: u32, verb: corpus::Verb, bytes: u32, dummies: u8 },
    /// The host posts dummies behind the last message of a QP.
    PostDummies { qp: u32, message: u32, verb: corpus::Verb, dummies: u8 },
    /// The host posts a Receive on a QP.
    PostReceive { qp: u32 },
}

/// Flows of data that a QP receives: responses, and requests.
const FLOWS: usize = 2;

/// Place of a packet among the data that its QP receives.
#[derive(Clone, Copy)]
struct Place {
    flow: usize,
    half: Half,
    /// Distance from the first missing packet.
    distance: u32,
}

/// A NIC.
#[derive(Debug)]
pub(super) struct Nic {
    profile: NicProfile,
    quirks: QuirkSets,
    attributes: Attributes,
    /// Number of QP 0; the others follow.
    first_qpn: u32,
    qps: Vec<Qp>,
    transmitter: Transmitter,
    receive: ReceiveBuffer,
    /// Apart, so that a NIC without one has its other parts closer together.
    reorder: Option<Box<Engine>>,
    /// Its own switch, if the host has offloaded flows; apart likewise.
    pub(super) eswitch: Option<Box<Eswitch>>,
    /// Data in flight, if its NIC bounds it; apart likewise.
    credit: Option<Box<Credit>>,
    paths: Paths,
    notification: NotificationPoint,
    agenda: Agenda<Job>,
    stats: Stats,
    rng: ChaCha8Rng,
    events: Vec<HostEvent>,
    contexts_in_use: u32,
    arrivals: u32,
}

impl Nic {
    pub(super) fn new(
        profile: NicProfile,
        attributes: Attributes,
        (ets, offload, operates): (Option<&corpus::Ets>, Option<&corpus::Offload>, bool),
        first_qpn: u32,
        peer_addresses: usize,
        qps: &[QpSetup],
        rng: ChaCha8Rng,
    ) -> Self {
        let ceiling = profile.ets.ceiling_percent;
        let selection = ets.map(|ets| Selection::new(ets, ceiling, attributes.mtu, profile.link.rate_gbps));
        let classes = qps.iter().map(|setup| setup.class);
        // The addresses of a test are all of one version.
        let ipv6 = qps.first().is_some_and(|setup| setup.ipv6);
        let ip_version = if ipv6 { corpus::IpVersion::V6 } else { corpus::IpVersion::V4 };
        Self {
            notification: NotificationPoint::new(&profile, &attributes, qps.len(), peer_addresses),
            receive: ReceiveBuffer::new(&profile.receive),
            reorder: Engine::new(&profile.reorder, FLOWS * qps.len()).map(Box::new),
            eswitch: Eswitch::new(&profile.eswitch, offload, operates, (qps.len() as u32, ip_version))
                .map(Box::new),
            credit: Credit::new(profile.eswitch.in_flight_bytes, qps.len()).map(Box::new),
            paths: Paths::new(&profile.apm, qps.len()),
            transmitter: Transmitter::new(classes, selection, profile.transmit.burst),
            quirks: QuirkSets::new(&profile),
            attributes,
            first_qpn,
            qps: qps.iter().map(|setup| Qp::new(setup, &attributes, &profile)).collect(),
            profile,
            agenda: Agenda::new(),
            stats: Stats::default(),
            rng,
            events: Vec::new(),
            contexts_in_use: 0,
            arrivals: 0,
        }
    }

    pub(super) const fn profile(&self) -> &NicProfile {
        &self.profile
    }

    pub(super) const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Counts something that happens at its port.
    pub(super) const fn count(&mut self, stat: Stat) {
        self.stats.count(stat);
    }

    pub(super) const fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    pub(super) const fn agenda(&self) -> &Agenda<Job> {
        &self.agenda
    }

    pub(super) const fn receive_buffer(&self) -> &ReceiveBuffer {
        &self.receive
    }

    pub(super) const fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    pub(super) fn credit(&self) -> Option<&Credit> {
        self.credit.as_deref()
    }

    pub(super) fn qps(&self) -> &[Qp] {
        &self.qps
    }

    /// Takes a packet off the cable.
    #[inline]
    pub(super) fn receive(&mut self, now: Nanos, packet: &Packet) {
        let qp = self.qp_of(packet);
        match &mut self.eswitch {
            None => self.pass_on(packet, now),
            Some(eswitch) if self.receive.retain(packet) => eswitch.arrives(*packet, qp, now),
            Some(_) => self.stats.count(Stat::Discards),
        }
    }

    /// Takes work of the host's software.
    #[inline]
    pub(super) fn post(&mut self, now: Nanos, work: Work) {
        match work {
            Work::Post { qp, message, verb, bytes, dummies } => {
                let (end, mut cx) = self.at(qp, now, Activity::Post { message, verb });
                end.requester.post(message, verb, bytes, dummies, &mut cx);
                self.wake(qp, now);
            }
            Work::PostDummies { qp, message, verb, dummies } => {
                let (end, cx) = self.at(qp, now, Activity::Post { message, verb });
                end.requester.post_dummies(message, verb, dummies, &cx);
                self.wake(qp, now);
            }
            Work::PostReceive { qp } => self.qps[qp as usize].responder.post_receive(),
        }
    }

    /// A packet goes on to the receive buffer.
    #[inline(always)]
    fn pass_on(&mut self, packet: &Packet, now: Nanos) {
        let held = self.paths.hold(packet, self.qp_of(packet));
        match self.receive.arrive(packet, held, now) {
            Arrival::Passes => self.take_in(packet, now),
            Arrival::Waits => {}
            Arrival::Discarded => self.stats.count(Stat::Discards),
        }
        self.note_stall();
    }

    /// Performs the actions that are due.
    pub(super) fn handle_timeout(&mut self, now: Nanos) {
        while let Some(packet) = self.eswitch.as_mut().and_then(|eswitch| eswitch.take_ingress(now)) {
            self.receive.let_go(&packet);
            self.pass_on(&packet, now);
        }
        while let Some(job) = self.agenda.take_due(now) {
            match job {
                Job::ContextFree => {
                    self.contexts_in_use -= 1;
                    self.note_stall();
                }
                Job::PathResolved => {
                    self.paths.resolved();
                    self.note_stall();
                }
                Job::AckTimer(qp) => self.at_requester(qp, now, Requester::on_ack_timer),
                Job::Recover(qp) => self.at_requester(qp, now, Requester::on_recover),
                Job::RnrOver(qp) => self.at_requester(qp, now, |requester, _| requester.on_rnr_over()),
                Job::AnswerReady(qp) | Job::HoldOver(qp) => self.wake(qp, now),
            }
        }
        if let Some(gather) = self.reorder.as_mut().and_then(|engine| engine.gather.as_mut()) {
            gather.take_due(now, &mut self.receive.drained);
        }
        while let Some((packet, is_drained)) = self.receive.take(now) {
            if is_drained {
                let holding = self.holding(self.qp_of(&packet), Activity::Arrival(&packet));
                let place = self.place(&packet);
                self.process(&packet, place, holding, now);
            } else {
                self.take_in(&packet, now);
            }
            self.note_stall();
        }
    }

    /// Time at which [`Nic::handle_timeout`] is to be called.
    #[inline]
    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        let next = sooner(self.agenda.next_at(), self.receive.next_at());
        if self.reorder.is_none() && self.eswitch.is_none() {
            return next;
        }
        let gather = self.reorder.as_ref().and_then(|engine| engine.gather.as_ref()?.next_at());
        let looked_up = self.eswitch.as_ref().and_then(|eswitch| eswitch.next_ingress());
        sooner(next, sooner(gather, looked_up))
    }

    /// Time at which [`Nic::poll_transmit`] may have a packet.
    #[inline]
    pub(super) fn next_transmit(&self, now: Nanos) -> Option<Nanos> {
        self.transmitter.next_at(now)
    }

    /// Returns true if there are events for the host.
    #[inline]
    pub(super) const fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Moves the events for the host into `into`, in order.
    pub(super) fn take_events(&mut self, into: &mut Vec<HostEvent>) {
        into.append(&mut self.events);
    }

    /// A packet reaches the transport.
    fn take_in(&mut self, packet: &Packet, now: Nanos) {
        self.stats.count(Stat::PacketsReceived);
        if packet.corrupt {
            self.stats.count(Stat::IcrcErrors);
            return;
        }
        let qp = self.qp_of(packet);
        let is_known = (qp as usize) < self.qps.len();
        let activity = Activity::Arrival(packet);
        let holding = if is_known { self.holding(qp, activity) } else { 0 };
        if every_nth(&mut self.arrivals, self.quirks.get(holding).silent_discard_every) {
            return;
        }
        if !is_known || packet.undeliverable {
            return;
        }
        self.stats.count(Stat::PacketsTaken);
        if self.paths.pass(packet, qp) {
            let resolved = now + Nanos(random::draw(self.profile.apm.resolve_ns, &mut self.rng));
            self.agenda.note(resolved, Job::PathResolved);
        }
        if Ecn::of(packet.traffic_class) == Ecn::Ce {
            self.stats.count(Stat::MarkedReceived);
        }
        let place = self.place(packet);
        if !self.gather(packet, place, now) {
            self.process(packet, place, holding, now);
        }
    }

    /// The flow of data of a packet, and its distance there; none without a reorder engine.
    #[inline]
    fn place(&mut self, packet: &Packet) -> Option<Place> {
        self.reorder.as_ref()?;
        self.place_in_flow(packet)
    }

    fn place_in_flow(&mut self, packet: &Packet) -> Option<Place> {
        let qp = self.qp_of(packet);
        let (half, distance) = self.qps[qp as usize].place(packet)?;
        Some(Place { flow: flow(qp, half), half, distance })
    }

    /// Gathers a packet whose access to its bitmap would take long; false if it is to be processed at once.
    #[inline]
    fn gather(&mut self, packet: &Packet, place: Option<Place>, now: Nanos) -> bool {
        let (Some(engine), Some(place)) = (&mut self.reorder, place) else { return false };
        if !engine.gathers(place.distance) {
            return false;
        }
        let Some(gather) = &mut engine.gather else { return false };
        if self.receive.retain(packet) {
            gather.push(place.flow, *packet, now, &mut self.receive.drained);
        } else {
            self.stats.count(Stat::Discards);
        }
        true
    }

    /// The transport accesses the bitmap of a packet, which keeps it busy; false if the packet's bit has no room.
    #[inline(always)]
    fn access(&mut self, qp: u32, place: Option<Place>) -> bool {
        let Some(place) = place else { return true };
        self.access_bitmap(qp, place)
    }

    fn access_bitmap(&mut self, qp: u32, place: Place) -> bool {
        let Some(engine) = &mut self.reorder else { return true };
        let bitmap = self.qps[qp as usize].bitmap(place.half).map(|(_, bitmap)| bitmap);
        let access = engine.access(place.flow, place.distance, bitmap.unwrap_or_default());
        self.receive.keep_busy(access.unwrap_or_default());
        access.is_some()
    }

    /// The reorder engine has the bitmaps that a QP has now, or a half of it, and the data in flight is what it has sent.
    #[inline(always)]
    fn settle(&mut self, qp: u32, half: Option<Half>) {
        if self.reorder.is_some() {
            self.settle_bitmaps(qp, half);
        }
        if self.credit.is_some() {
            self.settle_credit(qp);
        }
    }

    /// What is acknowledged of a QP, or was sent by one that has ended, makes room for the data of others.
    fn settle_credit(&mut self, qp: u32) {
        let Some(credit) = &mut self.credit else { return };
        let requester = &self.qps[qp as usize].requester;
        let before = if requester.failed { u32::MAX } else { requester.recovery.oldest() };
        credit.acknowledged(qp, before);
        for _ in 0..credit.room(self.attributes.mtu) {
            let Some(next) = credit.next_waiting() else { return };
            self.transmitter.enqueue(next, Half::Requester);
        }
    }

    fn settle_bitmaps(&mut self, qp: u32, only: Option<Half>) {
        let (Some(engine), end) = (&mut self.reorder, &self.qps[qp as usize]) else { return };
        for half in Half::ALL.into_iter().filter(|half| only.is_none_or(|only| only == *half)) {
            if let Some((base, bitmap)) = end.bitmap(half) {
                engine.settle(flow(qp, half), base, bitmap);
            }
        }
    }

    /// The transport takes a packet.
    #[inline(always)]
    fn process(&mut self, packet: &Packet, place: Option<Place>, holding: usize, now: Nanos) {
        let qp = self.qp_of(packet);
        let marked = Ecn::of(packet.traffic_class) == Ecn::Ce;
        let class = packet.opcode.class();
        let has_room = self.access(qp, place);
        let (end, mut cx) = self.at(qp, now, Activity::Arrival(packet));
        let mut out_of_order = false;
        match class {
            Class::ReadResponse(_) if !has_room => end.requester.ask_for_first(&mut cx),
            _ if !has_room => end.responder.no_room(packet, &mut cx),
            Class::Request(..) | Class::ReadRequest => {
                out_of_order = end.responder.on_request(packet, &mut cx);
            }
            Class::Acknowledge => end.requester.on_acknowledge(packet.psn, packet.aeth, &mut cx),
            Class::ReadResponse(_) => out_of_order = end.requester.on_read_response(packet, &mut cx),
            Class::Cnp => {
                cx.count(Stat::CnpsHandled);
                end.slow_down(&cx);
            }
            Class::AtomicRequest | Class::Unknown => end.responder.on_unsupported(packet),
            Class::AtomicAcknowledge | Class::Datagram => {}
        }
        self.settle(qp, place.map(|place| place.half));
        let (profile, quirks, attributes) = (&self.profile, self.quirks.get(holding), &self.attributes);
        if class != Class::Cnp
            && self.notification.notifies(
                profile,
                quirks,
                attributes,
                qp,
                Signs { marked, out_of_order },
                now,
            )
        {
            self.send_cnp(qp);
        }
        self.wake(qp, now);
    }

    /// The QP that a packet is for, by its place; beyond all for an unknown QPN.
    #[inline]
    const fn qp_of(&self, packet: &Packet) -> u32 {
        packet.dest_qpn.wrapping_sub(self.first_qpn)
    }

    /// A QP, and the surroundings for it to handle an input.
    #[inline]
    fn at(&mut self, qp: u32, now: Nanos, activity: Activity<'_>) -> (&mut Qp, Context<'_>) {
        let holding = self.holding(qp, activity);
        let end = &mut self.qps[qp as usize];
        let cx = Context {
            now,
            qp,
            slowed: end.is_slowed(),
            profile: &self.profile,
            quirks: self.quirks.get(holding),
            attributes: &self.attributes,
            rng: &mut self.rng,
            stats: &mut self.stats,
            agenda: &mut self.agenda,
            events: &mut self.events,
            contexts_in_use: &mut self.contexts_in_use,
        };
        (end, cx)
    }

    fn at_requester(&mut self, qp: u32, now: Nanos, handle: fn(&mut Requester, &mut Context<'_>)) {
        let (end, mut cx) = self.at(qp, now, Activity::Expiry);
        handle(&mut end.requester, &mut cx);
        self.settle(qp, None);
        self.wake(qp, now);
    }

    /// Gives a QP its turns if it has something to send.
    #[inline]
    fn wake(&mut self, qp: u32, now: Nanos) {
        let max_reads = self.attributes.max_rd_atomic;
        let waits = self.transmitter.waits(qp, Half::Responder);
        let (end, mut cx) = self.at(qp, now, Activity::Answer);
        let requests = end.requester.is_ready(max_reads);
        let answers = !waits && end.responder.is_ready(&mut cx);
        if requests {
            self.transmitter.enqueue(qp, Half::Requester);
        }
        if answers {
            self.transmitter.enqueue(qp, Half::Responder);
        }
    }

    /// The receive pipeline stands still while more losses are recovered through the slow path than it has
    /// contexts, and while the packet in front waits for a context of path migration.
    #[inline]
    fn note_stall(&mut self) {
        let contexts = self.profile.slow_path.contexts;
        let recovers = contexts > 0 && self.contexts_in_use > contexts;
        let held = self.receive.head().is_some_and(|packet| self.paths.hold(packet, self.qp_of(packet)));
        self.receive.set_stalled(recovers || held);
    }
}

/// Number of the flow of data that a half of a QP receives.
const fn flow(qp: u32, half: Half) -> usize {
    FLOWS * qp as usize + half as usize
}
