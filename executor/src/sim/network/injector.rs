//! The switch with the event injector: its pipeline, the packets that it holds back, its mirror.

use std::collections::BTreeMap;

use corpus::HeaderField;
use dumper::trace::{Vantage, flags};
use dumper::wire::{Ecn, Opcode};
use dumper::{Event, Exit, Nanos, SwitchCounters, Trace};
use p4::{Actions, MAX_HOLD, Pipeline, Ticket};

use super::link::Link;
use super::mirror::Mirror;
use super::rewrite::rewrite;
use super::route::{Route, Routes};
use super::topology::HostId;
use crate::sim::agenda::{Agenda, Timer};
use crate::sim::packet::Packet;

/// Latency that the event injector adds to the way of a packet: under 0.4 µs (Lumina §5).
const SWITCH_LATENCY: Nanos = Nanos(300);

/// A packet in the switch that leaves later.
struct Held {
    to: HostId,
    /// As it leaves, and how often: itself, and its duplicates.
    packet: Packet,
    rewritten: bool,
    originals: u8,
    /// As it entered, and how many copies of the network leave so. Apart, as few packets have copies.
    copies: Option<Box<(Packet, u8)>>,
    /// Time from its release until it leaves, if it is held.
    delay: Nanos,
    /// Its place in the trace.
    record: usize,
}

/// Later action of the switch.
enum Later {
    /// A packet leaves, by its place in [`Departures`].
    Depart(u32),
    Expire(Ticket),
}

/// Packets whose departure is in the agenda, which moves its entries often: thousands of packets can be on a long path.
#[derive(Default)]
struct Departures {
    places: Vec<Option<Held>>,
    /// Places without a packet.
    free: Vec<u32>,
}

impl Departures {
    fn put(&mut self, held: Held) -> Later {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(held);
        Later::Depart(place)
    }

    fn take(&mut self, place: u32) -> Option<Held> {
        self.free.push(place);
        self.places[place as usize].take()
    }
}

/// The switch.
pub(super) struct Injector {
    pipeline: Pipeline,
    /// Packets that wait for others to overtake them, each with the timer that ends the wait.
    held: BTreeMap<Ticket, (Held, Timer)>,
    later: Agenda<Later>,
    departures: Departures,
    /// By host: time at which the last packet that others have overtaken leaves towards it.
    overtaken: Vec<Nanos>,
    mirror: Mirror,
}

impl Injector {
    /// A switch with this pipeline and so many hosts; looks up the flow of each route.
    pub(super) fn new(pipeline: Pipeline, hosts: usize, routes: &mut Routes) -> Self {
        for route in routes.iter_mut() {
            route.flow = pipeline.flow(route.destination, route.dest_qpn);
        }
        Self {
            pipeline,
            held: BTreeMap::new(),
            later: Agenda::new(),
            departures: Departures::default(),
            overtaken: vec![Nanos::ZERO; hosts],
            mirror: Mirror::new(Vantage::FIRST),
        }
    }

    /// Time of the next own action.
    #[inline]
    pub(super) fn next_later(&self) -> Option<Nanos> {
        self.later.next_at()
    }

    /// A packet enters.
    #[inline]
    pub(super) fn enter(&mut self, packet: Packet, route: &mut Route, now: Nanos, links: &mut [Link]) {
        let syndrome = (packet.opcode == Opcode::Acknowledge).then_some(packet.aeth.syndrome);
        let headers = p4::Packet::new(packet.opcode, syndrome, packet.psn, packet.frame_len);
        let verdict = self.pipeline.process(route.sender, route.flow, headers, now);
        let event = verdict.mirror.event;
        let record = self.mirror.see(&packet, route, now, verdict.mirror.sequence, event);
        if event == Event::None {
            depart(links, route.to, packet, now);
        } else if verdict.sent.leaving() > 0 {
            let sent = verdict.sent;
            let originals = sent.originals();
            let (left, rewritten) = match originals {
                0 => (packet, false),
                _ => changed(packet, &sent.actions, route.source.is_ipv6()),
            };
            let copies = sent.leaving() - originals;
            let held = Held {
                to: route.to,
                packet: left,
                rewritten,
                originals,
                copies: (copies > 0).then(|| Box::new((packet, copies))),
                delay: verdict.delay.filter(|_| verdict.hold.is_some()).unwrap_or_default(),
                record,
            };
            match (verdict.hold, verdict.delay) {
                (Some(ticket), _) => {
                    let mut timer = Timer::default();
                    self.later.set(&mut timer, now + MAX_HOLD, Later::Expire(ticket));
                    self.held.insert(ticket, (held, timer));
                }
                (None, Some(delay)) => self.later.note(now + delay, self.departures.put(held)),
                (None, None) => self.release(&held, now, links),
            }
        }
        if verdict.releases {
            self.release_overtaken(now, links);
        }
    }

