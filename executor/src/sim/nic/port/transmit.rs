//! Whose turn it is to send: CNPs first, then a traffic class where the host selects among them, and in it QPs in turn.

use std::collections::VecDeque;

use dumper::Nanos;

use super::ets::Selection;
use crate::sim::nic::context::Half;
use crate::sim::packet::Packet;

/// QPs that take turns.
#[derive(Debug, Default)]
pub(in crate::sim) struct Ring {
    /// Halves of QPs that have something to send.
    pub(in crate::sim) turns: VecDeque<(u32, Half)>,
    /// Packets that the first of the ring has sent in its turn.
    taken: u32,
}

/// The transmit scheduler of a NIC.
#[derive(Debug)]
pub(in crate::sim) struct Transmitter {
    cnps: VecDeque<Packet>,
    /// One for each traffic class, or one for all.
    pub(in crate::sim) rings: Vec<Ring>,
    selection: Option<Selection>,
    qps: Vec<Place>,
    /// Packets of requests in one turn; answers have one.
    burst: u32,
}

/// Place of a QP.
#[derive(Clone, Copy, Debug)]
struct Place {
    ring: u8,
    /// True for requester and responder while they are in the ring.
    waiting: [bool; 2],
}

impl Transmitter {
    /// For QPs of these traffic classes, between which is selected or not.
    pub(in crate::sim::nic) fn new(
        classes: impl Iterator<Item = u8>,
        selection: Option<Selection>,
        burst: u32,
    ) -> Self {
        let ring = |class| if selection.is_some() { class } else { 0 };
        let qps: Vec<Place> = classes.map(|class| Place { ring: ring(class), waiting: [false; 2] }).collect();
        let rings = qps.iter().map(|place| usize::from(place.ring) + 1).max().unwrap_or(1);
        Self {
            cnps: VecDeque::new(),
            rings: (0..rings).map(|_| Ring::default()).collect(),
            selection,
            qps,
            burst,
        }
    }

    /// Time of the next possible packet, if nothing is added.
    #[inline]
    pub(in crate::sim::nic) fn next_at(&self, now: Nanos) -> Option<Nanos> {
        if !self.cnps.is_empty() {
            return Some(now);
        }
        match &self.selection {
            None => has_turns(&self.rings, 0).then_some(now),
            Some(selection) => selection.next_at(|class| has_turns(&self.rings, class), now),
        }
    }

    pub(in crate::sim::nic) fn push_cnp(&mut self, cnp: Packet) {
        self.cnps.push_back(cnp);
    }

    pub(in crate::sim::nic) fn next_cnp(&mut self) -> Option<Packet> {
        self.cnps.pop_front()
    }

    /// Returns true if a part of a QP has a turn coming.
    #[inline]
    pub(in crate::sim) fn waits(&self, qp: u32, half: Half) -> bool {
        self.qps[qp as usize].waiting[half as usize]
    }

    /// Gives a part of a QP a turn, unless it has one coming.
    #[inline]
    pub(in crate::sim::nic) fn enqueue(&mut self, qp: u32, half: Half) {
        let place = &mut self.qps[qp as usize];
        let waiting = &mut place.waiting[half as usize];
        if !*waiting {
            *waiting = true;
            self.rings[usize::from(place.ring)].turns.push_back((qp, half));
        }
    }

    /// Whose turn it is.
    #[inline]
    pub(in crate::sim::nic) fn next_turn(&mut self, now: Nanos) -> Option<(u32, Half)> {
        let ring = match &mut self.selection {
            None => 0,
            Some(selection) => selection.select(|class| has_turns(&self.rings, class), now)?,
        };
        self.rings.get(ring)?.turns.front().copied()
    }

    /// The first of its ring has had its turn: whether it sent a packet, and whether it has more.
    #[inline]
    pub(in crate::sim::nic) fn turn_taken(&mut self, qp: u32, half: Half, sent: bool, more: bool) {
        let place = &mut self.qps[qp as usize];
        let ring = &mut self.rings[usize::from(place.ring)];
        ring.taken += u32::from(sent);
        let burst = if half == Half::Requester { self.burst } else { 1 };
        if more && ring.taken < burst {
            return;
        }
        ring.taken = 0;
        ring.turns.pop_front();
        if more {
            ring.turns.push_back((qp, half));
        } else {
            place.waiting[half as usize] = false;
        }
    }

    /// A QP has sent a packet of so many bytes on the cable.
    #[inline]
    pub(in crate::sim::nic) fn sent(&mut self, qp: u32, bytes: u32, now: Nanos) {
        if let Some(selection) = &mut self.selection {
            selection.sent(usize::from(self.qps[qp as usize].ring), bytes, now);
        }
    }
}

/// Returns true if a QP waits in a ring; classes without QPs have no ring.
#[inline]
fn has_turns(rings: &[Ring], ring: usize) -> bool {
    rings.get(ring).is_some_and(|ring| !ring.turns.is_empty())
}
