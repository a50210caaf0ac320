//! The traffic generators: the software of the hosts, which posts requests and Receives and takes completions.

use std::collections::VecDeque;

use corpus::{DummyRule, Pattern, Role, Traffic};
use dumper::observation::CompletionStatus;
use dumper::{Completion, Nanos};
use rand_chacha::ChaCha8Rng;

use super::agenda::{Agenda, Timer};
use super::host_id::HostId;
use super::nic::{HostEvent, Work};
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
    /// A host's processor can post the next request.
    PostNext { host: HostId },
    /// The pause after a message is over.
    GoOn { next: Next },
    /// A request that was posted reaches the NIC.
    Doorbell { connection: u32, message: u32 },
    /// A driver's timer that waits for a request behind a message expires.
    Idle { connection: u32, message: u32 },
    /// The requester's host sees a completion.
    Seen { connection: u32, message: u32, status: CompletionStatus },
    /// The responder's host sees a message that has arrived, and goes on with the other connection of the pair.
    Arrived { pair: u32 },
    /// The responder's host posts a Receive.
    PostReceive { connection: u32 },
}

/// What is posted after a pause.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// The next message of a connection.
    Message { connection: u32 },
    /// The messages behind the barrier.
    Round,
}

/// A connection, as the requester's host sees it.
#[derive(Debug, Default)]
struct Progress {
    /// Messages posted.
    posted: u32,
    /// Posting times of the messages that have not completed, in order.
    outstanding: VecDeque<Nanos>,
    /// Messages that have completed and whose pauses are not over: until then they count as outstanding.
    pausing: u32,
    /// Receives that have completed and wait for the rest of their batch.
    received: u32,
    /// Messages of the other connection of a pair that the requester's host has seen arrive.
    arrived: u32,
    /// Time of the last request that reached the NIC.
    last: Option<Nanos>,
    /// Runs until the dummies behind it are due.
    idle: Timer,
    failed: bool,
    /// True once it posts no more.
    stopped: bool,
    /// True while it waits for its turn to post.
    waits: bool,
}

/// The posting of requests at a host.
#[derive(Debug, Default)]
struct Posting {
    /// Connections that may post, in turn.
    ready: VecDeque<u32>,
    /// True while the host's processor is at work.
    busy: bool,
}

/// The software of all hosts.
pub(super) struct TrafficGenerators {
    traffic: Traffic,
    /// By host.
    software: Vec<Software>,
    connections: Vec<Progress>,
    /// By host.
    posting: Vec<Posting>,
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
            posting: software.iter().map(|_| Posting::default()).collect(),
            software,
            connections: (0..connections).map(|_| Progress::default()).collect(),
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

    /// Performs the next action that is due; returns the work for a NIC.
    pub(super) fn handle_later(&mut self, now: Nanos) -> Option<(HostId, Work)> {
        match self.agenda.take_due(now)? {
            Later::PostNext { host } => {
                self.posting[host.index()].busy = false;
                self.post_next(host, now);
                None
            }
            Later::GoOn { next } => {
                self.go_on(next, now);
                None
            }
            Later::Doorbell { connection, message } => Some(self.ring(connection, message, now)),
            Later::Idle { connection, message } => Some(self.dummies(connection, message)),
            Later::Seen { connection, message, status } => {
                self.on_completion(connection, message, status, now);
                None
            }
            Later::Arrived { pair } => {
                self.connections[pair as usize].arrived += 1;
                self.make_ready(pair, now);
                None
            }
            Later::PostReceive { connection } => {
                Some((self.host(Role::Responder, connection), Work::PostReceive { qp: connection }))
            }
        }
    }

    /// A connection posts no more.
    pub(super) fn stop(&mut self, connection: u32) {
        self.connections[connection as usize].stopped = true;
    }

    /// Returns true if a message of a connection was posted, and has not completed.
    pub(super) fn has_outstanding(&self, connection: u32) -> bool {
        !self.connections[connection as usize].outstanding.is_empty()
    }

    /// Handles an event of a NIC.
    pub(super) fn on_event(&mut self, host: HostId, event: HostEvent, now: Nanos) {
        match event {
            HostEvent::Completed { qp, message, status } => {
                let latency = self.software[host.index()].draw(|latencies| latencies.poll_ns);
                self.agenda.note(now + latency, Later::Seen { connection: qp, message, status });
            }
            HostEvent::Written { qp } => self.on_arrival(host, qp, now),
            HostEvent::Received { qp } => {
                self.on_arrival(host, qp, now);
                let received = &mut self.connections[qp as usize].received;
                *received += 1;
                if *received < self.traffic.receives_at_once() {
                    return;
                }
                let batch = std::mem::take(received);
                let latency = self.software[host.index()].draw(|latencies| latencies.repost_ns);
                for _ in 0..batch {
                    self.agenda.note(now + latency, Later::PostReceive { connection: qp });
                }
            }
        }
    }

