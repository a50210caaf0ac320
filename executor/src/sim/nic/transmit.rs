//! Whose turn it is to send: CNPs first, then QPs in turn.

use std::collections::VecDeque;

use crate::sim::packet::Packet;

/// A part of a QP that sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Half {
    /// Requests.
    Requester,
    /// Answers.
    Responder,
}

/// The transmit scheduler of a NIC.
#[derive(Debug)]
pub(super) struct Transmitter {
    cnps: VecDeque<Packet>,
    ring: VecDeque<(u32, Half)>,
    /// Whether each QP's requester and responder are in the ring.
    waiting: Vec<[bool; 2]>,
    /// Packets of requests in one turn; answers have one.
    burst: u32,
    /// Packets that the first of the ring has sent in its turn.
    taken: u32,
}

impl Transmitter {
    pub(super) fn new(qps: usize, burst: u32) -> Self {
        Self { cnps: VecDeque::new(), ring: VecDeque::new(), waiting: vec![[false; 2]; qps], burst, taken: 0 }
    }

    #[inline]
    pub(super) fn has_work(&self) -> bool {
        !self.ring.is_empty() || !self.cnps.is_empty()
    }

    pub(super) fn push_cnp(&mut self, cnp: Packet) {
        self.cnps.push_back(cnp);
    }

    pub(super) fn next_cnp(&mut self) -> Option<Packet> {
        self.cnps.pop_front()
    }

    /// Whether a part of a QP has a turn coming.
    #[inline]
    pub(super) fn waits(&self, qp: u32, half: Half) -> bool {
        self.waiting[qp as usize][half as usize]
    }

    /// Gives a part of a QP a turn, unless it has one coming.
    #[inline]
    pub(super) fn enqueue(&mut self, qp: u32, half: Half) {
        let waiting = &mut self.waiting[qp as usize][half as usize];
        if !*waiting {
            *waiting = true;
            self.ring.push_back((qp, half));
        }
    }

    /// Whose turn it is.
    #[inline]
    pub(super) fn next_turn(&self) -> Option<(u32, Half)> {
        self.ring.front().copied()
    }

    /// The first of the ring has had its turn: whether it sent a packet, and whether it has more.
    #[inline]
    pub(super) fn turn_taken(&mut self, qp: u32, half: Half, sent: bool, more: bool) {
        self.taken += u32::from(sent);
        let burst = if half == Half::Requester { self.burst } else { 1 };
        if more && self.taken < burst {
            return;
        }
        self.taken = 0;
        self.ring.pop_front();
        if more {
            self.ring.push_back((qp, half));
        } else {
            self.waiting[qp as usize][half as usize] = false;
        }
    }
}
