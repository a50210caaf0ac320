//! Both cables, and the switch between them: its pipeline, its egress queues, its mirror.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use corpus::{HeaderField, Role};
use dumper::trace::{Origin, flags};
use dumper::wire::{Ecn, Opcode};
use dumper::{Event, Exit, Flow, FlowId, Nanos, Record, SwitchCounters, Trace};
use p4::{Actions, FlowIndex, MAX_HOLD, Pipeline, Ticket, Timing};
use rand_chacha::ChaCha8Rng;

use super::agenda::Agenda;
use super::packet::Packet;
use super::random::draw;
use super::rewrite::rewrite;
use crate::profile::{Link, Span};

/// Latency that the event injector adds to the way of a packet: under 0.4 µs (Lumina §5).
const SWITCH_LATENCY: Nanos = Nanos(300);

/// One host's cable, and the way from it into the host.
pub(super) struct Cable {
    link: Link,
    receive_latency: Span<u64>,
    rng: ChaCha8Rng,
    /// Packets on their way to the switch, and when they are there.
    up: VecDeque<(Nanos, Packet)>,
    /// Packets on their way to the host's transport.
    down: VecDeque<(Nanos, Packet)>,
    /// Time at which the switch's end can send the next packet, in ps.
    down_free: u64,
    /// Time at which the last packet that others have overtaken leaves towards the host.
    overtaken: Nanos,
}

impl Cable {
    pub(super) const fn new(link: Link, receive_latency: Span<u64>, rng: ChaCha8Rng) -> Self {
        Self {
            link,
            receive_latency,
            rng,
            up: VecDeque::new(),
            down: VecDeque::new(),
            down_free: 0,
            overtaken: Nanos::ZERO,
        }
    }

    /// Time that a packet takes.
    fn packet_ns(&self, packet: &Packet) -> Nanos {
        Nanos(self.packet_ps(packet).div_ceil(1_000))
    }

    /// Time that a packet takes, in ps.
    fn packet_ps(&self, packet: &Packet) -> u64 {
        u64::from(packet.cable_len()) * 8_000 / u64::from(self.link.rate_gbps)
    }
}

/// Addresses of a connection's packets from one host.
pub(super) struct Route {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) dest_qpn: u32,
    pub(super) src_port: u16,
    /// The flow in the injector's tables.
    pub(super) flow: Option<FlowIndex>,
    /// The flow in the trace, once it has a packet.
    pub(super) traced: Option<FlowId>,
}

/// A packet in the switch that leaves later.
struct Held {
    to: Role,
    packet: Packet,
    rewritten: bool,
    copies: u8,
    /// Its record in the trace.
    record: usize,
}

/// Later action of the switch.
enum Later {
    Depart(Held),
    Expire(Ticket),
}

/// The network of a test.
pub(super) struct Network {
    cables: [Cable; 2],
    /// By connection and sender.
    routes: Vec<[Route; 2]>,
    pipeline: Pipeline,
    held: BTreeMap<Ticket, Held>,
    later: Agenda<Later>,
    trace: Trace,
}

impl Network {
    pub(super) fn new(cables: [Cable; 2], mut routes: Vec<[Route; 2]>, pipeline: Pipeline) -> Self {
        for route in routes.iter_mut().flatten() {
            route.flow = pipeline.flow(route.destination, route.dest_qpn);
        }
        let trace = Trace::new(Origin::Mirror);
        Self { cables, routes, pipeline, held: BTreeMap::new(), later: Agenda::new(), trace }
    }

    /// Sends a packet from a host at a time in ps; returns when the cable can take the next one.
    pub(super) fn send(&mut self, from: Role, packet: Packet, now_ps: u64) -> u64 {
        let cable = &mut self.cables[from as usize];
        let sent = now_ps + cable.packet_ps(&packet);
        let there = Nanos(sent.div_ceil(1_000) + cable.link.propagation_ns);
        cable.up.push_back((there, packet));
        sent
    }