    /// Performs the action that is due now.
    pub(super) fn handle_later(&mut self, now: Nanos, links: &mut [Link]) {
        match self.later.take_due(now) {
            Some(Later::Depart(place)) => {
                if let Some(held) = self.departures.take(place) {
                    self.release(&held, now, links);
                }
            }
            Some(Later::Expire(ticket)) => {
                self.pipeline.expire(ticket);
                if let Some(held) = self.take_held(ticket) {
                    self.let_go(held, now, now, links);
                }
                self.release_overtaken(now, links);
            }
            None => {}
        }
    }

    /// Takes out a held packet, which no longer waits.
    fn take_held(&mut self, ticket: Ticket) -> Option<Held> {
        let (held, timer) = self.held.remove(&ticket)?;
        self.later.retire(timer);
        Some(held)
    }

    /// Held packets leave right behind the one that lets them go, each a nanosecond after the one before:
    /// their order is to be seen in the trace, also among the packets that enter meanwhile.
    fn release_overtaken(&mut self, now: Nanos, links: &mut [Link]) {
        let tickets: Vec<Ticket> = self.pipeline.take_released().collect();
        for ticket in tickets {
            let Some(held) = self.take_held(ticket) else { continue };
            let overtaken = &mut self.overtaken[held.to.index()];
            let at = now.max(*overtaken + Nanos(1));
            *overtaken = at;
            self.let_go(held, at, now, links);
        }
    }

    /// A packet no longer waits from a time on: it leaves then, or takes its path.
    fn let_go(&mut self, held: Held, at: Nanos, now: Nanos, links: &mut [Link]) {
        let at = at + held.delay;
        if at == now {
            self.release(&held, now, links);
        } else {
            self.later.note(at, self.departures.put(held));
        }
    }

    /// A packet that an event hit, or that has copies, leaves, with its duplicates and copies.
    fn release(&mut self, held: &Held, now: Nanos, links: &mut [Link]) {
        let entered = self.mirror.record(held.record);
        let plain = held.copies.as_ref().map_or(0, |copies| copies.1);
        if entered.event().has_exit() {
            let mig_req = held.packet.mig_req;
            let was = entered.flags & flags::MIG_REQ != 0;
            let exit = Exit {
                time: now,
                copies: held.originals + plain,
                plain,
                corrupt: held.packet.corrupt,
                ce: Ecn::of(held.packet.traffic_class) == Ecn::Ce,
                mig_req: (mig_req != was).then_some(mig_req),
                rewritten: held.rewritten,
            };
            self.mirror.left(held.record, exit);
        }
        for _ in 0..held.originals {
            depart(links, held.to, held.packet, now);
        }
        if let Some((packet, copies)) = held.copies.as_deref() {
            (0..*copies).for_each(|_| depart(links, held.to, *packet, now));
        }
    }

    /// Packets in the trace so far.
    #[inline]
    pub(super) fn packets(&self) -> usize {
        self.mirror.packets()
    }

    /// The trace, and the counters of the switch.
    pub(super) fn finish(self) -> (Trace, SwitchCounters) {
        let counters = self.pipeline.counters();
        (self.mirror.into_trace(), counters)
    }
}

/// A packet leaves towards a host.
#[inline]
fn depart(links: &mut [Link], to: HostId, packet: Packet, now: Nanos) {
    links[to.index()].deliver(packet, now + SWITCH_LATENCY);
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