    /// A request reaches the NIC, with the dummies that follow it at once, or those that come before it.
    fn ring(&mut self, connection: u32, message: u32, now: Nanos) -> (HostId, Work) {
        let wait = Nanos(self.traffic.dummy_idle_ns);
        let is_timed = self.traffic.times_dummies();
        let last = self.connections[connection as usize].last.replace(now);
        match self.traffic.dummy_rule {
            DummyRule::IdleAfter if is_timed => {
                let timer = &mut self.connections[connection as usize].idle;
                self.agenda.set(timer, now + wait, Later::Idle { connection, message });
            }
            DummyRule::GapBefore if is_timed && last.is_some_and(|last| last + wait < now) => {
                self.agenda.note(now, Later::Doorbell { connection, message });
                return self.dummies(connection, message - 1);
            }
            DummyRule::IdleAfter | DummyRule::GapBefore => {}
        }
        let verb = self.traffic.load.verb(connection + 1, message);
        let (bytes, dummies) = (self.traffic.message_size, self.traffic.dummy_headers);
        let dummies = if is_timed { 0 } else { dummies };
        let host = self.host(Role::Requester, connection);
        (host, Work::Post { qp: connection, message, verb, bytes, dummies })
    }

    /// The dummies behind a message that has been posted.
    fn dummies(&self, connection: u32, message: u32) -> (HostId, Work) {
        let verb = self.traffic.load.verb(connection + 1, message);
        let host = self.host(Role::Requester, connection);
        (host, Work::PostDummies { qp: connection, message, verb, dummies: self.traffic.dummy_headers })
    }

    /// Completions, in the order in which they were seen.
    pub(super) fn into_completions(self) -> Vec<Completion> {
        self.completions
    }

    /// The host that has an end of a connection.
    const fn host(&self, end: Role, connection: u32) -> HostId {
        HostId::of(self.traffic.end_at(end, connection + 1))
    }

    /// A message of a connection has arrived at a host.
    fn on_arrival(&mut self, host: HostId, connection: u32, now: Nanos) {
        if let Some(pair) = self.traffic.paired_with(connection + 1) {
            let latency = self.software[host.index()].draw(|latencies| latencies.poll_ns);
            self.agenda.note(now + latency, Later::Arrived { pair: pair - 1 });
        }
    }

    /// Messages of a connection that may be posted by now: of a pair the first one begins, and the other one answers.
    fn released(&self, connection: u32) -> u32 {
        match self.traffic.pattern {
            Pattern::OneWay => self.released,
            Pattern::PingPong => {
                let begins = u32::from(connection.is_multiple_of(2));
                self.released.min(self.connections[connection as usize].arrived + begins)
            }
        }
    }

    fn may_post(&self, connection: u32) -> bool {
        let progress = &self.connections[connection as usize];
        !progress.failed
            && !progress.stopped
            && progress.posted < self.released(connection)
            && progress.outstanding.len() + (progress.pausing as usize) < self.traffic.tx_depth as usize
    }

    /// Gives a connection a turn to post, if it may.
    fn make_ready(&mut self, connection: u32, now: Nanos) {
        if self.may_post(connection) && !self.connections[connection as usize].waits {
            self.connections[connection as usize].waits = true;
            let host = self.host(Role::Requester, connection);
            self.posting[host.index()].ready.push_back(connection);
            self.post_next(host, now);
        }
    }

    /// The processor of a host posts the request of the connection whose turn it is, one at a time.
    fn post_next(&mut self, host: HostId, now: Nanos) {
        let posting = &mut self.posting[host.index()];
        if posting.busy {
            return;
        }
        let Some(connection) = posting.ready.pop_front() else { return };
        posting.busy = true;
        let done = now + self.software[host.index()].draw(|latencies| latencies.post_ns);
        let progress = &mut self.connections[connection as usize];
        progress.waits = false;
        let message = progress.posted;
        progress.posted += 1;
        progress.outstanding.push_back(now);
        self.outstanding += 1;
        self.agenda.note(done, Later::Doorbell { connection, message });
        self.agenda.note(done, Later::PostNext { host });
        self.make_ready(connection, now);
    }

