//! The network between the guests: their links, and the switch with the event injector, which is that of real frames.

use std::collections::BTreeMap;

use corpus::Role;
use dumper::Nanos;
use p4::Tables;
use p4::switch::{Departure, Frame, Limits, Switch};

use crate::SWITCH_LATENCY;
use crate::profile::Link;

/// Bytes on a cable beside a frame: preamble, frame check sequence and gap (IEEE 802.3), which also pads short frames.
const BESIDE: u64 = 8 + 4 + 12;
const SHORTEST: u64 = 60;

/// Frames of a test, before it is stopped: both hosts take some 0.1 ms for each. A QP of rdma_rxe that retries for ever
/// reaches it, and a test within the limits of the testbed does not.
const MAX_FRAMES: usize = 1 << 16;

/// A frame on its way.
#[derive(Debug)]
enum Event {
    /// Enters the switch, from a host.
    Enters(Role, Frame),
    /// Leaves the switch for a host: it waits for the cable.
    Leaves(Role, Frame),
    /// Reaches a host.
    Arrives(Role, Frame),
}

/// The network.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) switch: Switch,
    link: Link,
    /// By time, and in the order in which they were caused.
    events: BTreeMap<(Nanos, u64), Event>,
    number: u64,
    /// Frames that have entered the switch since the test began.
    entered: usize,
    /// Times until which the cables are busy, in ps: of each host to the switch, and back.
    up_free: [u64; 2],
    down_free: [u64; 2],
}

impl Wire {
    pub(super) fn new(link: Link) -> Self {
        Self {
            switch: Switch::new(Limits::default()),
            link,
            events: BTreeMap::new(),
            number: 0,
            entered: 0,
            up_free: [0; 2],
            down_free: [0; 2],
        }
    }

    /// A test begins, with these tables.
    pub(super) fn begin(&mut self, tables: Tables, now: Nanos) {
        self.entered = 0;
        self.switch.begin(tables, now);
    }

    /// Frames that have entered the switch in this test, if they are more than a test may have.
    pub(super) fn too_many(&self) -> Option<usize> {
        (self.entered > MAX_FRAMES).then_some(self.entered)
    }

    /// Time of the next event.
    pub(super) fn next_at(&self) -> Option<Nanos> {
        let first = self.events.first_key_value().map(|((at, _), _)| *at);
        [first, self.switch.next_timeout()].into_iter().flatten().min()
    }

    /// A host sends a frame.
    pub(super) fn send(&mut self, from: Role, frame: &[u8], now: Nanos) {
        let there = self.cross(frame.len(), now, |wire| &mut wire.up_free[from as usize]);
        self.note(there, Event::Enters(from, Frame::copy_from_slice(frame)));
    }

    /// Performs what is due now; the frame that reaches a host.
    pub(super) fn handle(&mut self, now: Nanos) -> Option<(Role, Frame)> {
        let mut out = Vec::new();
        if self.switch.next_timeout().is_some_and(|at| at <= now) {
            self.switch.handle_timeout(now, &mut out);
            self.leave(out, now);
            return None;
        }
        let event = self.events.pop_first().map(|(_, event)| event)?;
        match event {
            Event::Enters(from, frame) => {
                self.entered += 1;
                self.switch.receive(from, &frame, now, &mut out);
                self.leave(out, now);
            }
            Event::Leaves(to, frame) => {
                let there = self.cross(frame.len(), now, |wire| &mut wire.down_free[to as usize]);
                self.note(there, Event::Arrives(to, frame));
            }
            Event::Arrives(to, frame) => return Some((to, frame)),
        }
        None
    }

    fn leave(&mut self, out: Vec<Departure>, now: Nanos) {
        for Departure { to, frame } in out {
            self.note(now + SWITCH_LATENCY, Event::Leaves(to, frame));
        }
    }

    /// Time at which a frame is at the other end of a cable.
    fn cross(&mut self, bytes: usize, now: Nanos, free: impl Fn(&mut Self) -> &mut u64) -> Nanos {
        let takes = ((bytes as u64).max(SHORTEST) + BESIDE) * 8_000 / u64::from(self.link.rate_gbps);
        let propagation = self.link.propagation_ns;
        let free = free(self);
        *free = (now.0 * 1_000).max(*free) + takes;
        Nanos(free.div_ceil(1_000) + propagation)
    }

    fn note(&mut self, at: Nanos, event: Event) {
        self.events.insert((at, self.number), event);
        self.number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broadcast: it goes to the other port, whatever is known of addresses.
    fn frame(bytes: usize) -> Vec<u8> {
        [vec![0xff; 6], vec![0x52, 0x54, 0, 0, 0, 1], vec![0x88, 0xb5], vec![0; bytes - 14]].concat()
    }

    /// Times at which frames reach the responder's host.
    fn arrivals(wire: &mut Wire) -> Vec<(Nanos, usize)> {
        let mut arrived = Vec::new();
        while let Some(now) = wire.next_at() {
            if let Some((to, frame)) = wire.handle(now) {
                assert_eq!(to, Role::Responder);
                arrived.push((now, frame.len()));
            }
        }
        arrived
    }

    #[test]
    fn frames_take_their_time_on_both_cables_and_in_the_switch() {
        // 1,226 bytes with preamble, FCS and gap are 1,250: 100 ns at 100 Gb/s.
        let mut wire = Wire::new(Link { rate_gbps: 100, propagation_ns: 50 });
        wire.send(Role::Requester, &frame(1_226), Nanos(1_000));
        assert_eq!(arrivals(&mut wire), [(Nanos(1_000 + 100 + 50 + 300 + 100 + 50), 1_226)]);
    }

    #[test]
    fn frames_wait_for_the_cable_and_short_ones_are_padded() {
        let mut wire = Wire::new(Link { rate_gbps: 10, propagation_ns: 0 });
        // 14 bytes are sent as 60, with 24 beside them: 67.2 ns at 10 Gb/s.
        wire.send(Role::Requester, &frame(1_226), Nanos(0));
        wire.send(Role::Requester, &frame(14), Nanos(0));
        assert_eq!(arrivals(&mut wire), [(Nanos(2_300), 1_226), (Nanos(2_368), 14)]);
    }
}
