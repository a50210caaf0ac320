//! The pipeline over real packets: their bytes, the held packets, and the capture.

use std::collections::BTreeMap;

use corpus::Role;
use dumper::wire::frame::Frame as RoceFrame;
use dumper::{Event, Nanos, SwitchCounters};

use super::capture::{Capture, Left, Limits};
use super::mirroring::{self, Mirroring};
use super::{Departure, Dumpers, Frame, HOST_PORTS, Mirrored};
use crate::{MAX_HOLD, Packet, Pipeline, Ports, Tables, Ticket, rewrite};

/// Most packets that are held or delayed at a time; further ones are lost, and counted. With the largest MTU some
/// 270 MB.
const MAX_HELD: usize = 1 << 16;

/// A packet that leaves later.
#[derive(Debug)]
struct Held {
    to: Role,
    /// As it leaves, and how often.
    frame: Frame,
    originals: u8,
    /// Given if the packet leaves otherwise than it entered: as it entered, in which form the network's copies leave.
    entered: Option<Frame>,
    copies: u8,
    /// Time from its release until it leaves.
    delay: Nanos,
    /// Its place in the capture, if its way out is to be noted there.
    place: Option<usize>,
}

impl Held {
    /// With memory of its own: a frame that stays keeps all those that it shares its memory with.
    fn alone(self) -> Self {
        let alone = |frame: Frame| Frame::copy_from_slice(&frame);
        Self { frame: alone(self.frame), entered: self.entered.map(alone), ..self }
    }
}

#[derive(Debug)]
enum Later {
    Depart(Held),
    Expire(Ticket),
}

/// The injector of one test.
#[derive(Debug)]
pub(super) struct Injector {
    pipeline: Pipeline,
    /// Time at which the test began.
    began: Nanos,
    limits: Limits,
    capture: Capture,
    /// None where the switch captures all packets itself.
    mirroring: Option<Mirroring>,
    held: BTreeMap<Ticket, Held>,
    /// By time, and by number for those at one time.
    later: BTreeMap<(Nanos, u64), Later>,
    next_number: u64,
    /// Time at which the last packet that an event matched left.
    left: Nanos,
}

impl Injector {
    pub(super) fn new(tables: Tables, limits: Limits, dumpers: &Dumpers, now: Nanos) -> Self {
        let [requester, responder] = HOST_PORTS;
        let ports = Ports::new(requester, responder, &mirroring::ports(dumpers))
            .expect("ports have different numbers, and there is a dumper or the capture, with a weight");
        Self {
            pipeline: Pipeline::new(tables, ports),
            began: now,
            limits,
            capture: Capture::default(),
            mirroring: (!dumpers.weights.is_empty()).then(|| Mirroring::new(dumpers.one_port)),
            held: BTreeMap::new(),
            later: BTreeMap::new(),
            next_number: 0,
            left: Nanos::ZERO,
        }
    }

    pub(super) fn counters(&self) -> SwitchCounters {
        self.pipeline.counters()
    }

    /// Hands out the capture, with the number of packets that are still held.
    pub(super) fn end(&mut self) -> (Capture, u64) {
        let delayed = self.later.values().filter(|later| matches!(later, Later::Depart(_))).count();
        (std::mem::take(&mut self.capture), (self.held.len() + delayed) as u64)
    }

