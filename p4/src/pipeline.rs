//! The pipeline: a packet in, a verdict out (Lumina §3.3, §3.4).

use std::net::IpAddr;

use corpus::Role;
use dumper::mirror::{MAX_SEQUENCE, MirrorMeta, TIME_SPAN};
use dumper::{Event, Nanos, SwitchCounters};

use crate::MAX_ITER;
use crate::flow::Registers;
use crate::hold::{Held, Queue, Ticket};
use crate::network::{Loss, Passage, Paths, Repeats};
use crate::{Actions, FlowIndex, Kind, Lost, Packet, Ports, Sent, Tables, Timing};

/// The event injector of one test: tables, registers and counters.
#[derive(Clone, Debug)]
pub struct Pipeline {
    tables: Tables,
    registers: Vec<Registers>,
    held: Vec<Queue>,
    /// Until when the packets of each flow leave behind one that is held with its flow.
    held_until: Vec<Option<Nanos>>,
    /// A packet was held with its flow.
    holds: bool,
    /// More than events acts on packets: one was held with its flow, or the network is more than a cable.
    is_busy: bool,
    /// Copies that the network makes, behind the events.
    repeats: Repeats,
    /// Losses of the network, behind the copies.
    loss: Loss,
    /// Paths between the hosts, behind the losses.
    paths: Paths,
    /// Of the next ticket.
    number: u64,
    /// Mirror sequence number of the last packet; 0 before the first.
    sequence: u32,
    ports: Ports,
    released: Vec<Ticket>,
}

/// Verdict of the pipeline on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Metadata of its mirrored copy. Every packet is mirrored as it entered.
    pub mirror: MirrorMeta,
    /// The dumper's port that the mirrored copy goes to.
    pub dumper: u32,
    /// The port that the packet itself goes to, unless it is dropped.
    pub egress: u32,
    /// The packets that leave for it.
    pub sent: Sent,
    /// Those that the network lost.
    pub lost: Lost,
    /// Given if it leaves so much later, behind packets that leave at the same time and entered before it. If it is held, so much
    /// later than it is released.
    pub delay: Option<Nanos>,
    /// What the path that it takes adds to that.
    pub on_path: Nanos,
    /// Given if it is held: it leaves when the ticket is handed out by [`Pipeline::take_released`] or expires.
    pub hold: Option<Ticket>,
    /// True if held packets leave right after it: [`Pipeline::take_released`] names them.
    pub releases: bool,
}

/// What becomes of a packet. `Default` is the packet as it came, at once.
#[derive(Clone, Copy, Default)]
struct Fate {
    sent: Sent,
    event: Event,
    lost: Lost,
    delay: Option<Nanos>,
    on_path: Nanos,
}

impl Pipeline {
    /// A pipeline before its first packet.
    #[must_use]
    pub fn new(mut tables: Tables, ports: Ports) -> Self {
        let registers = tables.take_registers();
        let loss = Loss::new(tables.losses(), &registers);
        let repeats = Repeats::new(tables.repeat());
        let paths = Paths::new(tables.paths(), registers.len());
        let held = vec![Queue::default(); registers.len()];
        let held_until = vec![None; registers.len()];
        let is_busy = loss.is_on() || repeats.are_on() || paths.are_on();
        Self {
            tables,
            registers,
            held,
            held_until,
            holds: false,
            is_busy,
            repeats,
            loss,
            paths,
            number: 0,
            sequence: 0,
            ports,
            released: Vec::new(),
        }
    }

    /// The flow of the packets to a destination address and QPN; none if the test has no such connection.
    #[inline]
    #[must_use]
    pub fn flow(&self, destination: IpAddr, qpn: u32) -> Option<FlowIndex> {
        self.tables.flow(destination, qpn)
    }