    /// Sends a packet before all that were sent ahead of their time and are not on the cable yet, but for
    /// others like it; returns the delay of these, in ps, or `None` if it passed none.
    pub(super) fn send_past(&mut self, from: Role, packet: Packet, now: Nanos) -> Option<u64> {
        let cable = &mut self.cables[from as usize];
        let (slot, propagation) = (cable.packet_ns(&packet), Nanos(cable.link.propagation_ns));
        let waits = |(there, other): &(Nanos, Packet)| {
            *there - propagation - cable.packet_ns(other) >= now && other.opcode != packet.opcode
        };
        let place = cable.up.iter().position(waits)?;
        let there = cable.up[place].0 - cable.packet_ns(&cable.up[place].1) + slot;
        cable.up.range_mut(place..).for_each(|(later, _)| *later += slot);
        cable.up.insert(place, (there, packet));
        Some(slot.0 * 1_000)
    }

    /// Time at which the next packet of a host enters the switch.
    #[inline]
    pub(super) fn next_entry(&self, from: Role) -> Option<Nanos> {
        self.cables[from as usize].up.front().map(|(at, _)| *at)
    }

    /// Time at which the next packet reaches a host's transport.
    #[inline]
    pub(super) fn next_arrival(&self, to: Role) -> Option<Nanos> {
        self.cables[to as usize].down.front().map(|(at, _)| *at)
    }

    /// Time of the switch's next own action.
    #[inline]
    pub(super) fn next_later(&self) -> Option<Nanos> {
        self.later.next_at()
    }

    /// Takes the next packet for a host off its cable.
    pub(super) fn take_arrival(&mut self, to: Role) -> Option<Packet> {
        self.cables[to as usize].down.pop_front().map(|(_, packet)| packet)
    }

    /// The next packet of a host enters the switch.
    pub(super) fn enter(&mut self, from: Role) {
        let Some((now, packet)) = self.cables[from as usize].up.pop_front() else { return };
        let flow = self.route(&packet, from).flow;
        let syndrome = (packet.opcode == Opcode::Acknowledge).then_some(packet.aeth.syndrome);
        let headers = p4::Packet::new(packet.opcode, syndrome, packet.psn);
        let verdict = self.pipeline.process(from, flow, headers, now);
        let record = self.mirror(from, &packet, now, verdict.mirror.sequence, verdict.mirror.event);
        let to = from.peer();
        let actions = verdict.actions;
        if verdict.mirror.event == Event::None {
            self.depart(to, packet, now);
        } else if !actions.drop {
            let ipv6 = self.route(&packet, from).source.is_ipv6();
            let (packet, rewritten) = changed(packet, &actions, ipv6);
            let held = Held { to, packet, rewritten, copies: actions.leaving(), record };
            match (verdict.hold, actions.timing) {
                (Some(ticket), _) => {
                    self.held.insert(ticket, held);
                    self.later.note(now + MAX_HOLD, Later::Expire(ticket));
                }
                (None, Timing::Delay(delay)) => self.later.note(now + delay, Later::Depart(held)),
                (None, Timing::AtOnce | Timing::Reorder(_)) => self.release(&held, now),
            }
        }
        if verdict.releases {
            self.release_overtaken(now);
        }
    }

    /// Performs the switch's action that is due now.
    pub(super) fn handle_later(&mut self, now: Nanos) {
        match self.later.take_due(now) {
            Some(Later::Depart(held)) => self.release(&held, now),
            Some(Later::Expire(ticket)) if self.pipeline.expire(ticket) => {
                if let Some(held) = self.held.remove(&ticket) {
                    self.release(&held, now);
                }
                self.release_overtaken(now);
            }
            Some(Later::Expire(_)) | None => {}
        }
    }

    /// Held packets leave right behind the one that lets them go, each a nanosecond after the one before:
    /// their order is to be seen in the trace, also among the packets that enter meanwhile.
    fn release_overtaken(&mut self, now: Nanos) {
        let tickets: Vec<Ticket> = self.pipeline.take_released().collect();
        for ticket in tickets {
            let Some(held) = self.held.remove(&ticket) else { continue };
            let overtaken = &mut self.cables[held.to as usize].overtaken;
            let at = now.max(*overtaken + Nanos(1));
            *overtaken = at;
            if at == now {
                self.release(&held, now);
            } else {
                self.later.note(at, Later::Depart(held));
            }
        }
    }