    /// A RoCE packet has come in; how many were lost for want of room.
    pub(super) fn receive(
        &mut self,
        port: Role,
        packet: &RoceFrame<'_>,
        frame: &Frame,
        now: Nanos,
        out: &mut Vec<Departure>,
    ) -> u64 {
        let flow = self.pipeline.flow(packet.ip.destination(), packet.bth.dest_qpn);
        // The requester is the host that posted the verbs, at either port.
        let from = flow.map_or(port, |flow| flow.towards().peer());
        let headers = Packet::of(packet, frame.len() as u32);
        let now = self.behind_the_last(now);
        let since = now - self.began;
        let verdict = self.pipeline.process(from, flow, headers, since);
        let place = match &mut self.mirroring {
            // Of what dumpers do not see, which is how a packet left.
            Some(mirroring) => {
                mirroring.push(verdict.dumper, verdict.mirror, frame);
                let leaves_otherwise = verdict.mirror.event.has_exit();
                leaves_otherwise.then(|| self.capture.push(self.limits, verdict.mirror, frame)).flatten()
            }
            None => self.capture.push(self.limits, verdict.mirror, frame),
        };
        let to = port.peer();
        let sent = verdict.sent;
        let mut lost = 0;
        if verdict.mirror.event == Event::None {
            out.push(Departure { to, frame: frame.clone() });
        } else if sent.leaving() > 0 {
            let rewritten = match sent.originals() {
                0 => None,
                _ => rewrite::rewrite(frame, &sent.actions).map(Frame::from),
            };
            let held = Held {
                to,
                entered: rewritten.is_some().then(|| frame.clone()),
                frame: rewritten.unwrap_or_else(|| frame.clone()),
                originals: sent.originals(),
                copies: sent.leaving() - sent.originals(),
                delay: verdict.delay.filter(|_| verdict.hold.is_some()).unwrap_or_default(),
                place: place.filter(|_| verdict.mirror.event.has_exit()),
            };
            let room = self.held.len() + self.later.len() < MAX_HELD;
            match (verdict.hold, verdict.delay) {
                (None, None) => self.release(held, now, out),
                _ if !room => lost = u64::from(sent.leaving()),
                (Some(ticket), _) => {
                    self.held.insert(ticket, held.alone());
                    self.note(now + MAX_HOLD, Later::Expire(ticket));
                }
                (None, Some(delay)) => self.note(now + delay, Later::Depart(held.alone())),
            }
        }
        if verdict.releases {
            self.release_overtaken(now, out);
        }
        lost
    }

    pub(super) fn take_mirrored(&mut self) -> impl Iterator<Item = Mirrored> {
        self.mirroring.as_mut().map(Mirroring::take).into_iter().flatten()
    }

    pub(super) fn next_timeout(&self) -> Option<Nanos> {
        self.later.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn handle_timeout(&mut self, now: Nanos, out: &mut Vec<Departure>) {
        while let Some(entry) = self.later.first_entry()
            && entry.key().0 <= now
        {
            match entry.remove() {
                Later::Depart(held) => self.release(held, now, out),
                Later::Expire(ticket) if self.pipeline.expire(ticket) => {
                    self.let_go(ticket, now, out);
                    self.release_overtaken(now, out);
                }
                Later::Expire(_) => {}
            }
        }
    }

    fn note(&mut self, at: Nanos, later: Later) {
        self.later.insert((at, self.next_number), later);
        self.next_number += 1;
    }

    /// Held packets leave right behind the one that lets them go.
    fn release_overtaken(&mut self, now: Nanos, out: &mut Vec<Departure>) {
        let tickets: Vec<Ticket> = self.pipeline.take_released().collect();
        for ticket in tickets {
            self.let_go(ticket, now, out);
        }
    }

    /// A held packet no longer waits: it leaves, or takes its path.
    fn let_go(&mut self, ticket: Ticket, now: Nanos, out: &mut Vec<Departure>) {
        let Some(held) = self.held.remove(&ticket) else { return };
        if held.delay > Nanos::ZERO {
            self.note(now + held.delay, Later::Depart(held));
        } else {
            self.release(held, now, out);
        }
    }

    /// A time at or after now: a nanosecond after the last packet left that an event matched, as the trace
    /// must show the order of the packets that leave at once, and of those that enter behind them.
    fn behind_the_last(&self, now: Nanos) -> Nanos {
        now.max(self.left + Nanos(1))
    }

    /// A packet leaves, with its duplicates and copies.
    fn release(&mut self, held: Held, now: Nanos, out: &mut Vec<Departure>) {
        let Held { to, frame, originals, entered, copies, place, .. } = held;
        let now = self.behind_the_last(now);
        self.left = now;
        let copy = entered.as_ref().unwrap_or(&frame);
        let frames = (0..originals).map(|_| &frame).chain((0..copies).map(|_| copy));
        out.extend(frames.map(|frame| Departure { to, frame: frame.clone() }));
        if let Some(place) = place {
            let (copies, plain) = (originals + copies, copies);
            let left =
                Left { time: now - self.began, copies, plain, frame: entered.is_some().then_some(frame) };
            self.capture.note(place, left);
        }
    }
}