    fn on_completion(&mut self, connection: u32, message: u32, status: CompletionStatus, now: Nanos) {
        let progress = &mut self.connections[connection as usize];
        let posted = progress.outstanding.pop_front().unwrap_or(now);
        progress.failed |= status != CompletionStatus::Success;
        if progress.outstanding.is_empty() {
            // Behind what has completed there is nothing to be shown.
            self.agenda.stop(progress.idle);
        }
        self.outstanding -= 1;
        self.completions.push(Completion {
            connection: connection + 1,
            message: message + 1,
            posted_ns: posted,
            completed_ns: now,
            bytes: self.traffic.message_size.into(),
            status,
        });
        let progress = &mut self.connections[connection as usize];
        let next = if !self.traffic.barrier_sync {
            progress.pausing += 1;
            if progress.pausing > self.traffic.num_msgs_per_qp - progress.posted {
                // Earlier pauses end with the messages that are left.
                return;
            }
            Next::Message { connection }
        } else if self.outstanding == 0
            && self.posting.iter().all(|posting| posting.ready.is_empty())
            && self.released < self.traffic.num_msgs_per_qp
        {
            Next::Round
        } else {
            return;
        };
        match self.traffic.gap_ns {
            0 => self.go_on(next, now),
            gap => self.agenda.note(now + Nanos(gap), Later::GoOn { next }),
        }
    }

    fn go_on(&mut self, next: Next, now: Nanos) {
        match next {
            Next::Message { connection } => {
                self.connections[connection as usize].pausing -= 1;
                self.make_ready(connection, now);
            }
            Next::Round => {
                self.pass_barrier();
                for connection in 0..self.connections.len() as u32 {
                    self.make_ready(connection, now);
                }
            }
        }
    }

    /// Lets every connection post its next `tx-depth` messages.
    const fn pass_barrier(&mut self) {
        let next = self.released.saturating_add(self.traffic.tx_depth);
        self.released = if next < self.traffic.num_msgs_per_qp { next } else { self.traffic.num_msgs_per_qp };
    }
}

#[cfg(test)]
mod tests {
    use dumper::Observation;
    use rand::SeedableRng;

    use super::*;
    use crate::profile::NicProfile;

    const GAP: Nanos = Nanos(3_000_000);
    /// Time in which the requester's processor posts the messages of all connections.
    const POSTING: Nanos = Nanos(50_000);