    /// A packet has entered at a host's port. It goes to the other host, and without a flow no event hits it.
    ///
    /// The time is the switch's; the mirror metadata carries it modulo [`TIME_SPAN`].
    #[inline]
    pub fn process(&mut self, from: Role, flow: Option<FlowIndex>, packet: Packet, now: Nanos) -> Verdict {
        let to = from.peer();
        self.ports.received(from);
        self.sequence = sequence_after(self.sequence);
        let actions = flow.and_then(|flow| self.match_packet(flow, packet));
        let fate = match flow {
            Some(flow) if actions.is_some() || self.is_busy => self.fate(flow, packet, actions, now),
            _ => None,
        };
        let mut verdict = Verdict {
            mirror: MirrorMeta {
                sequence: self.sequence,
                time: Nanos(now.0 % TIME_SPAN),
                event: Event::default(),
            },
            dumper: self.ports.next_dumper(),
            egress: self.ports.of(to),
            sent: Sent::default(),
            lost: Lost::default(),
            delay: None,
            on_path: Nanos::ZERO,
            hold: None,
            releases: false,
        };
        let Some(Fate { sent, event, lost, delay, on_path }) = fate else {
            // Nearly all packets.
            self.ports.sent(to, 1);
            verdict.releases = flow.is_some_and(|flow| self.passed(flow));
            return verdict;
        };
        verdict.mirror.event = event;
        (verdict.sent, verdict.lost, verdict.delay, verdict.on_path) = (sent, lost, delay, on_path);
        let leaving = sent.leaving();
        match (sent.actions.timing, flow) {
            (Timing::Reorder(by), Some(flow)) => verdict.hold = Some(self.hold(flow, by, leaving, to)),
            (_, flow) => {
                self.ports.sent(to, leaving);
                let passes = delay.unwrap_or_default() == on_path;
                if let (true, 1.., Some(flow)) = (passes, leaving, flow) {
                    verdict.releases = self.passed(flow);
                }
            }
        }
        verdict
    }

    /// The tickets of the held packets that leave now, in this order, right after the packet of the last verdict
    /// or the expired one. Take them before the next call: they are handed out once.
    pub fn take_released(&mut self) -> impl Iterator<Item = Ticket> {
        self.released.drain(..)
    }

    /// A packet has been held for [`MAX_HOLD`](crate::MAX_HOLD). True if it was still held: then it leaves now,
    /// and held packets that it overtakes may leave right after it ([`take_released`](Self::take_released)).
    pub fn expire(&mut self, ticket: Ticket) -> bool {
        let Self { held, ports, released, .. } = self;
        let queue = &mut held[ticket.flow.index()];
        let expired = queue.expire(ticket.number, release(ticket.flow, ports, released));
        if let Some(Held { to, leaving, .. }) = expired {
            ports.sent(to, leaving);
        }
        expired.is_some()
    }

    /// Port counters: packets that entered, packets that left (copies are counted, dropped packets are not;
    /// held packets when they are released, delayed ones at once, since nothing can stop them), and mirrored
    /// packets at the dumpers' ports.
    #[must_use]
    pub fn counters(&self) -> SwitchCounters {
        self.ports.counters()
    }

    /// Updates the registers and looks the packet up.
    #[inline]
    fn match_packet(&mut self, flow: FlowIndex, packet: Packet) -> Option<Actions> {
        match packet.kind {
            Kind::Data { starts, .. } => {
                let registers = &mut self.registers[flow.index()];
                let round = registers.rounds.take(packet.psn, starts);
                if !registers.armed || round > MAX_ITER {
                    return None;
                }
                self.tables.match_data(flow, packet.psn, round as u8)
            }
            Kind::Control(packet) => {
                let home = flow.counts_at(packet);
                let registers = &mut self.registers[home.index()];
                let nth = registers.count(packet)?;
                let (actions, next) = self.tables.match_control(home, packet, nth);
                if let Some(next) = next {
                    registers.wait_for(packet, next);
                }
                Some(actions)
            }
            Kind::Other => None,
        }
    }

    /// What becomes of a packet of a flow by the actions of events, and then the network; none if it leaves as it came, at once.
    #[inline]
    fn fate(
        &mut self,
        flow: FlowIndex,
        packet: Packet,
        actions: Option<Actions>,
        now: Nanos,
    ) -> Option<Fate> {
        let mut copies = if self.repeats.are_on() { self.repeats.copies(flow, packet) } else { 0 };
        let mut originals = 1;
        if let Some(actions) = actions {
            originals = Sent::from(actions).originals();
            copies &= !actions.drop_copies;
        }
        let lost = self.loss.of(flow, packet, originals, copies);
        let is_touched =
            actions.is_some() || copies > 0 || lost.is_some() || self.holds || self.paths.are_on();
        let fate = is_touched.then(|| {
            // What is left to say of dropped copies is in `copies`.
            let actions = Actions { drop_copies: 0, ..actions.unwrap_or_default() };
            self.fate_behind_losses(flow, packet, Sent { actions, copies }, lost, now)
        });
        if packet.asks_again && self.repeats.are_on() {
            self.repeats.left(flow, packet, fate.unwrap_or_default().sent);
        }
        fate
    }

