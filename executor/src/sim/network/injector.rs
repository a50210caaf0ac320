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
use crate::SWITCH_LATENCY;
use crate::sim::agenda::{Agenda, Timer};
use crate::sim::host_id::HostId;
use crate::sim::packet::Packet;

/// What leaves for a packet, and where to.
struct Leaving {
    to: HostId,
    /// As it leaves, and how often: itself, and its duplicates.
    packet: Packet,
    originals: u8,
    /// As it entered, and how many copies of the network leave so. Apart, as few packets have copies.
    copies: Option<Box<(Packet, u8)>>,
}

/// A packet that waits for others to overtake it.
struct Held {
    leaving: Leaving,
    rewritten: bool,
    /// Time from its release until it leaves.
    delay: Nanos,
    /// Its place in the trace.
    record: usize,
    /// Ends the wait.
    timer: Timer,
}

/// Later action of the switch.
enum Later {
    /// A packet leaves, by its place in [`Departures`].
    Depart(u32),
    Expire(Ticket),
}

impl Leaving {
    /// Bytes of all of it.
    fn bytes(&self) -> u64 {
        let (copy, copies) =
            self.copies.as_deref().map_or((0, 0), |(packet, copies)| (packet.frame_len, *copies));
        u64::from(self.packet.frame_len) * u64::from(self.originals) + u64::from(copy) * u64::from(copies)
    }
}

/// Packets whose departure is in the agenda, which moves its entries often: thousands of packets can be on a long path.
struct Departures {
    places: Vec<Option<Leaving>>,
    /// Places without a packet.
    free: Vec<u32>,
    on_paths: OnPaths,
}

/// What is on paths through the switch.
pub(super) struct OnPaths {
    /// Bytes of the packets towards each host.
    pub(super) bytes: Vec<u64>,
    /// Longest time that a packet was sent on its way for, so far.
    pub(super) longest: Nanos,
}

impl Departures {
    /// A packet is on its way for a time.
    fn put(&mut self, leaving: Leaving, time: Nanos) -> Later {
        self.on_paths.longest = self.on_paths.longest.max(time);
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.on_paths.bytes[leaving.to.index()] += leaving.bytes();
        self.places[place as usize] = Some(leaving);
        Later::Depart(place)
    }

    fn take(&mut self, place: u32) -> Option<Leaving> {
        self.free.push(place);
        let leaving = self.places[place as usize].take()?;
        self.on_paths.bytes[leaving.to.index()] -= leaving.bytes();
        Some(leaving)
    }
}

/// The switch.
pub(super) struct Injector {
    pipeline: Pipeline,
    /// Packets that wait for others to overtake them.
    held: BTreeMap<Ticket, Held>,
    later: Agenda<Later>,
    departures: Departures,
    /// By host: time at which the last packet that others have overtaken leaves towards it.
    overtaken: Vec<Nanos>,
    mirror: Mirror,
}

impl Injector {
    /// A switch with this pipeline and so many hosts, which about so many packets will enter; looks up the flow of each route.
    pub(super) fn new(pipeline: Pipeline, hosts: usize, routes: &mut Routes, packets: u64) -> Self {
        for route in routes.iter_mut() {
            route.flow = pipeline.flow(route.destination, route.dest_qpn);
        }
        Self {
            pipeline,
            held: BTreeMap::new(),
            later: Agenda::new(),
            departures: Departures {
                places: Vec::new(),
                free: Vec::new(),
                on_paths: OnPaths { bytes: vec![0; hosts], longest: Nanos::ZERO },
            },
            overtaken: vec![Nanos::ZERO; hosts],
            mirror: Mirror::new(Vantage::FIRST, packets),
        }
    }

    /// Time of the next own action.
    #[inline]
    pub(super) fn next_later(&self) -> Option<Nanos> {
        self.later.next_at()
    }

    /// What is on paths.
    pub(super) const fn on_paths(&self) -> &OnPaths {
        &self.departures.on_paths
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
            let changes = originals > 0 && sent.actions.change_packet();
            let (left, rewritten) = if changes {
                changed(packet, &sent.actions, route.source.is_ipv6())
            } else {
                (packet, false)
            };
            let copies = sent.leaving() - originals;
            let leaving = Leaving {
                to: route.to,
                packet: left,
                originals,
                copies: (copies > 0).then(|| Box::new((packet, copies))),
            };
            match (verdict.hold, verdict.delay) {
                (Some(ticket), delay) => {
                    let mut timer = Timer::default();
                    self.later.set(&mut timer, now + MAX_HOLD, Later::Expire(ticket));
                    let delay = delay.unwrap_or_default();
                    self.held.insert(ticket, Held { leaving, rewritten, delay, record, timer });
                }
                (None, Some(delay)) => {
                    self.note_exit(record, &leaving, rewritten, now + delay);
                    self.later.note(now + delay, self.departures.put(leaving, delay));
                }
                (None, None) => {
                    self.note_exit(record, &leaving, rewritten, now);
                    leave(&leaving, now, links);
                }
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
                if let Some(leaving) = self.departures.take(place) {
                    leave(&leaving, now, links);
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
        let held = self.held.remove(&ticket)?;
        self.later.retire(held.timer);
        Some(held)
    }

    /// Held packets leave right behind the one that lets them go, each a nanosecond after the one before:
    /// their order is to be seen in the trace, also among the packets that enter meanwhile.
    fn release_overtaken(&mut self, now: Nanos, links: &mut [Link]) {
        let tickets: Vec<Ticket> = self.pipeline.take_released().collect();
        for ticket in tickets {
            let Some(held) = self.take_held(ticket) else { continue };
            let overtaken = &mut self.overtaken[held.leaving.to.index()];
            let at = now.max(*overtaken + Nanos(1));
            *overtaken = at;
            self.let_go(held, at, now, links);
        }
    }

    /// A packet no longer waits from a time on: it leaves then, or takes its path.
    fn let_go(&mut self, held: Held, at: Nanos, now: Nanos, links: &mut [Link]) {
        let Held { leaving, rewritten, delay, record, .. } = held;
        let at = at + delay;
        self.note_exit(record, &leaving, rewritten, at);
        if at == now {
            leave(&leaving, now, links);
        } else {
            self.later.note(at, self.departures.put(leaving, delay));
        }
    }

    /// The packet at a place in the trace, which an event hit or which has copies, is known to leave at a time.
    fn note_exit(&mut self, record: usize, leaving: &Leaving, rewritten: bool, at: Nanos) {
        let entered = self.mirror.record(record);
        if !entered.event().has_exit() {
            return;
        }
        let mig_req = leaving.packet.mig_req;
        let was = entered.flags & flags::MIG_REQ != 0;
        let plain = leaving.copies.as_ref().map_or(0, |copies| copies.1);
        let exit = Exit {
            time: at,
            copies: leaving.originals + plain,
            plain,
            corrupt: leaving.packet.corrupt,
            ce: Ecn::of(leaving.packet.traffic_class) == Ecn::Ce,
            mig_req: (mig_req != was).then_some(mig_req),
            rewritten,
        };
        self.mirror.left(record, exit);
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

/// A packet leaves, with its duplicates and copies.
fn leave(leaving: &Leaving, now: Nanos, links: &mut [Link]) {
    for _ in 0..leaving.originals {
        depart(links, leaving.to, leaving.packet, now);
    }
    if let Some((packet, copies)) = leaving.copies.as_deref() {
        (0..*copies).for_each(|_| depart(links, leaving.to, *packet, now));
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
