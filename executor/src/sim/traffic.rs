//! The traffic generators: the software of the hosts, which posts requests and Receives and takes completions.

use std::collections::VecDeque;

use corpus::Traffic;
use dumper::observation::CompletionStatus;
use dumper::{Completion, Nanos};
use rand_chacha::ChaCha8Rng;

use super::agenda::Agenda;
use super::network::HostId;
use super::nic::{HostEvent, Input};
use super::random::draw;
use crate::profile::{HostSoftware, Span};

/// The software of a host: its latencies, and the stream that draws them.
pub(super) struct Software {
    latencies: HostSoftware,
    rng: ChaCha8Rng,
}

impl Software {
    /// Software with these latencies, drawn from a stream.
    pub(super) const fn new(latencies: HostSoftware, rng: ChaCha8Rng) -> Self {
        Self { latencies, rng }
    }

    fn draw(&mut self, of: impl Fn(&HostSoftware) -> Span<u64>) -> Nanos {
        Nanos(draw(of(&self.latencies), &mut self.rng))
    }
}

/// Later action of the hosts' software.
#[derive(Clone, Copy, Debug)]
enum Later {
    /// The requester's processor can post the next request.
    PostNext,
    /// A request that was posted reaches the NIC.
    Doorbell { connection: u32, message: u32 },
    /// The requester's host sees a completion.
    Seen { connection: u32, message: u32, status: CompletionStatus },
    /// The responder's host posts a Receive.
    PostReceive { connection: u32 },
}

/// A connection, as the requester's host sees it.
#[derive(Debug, Default)]
struct Progress {
    /// Messages posted.
    posted: u32,
    /// Posting times of the messages that have not completed, in order.
    outstanding: VecDeque<Nanos>,
    failed: bool,
    /// True while it waits for its turn to post.
    waits: bool,
}

/// The software of all hosts.
pub(super) struct TrafficGenerators {
    traffic: Traffic,
    /// By host.
    software: Vec<Software>,
    connections: Vec<Progress>,
    /// Connections that may post, in turn.
    ready: VecDeque<u32>,
    /// True while the requester's processor is at work.
    busy: bool,
    /// Messages of every connection that may be posted by now: all, or up to the barrier.
    released: u32,
    /// Requests outstanding, over all connections.
    outstanding: u64,
    agenda: Agenda<Later>,
    completions: Vec<Completion>,
}

impl TrafficGenerators {
    /// The software of the hosts before its first request.
    pub(super) fn new(traffic: &Traffic, software: Vec<Software>) -> Self {
        let connections = traffic.load.connections();
        let released = if traffic.barrier_sync { 0 } else { traffic.num_msgs_per_qp };
        let mut generators = Self {
            traffic: traffic.clone(),
            software,
            connections: (0..connections).map(|_| Progress::default()).collect(),
            ready: VecDeque::new(),
            busy: false,
            released,
            outstanding: 0,
            agenda: Agenda::new(),
            completions: Vec::new(),
        };
        generators.pass_barrier();
        for connection in 0..connections {
            generators.make_ready(connection, Nanos::ZERO);
        }
        generators
    }

    /// Time of the next action.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Nanos> {
        self.agenda.next_at()
    }

    /// Performs the next action that is due; returns the input for a NIC.
    pub(super) fn handle_later(&mut self, now: Nanos) -> Option<(HostId, Input)> {
        match self.agenda.take_due(now)? {
            Later::PostNext => {
                self.busy = false;
                self.post_next(now);
                None
            }
            Later::Doorbell { connection, message } => {
                let verb = self.traffic.load.verb(connection + 1, message);
                let bytes = self.traffic.message_size;
                Some((HostId::REQUESTER, Input::Post { qp: connection, message, verb, bytes }))
            }
            Later::Seen { connection, message, status } => {
                self.on_completion(connection, message, status, now);
                None
            }
            Later::PostReceive { connection } => {
                Some((HostId::RESPONDER, Input::PostReceive { qp: connection }))
            }
        }
    }

    /// Handles an event of a NIC.
    pub(super) fn on_event(&mut self, host: HostId, event: HostEvent, now: Nanos) {
        match event {
            HostEvent::Completed { qp, message, status } => {
                let latency = self.software[host.index()].draw(|latencies| latencies.poll_ns);
                self.agenda.note(now + latency, Later::Seen { connection: qp, message, status });
            }
            HostEvent::Received { qp } => {
                let latency = self.software[host.index()].draw(|latencies| latencies.repost_ns);
                self.agenda.note(now + latency, Later::PostReceive { connection: qp });
            }
        }
    }

    /// Completions, in the order in which they were seen.
    pub(super) fn into_completions(self) -> Vec<Completion> {
        self.completions
    }

    fn may_post(&self, connection: u32) -> bool {
        let progress = &self.connections[connection as usize];
        !progress.failed
            && progress.posted < self.released
            && progress.outstanding.len() < self.traffic.tx_depth as usize
    }

    /// Gives a connection a turn to post, if it may.
    fn make_ready(&mut self, connection: u32, now: Nanos) {
        if self.may_post(connection) && !self.connections[connection as usize].waits {
            self.connections[connection as usize].waits = true;
            self.ready.push_back(connection);
            self.post_next(now);
        }
    }

    /// The processor posts the request of the connection whose turn it is, one at a time.
    fn post_next(&mut self, now: Nanos) {
        if self.busy {
            return;
        }
        let Some(connection) = self.ready.pop_front() else { return };
        let done = now + self.software[HostId::REQUESTER.index()].draw(|latencies| latencies.post_ns);
        let progress = &mut self.connections[connection as usize];
        progress.waits = false;
        let message = progress.posted;
        progress.posted += 1;
        progress.outstanding.push_back(now);
        self.outstanding += 1;
        self.busy = true;
        self.agenda.note(done, Later::Doorbell { connection, message });
        self.agenda.note(done, Later::PostNext);
        self.make_ready(connection, now);
    }

    fn on_completion(&mut self, connection: u32, message: u32, status: CompletionStatus, now: Nanos) {
        let progress = &mut self.connections[connection as usize];
        let posted = progress.outstanding.pop_front().unwrap_or(now);
        progress.failed |= status != CompletionStatus::Success;
        self.outstanding -= 1;
        self.completions.push(Completion {
            connection: connection + 1,
            message: message + 1,
            posted_ns: posted,
            completed_ns: now,
            bytes: self.traffic.message_size.into(),
            status,
        });
        if self.traffic.barrier_sync && self.outstanding == 0 {
            self.pass_barrier();
            for connection in 0..self.connections.len() as u32 {
                self.make_ready(connection, now);
            }
        } else {
            self.make_ready(connection, now);
        }
    }

    /// Lets every connection post its next `tx-depth` messages.
    const fn pass_barrier(&mut self) {
        let next = self.released.saturating_add(self.traffic.tx_depth);
        self.released = if next < self.traffic.num_msgs_per_qp { next } else { self.traffic.num_msgs_per_qp };
    }
}