    /// The same behind events, copies and losses: what leaves, and when.
    fn fate_behind_losses(
        &mut self,
        flow: FlowIndex,
        packet: Packet,
        sent: Sent,
        lost: Option<(Lost, bool)>,
        now: Nanos,
    ) -> Fate {
        let (mut lost, corrupts) = lost.unwrap_or_default();
        let (mut sent, mut delay) = self.timed(flow, sent.without(lost, corrupts), now);
        let mut on_path = Nanos::ZERO;
        if self.paths.are_on() && sent.leaving() > 0 {
            match self.paths.pass(flow, packet, sent.leaving(), now + delay.unwrap_or_default()) {
                Passage::Later(Nanos::ZERO) => {}
                Passage::Later(later) => (on_path, delay) = (later, Some(sent.later_by(delay, later))),
                Passage::Full => {
                    let all = Lost::all(sent);
                    (lost, sent, delay) = (lost.and(all), sent.without(all, false), None);
                }
            }
        }
        Fate { sent, event: sent.event(), lost, delay, on_path }
    }

    /// What leaves for a packet of a flow, and its delay: it stays behind the packets that are held with the flow, unless it
    /// is one that others overtake.
    fn timed(&mut self, flow: FlowIndex, mut sent: Sent, now: Nanos) -> (Sent, Option<Nanos>) {
        if sent.leaving() == 0 {
            return (sent, None);
        }
        let actions = &mut sent.actions;
        let until = &mut self.held_until[flow.index()];
        // Each leaves a nanosecond after the one before: their order is to be seen in the trace.
        let behind = until.filter(|until| now <= *until).map(|until| until + Nanos(1) - now);
        let delay = match actions.timing {
            Timing::AtOnce => behind,
            Timing::Delay(delay) => Some(delay.max(behind.unwrap_or_default())),
            Timing::Reorder(_) => None,
            Timing::Hold(time) => {
                (self.holds, self.is_busy) = (true, true);
                Some(time.max(behind.unwrap_or_default()))
            }
        };
        if let Some(delay) = delay.filter(|_| delay == behind || matches!(actions.timing, Timing::Hold(_))) {
            *until = Some(now + delay);
            if actions.timing == Timing::AtOnce {
                actions.timing = Timing::Delay(delay);
            }
        }
        (sent, delay)
    }

    fn hold(&mut self, flow: FlowIndex, by: u16, leaving: u8, to: Role) -> Ticket {
        let number = self.number;
        self.number += 1;
        self.held[flow.index()].push(Held { number, waits_for: by, leaving, to });
        Ticket { flow, number }
    }

    /// A packet of the flow has left at once; whether held ones follow.
    #[inline]
    fn passed(&mut self, flow: FlowIndex) -> bool {
        let Self { held, ports, released, .. } = self;
        let queue = &mut held[flow.index()];
        if queue.is_empty() {
            return false;
        }
        queue.passed(release(flow, ports, released));
        !released.is_empty()
    }
}

/// Verdict on a held packet that leaves.
fn release<'a>(
    flow: FlowIndex,
    ports: &'a mut Ports,
    released: &'a mut Vec<Ticket>,
) -> impl FnMut(Held) + use<'a> {
    move |held| {
        ports.sent(held.to, held.leaving);
        released.push(Ticket { flow, number: held.number });
    }
}

/// The mirror sequence number after `sequence`.
#[inline]
const fn sequence_after(sequence: u32) -> u32 {
    if sequence == MAX_SEQUENCE { 1 } else { sequence + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_go_round() {
        assert_eq!(sequence_after(0), 1);
        assert_eq!(sequence_after(MAX_SEQUENCE - 1), MAX_SEQUENCE);
        assert_eq!(sequence_after(MAX_SEQUENCE), 1);
    }
}