    fn run(traffic: &str, gap: Nanos) -> Observation {
        let text = format!("[traffic]\nmessage-size = 3000\ngap-ns = {}\n{traffic}", gap.0);
        let config = corpus::from_toml("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        crate::sim::run_checked(&config, [NicProfile::default(), NicProfile::default()]).unwrap()
    }

    /// Completions of a connection (from 1).
    fn of(observation: &Observation, connection: u32) -> Vec<&Completion> {
        observation.completions().iter().filter(|one| one.connection == connection).collect()
    }

    #[test]
    fn a_message_is_posted_a_pause_after_the_one_before_it_has_completed() {
        for gap in [Nanos::ZERO, GAP] {
            let observation = run("num-msgs-per-qp = 5\n", gap);
            let completions = of(&observation, 1);
            assert_eq!(completions.len(), 5);
            for pair in completions.windows(2) {
                assert_eq!(pair[1].posted_ns, pair[0].completed_ns + gap);
            }
        }
    }

    #[test]
    fn each_of_several_outstanding_messages_has_a_pause_of_its_own() {
        let observation = run("num-connections = 2\nnum-msgs-per-qp = 11\ntx-depth = 3\n", GAP);
        for connection in [1, 2] {
            let completions = of(&observation, connection);
            assert_eq!(completions.len(), 11);
            assert!(completions[2].posted_ns < POSTING, "the first ones follow at once");
            for (before, after) in completions.iter().zip(&completions[3..]) {
                let pause = after.posted_ns - before.completed_ns;
                assert!(pause >= GAP && pause < GAP + POSTING, "{pause}");
            }
        }
    }

    #[test]
    fn a_round_is_posted_a_pause_after_the_one_before_it_is_complete() {
        let observation =
            run("num-connections = 3\nnum-msgs-per-qp = 6\ntx-depth = 2\nbarrier-sync = true\n", GAP);
        let round = |number: u32| {
            let messages = 2 * number + 1..=2 * number + 2;
            observation.completions().iter().filter(move |one| messages.contains(&one.message))
        };
        for number in [1, 2] {
            assert_eq!(round(number).count(), 6);
            let complete = round(number - 1).map(|one| one.completed_ns).max().unwrap();
            for message in round(number) {
                let pause = message.posted_ns - complete;
                assert!(pause >= GAP && pause < GAP + POSTING, "{pause}");
            }
        }
    }

    /// Each message of a pair is posted when the one before it on the other connection has been delivered, and its own has completed.
    #[test]
    fn hosts_post_in_turn() {
        let lost_ack = "[[event]]\nqpn = 2\npacket = \"ack\"\nnth = 2\ntype = \"drop\"";
        for (verb, dummies, events) in [("write", 1, ""), ("send", 1, ""), ("write", 0, lost_ack)] {
            let text = format!(
                "[traffic]\npattern = \"ping-pong\"\nrdma-verb = \"{verb}\"\nnum-connections = 4\nnum-msgs-per-qp = 6\n\
                 message-size = 3000\ndummy-headers = {dummies}\n{events}"
            );
            let config = corpus::from_toml("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
            let observation =
                crate::sim::run_checked(&config, [NicProfile::default(), NicProfile::default()]).unwrap();
            let deliveries = observation.deliveries.as_ref().unwrap();
            assert_eq!(deliveries.len(), 24);
            assert!(deliveries.iter().all(|one| one.intact && one.bytes == 3000));
            let last = |connection: usize| delivered(&observation, connection, 3 + dummies);
            for pair in [1, 3] {
                let (begins, answers) = (of(&observation, pair), of(&observation, pair + 1));
                assert_eq!((begins.len(), answers.len()), (6, 6));
                let (asked, answered) = (last(pair as usize), last(pair as usize + 1));
                for at in 0..6 {
                    assert!(answers[at].posted_ns > asked[at], "an answer follows its message");
                    assert!(at == 0 || answers[at].posted_ns >= answers[at - 1].completed_ns);
                    assert!(
                        at == 0 || begins[at].posted_ns > answered[at - 1],
                        "a message follows an answer"
                    );
                    assert!(at == 0 || begins[at].posted_ns >= begins[at - 1].completed_ns);
                    let waits = at > 0 && begins[at].posted_ns - begins[at - 1].posted_ns > Nanos(1_000_000);
                    assert_eq!(
                        waits,
                        !events.is_empty() && pair == 1 && at == 3,
                        "an ACK of an answer is waited for"
                    );
                }
            }
        }
    }

    /// Times at which the last packets of a connection's messages first left the switch.
    fn delivered(observation: &Observation, connection: usize, per_message: u32) -> Vec<Nanos> {
        let ends = &observation.connections[connection - 1];
        let trace = &observation.trace;
        let mut last = std::collections::BTreeMap::new();
        for record in trace.records() {
            let flow = trace.flow(record);
            let is_towards =
                flow.destination == ends.responder.ip && Some(flow.dest_qpn) == ends.responder.qpn;
            if is_towards && record.class().is_data() {
                let psn = record.psn.relative_to(ends.requester.initial_psn.unwrap());
                // Of three packets, behind which dummies may come.
                if psn % per_message == 3 % per_message {
                    last.entry(psn).or_insert(record.time);
                }
            }
        }
        last.into_values().collect()
    }

    /// Times at which Receives are posted on a connection whose Receives complete 1 us after each other.
    fn posted_receives(traffic: &str) -> Vec<u64> {
        let config = corpus::from_toml("test.toml", &format!("[traffic]\nrdma-verb = \"send\"\n{traffic}"));
        let traffic = config.unwrap_or_else(|errors| panic!("{errors}")).traffic;
        let software = |_| Software::new(NicProfile::default().host, ChaCha8Rng::seed_from_u64(1));
        let mut generators = TrafficGenerators::new(&traffic, [0, 1].map(software).into());
        generators.agenda = Agenda::new();
        for received in 1..=7 {
            generators.on_event(HostId::RESPONDER, HostEvent::Received { qp: 0 }, Nanos(1_000 * received));
        }
        let mut posted = Vec::new();
        while let Some(at) = generators.next_at() {
            assert!(matches!(generators.handle_later(at), Some((_, Work::PostReceive { qp: 0 }))));
            posted.push((at.0 - 500) / 1_000);
        }
        posted
    }

    #[test]
    fn receives_are_posted_when_a_batch_of_them_has_completed() {
        assert_eq!(posted_receives(""), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(posted_receives("recv-batch = 3"), [3, 3, 3, 6, 6, 6]);
        assert_eq!(posted_receives("recv-batch = 3\nrecv-depth = 2"), [2, 2, 4, 4, 6, 6]);
    }
}
