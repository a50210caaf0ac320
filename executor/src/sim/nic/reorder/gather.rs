//! FIFOs that gather the packets of a connection, so that its bitmap is moved into a cache once for all of them
//! (LEFT §3.3, algorithm 2).

use dumper::Nanos;

use crate::profile::Reorder;

/// The FIFOs, of packets `P`.
#[derive(Debug)]
pub(in crate::sim::nic) struct Gather<P> {
    fifos: Vec<Fifo<P>>,
    /// Packets with which a FIFO is drained.
    most: usize,
    timeout: Nanos,
    /// The FIFO of each flow.
    flows: Vec<Option<usize>>,
    /// Time at which the first FIFO is drained, whatever it has.
    next_at: Option<Nanos>,
}

/// A FIFO, empty or of one flow.
#[derive(Debug)]
struct Fifo<P> {
    flow: usize,
    packets: Vec<P>,
    /// Time of its first packet.
    since: Nanos,
}

impl<P> Gather<P> {
    pub(super) fn new(reorder: &Reorder, flows: usize) -> Self {
        let fifo = || Fifo { flow: 0, packets: Vec::new(), since: Nanos::ZERO };
        Self {
            fifos: (0..reorder.fifos).map(|_| fifo()).collect(),
            most: reorder.fifo_packets as usize,
            timeout: Nanos(reorder.fifo_timeout_ns),
            flows: vec![None; flows],
            next_at: None,
        }
    }

    /// Time at which [`Gather::take_due`] has packets.
    #[inline]
    pub(in crate::sim::nic) const fn next_at(&self) -> Option<Nanos> {
        self.next_at
    }

    /// A packet of a flow joins its FIFO, an empty one, or the one with the most packets, which is drained first. What is drained is
    /// appended to `drained`.
    pub(in crate::sim::nic) fn push(
        &mut self,
        flow: usize,
        packet: P,
        now: Nanos,
        drained: &mut impl Extend<P>,
    ) {
        let at = self.flows[flow].unwrap_or_else(|| {
            let empty = self.fifos.iter().position(|fifo| fifo.packets.is_empty());
            let fullest = || (0..self.fifos.len()).rev().max_by_key(|at| self.fifos[*at].packets.len());
            empty.or_else(fullest).expect("an engine that gathers has a FIFO")
        });
        if self.flows[flow].is_none() {
            self.drain(at, drained);
            self.flows[flow] = Some(at);
            (self.fifos[at].flow, self.fifos[at].since) = (flow, now);
        }
        self.fifos[at].packets.push(packet);
        if self.fifos[at].packets.len() >= self.most {
            self.drain(at, drained);
        }
        self.note_next();
    }

    /// Appends the packets of the FIFOs whose time is over to `drained`.
    pub(in crate::sim::nic) fn take_due(&mut self, now: Nanos, drained: &mut impl Extend<P>) {
        if self.next_at.is_none_or(|at| at > now) {
            return;
        }
        for at in 0..self.fifos.len() {
            if self.fifos[at].since + self.timeout <= now {
                self.drain(at, drained);
            }
        }
        self.note_next();
    }

    fn drain(&mut self, at: usize, drained: &mut impl Extend<P>) {
        let fifo = &mut self.fifos[at];
        if !fifo.packets.is_empty() {
            drained.extend(fifo.packets.drain(..));
            self.flows[fifo.flow] = None;
        }
    }

    fn note_next(&mut self) {
        let waiting = self.fifos.iter().filter(|fifo| !fifo.packets.is_empty());
        self.next_at = waiting.map(|fifo| fifo.since + self.timeout).min();
    }
}