    /// A packet that an event hit leaves, with its copies.
    fn release(&mut self, held: &Held, now: Nanos) {
        let entered = self.trace.records()[held.record];
        if matches!(
            entered.event(),
            Event::Delay | Event::Reorder | Event::Duplicate | Event::SetField | Event::Several
        ) {
            let mig_req = held.packet.mig_req;
            let was = entered.flags & flags::MIG_REQ != 0;
            let exit = Exit {
                time: now,
                copies: held.copies,
                corrupt: held.packet.corrupt,
                ce: Ecn::of(held.packet.traffic_class) == Ecn::Ce,
                mig_req: (mig_req != was).then_some(mig_req),
                rewritten: held.rewritten,
            };
            self.trace.set_exit(held.record, exit);
        }
        for _ in 0..held.copies {
            self.depart(held.to, held.packet, now);
        }
    }

    /// A packet leaves towards a host, behind the packets that wait for the cable.
    fn depart(&mut self, to: Role, packet: Packet, now: Nanos) {
        let cable = &mut self.cables[to as usize];
        let start = ((now + SWITCH_LATENCY).0 * 1_000).max(cable.down_free);
        cable.down_free = start + cable.packet_ps(&packet);
        let latency = cable.link.propagation_ns + draw(cable.receive_latency, &mut cable.rng);
        let there = Nanos(cable.down_free.div_ceil(1_000) + latency);
        // Packets do not overtake each other on their way in.
        let there = cable.down.back().map_or(there, |(last, _)| there.max(*last));
        cable.down.push_back((there, packet));
    }

    /// Adds a packet to the trace, as it entered; returns its place there.
    fn mirror(&mut self, from: Role, packet: &Packet, now: Nanos, sequence: u32, event: Event) -> usize {
        let route = &mut self.routes[packet.connection as usize][from as usize];
        let flow = *route.traced.get_or_insert_with(|| {
            self.trace.add_flow(Flow {
                source: route.source,
                destination: route.destination,
                dest_qpn: route.dest_qpn,
                vlan: None,
            })
        });
        let mut record = Record::new(now, sequence, flow, packet.opcode, packet.psn);
        record.frame_len = packet.frame_len;
        record.payload_len = packet.payload;
        record.src_port = route.src_port;
        record.traffic_class = packet.traffic_class;
        record.set_event(event);
        record.flags =
            [(packet.ack_req, flags::ACK_REQ), (packet.becn, flags::BECN), (packet.mig_req, flags::MIG_REQ)]
                .into_iter()
                .fold(0, |bits, (set, bit)| bits | if set { bit } else { 0 });
        record.set_extensions(packet.reth, packet.aeth);
        self.trace.push(record);
        self.trace.records().len() - 1
    }

    fn route(&self, packet: &Packet, from: Role) -> &Route {
        &self.routes[packet.connection as usize][from as usize]
    }

    /// Packets in the trace so far.
    pub(super) fn packets(&self) -> usize {
        self.trace.records().len()
    }

    /// The trace, and the counters of the switch.
    pub(super) fn finish(self) -> (Trace, SwitchCounters) {
        let counters = self.pipeline.counters();
        (self.trace, counters)
    }
}

/// A packet as it leaves after an event, and whether the receiver sees another one by that than entered.
fn changed(packet: Packet, actions: &Actions, ipv6: bool) -> (Packet, bool) {
    let mut left = packet;
    let rewritten = actions
        .set_field
        .is_some_and(|set| rewrite(&mut left, set, ipv6) && set.field != HeaderField::MigReq);
    left.corrupt = actions.corrupt;
    if actions.ecn {
        left.traffic_class |= 0b11;
    }
    (left, rewritten)
}
