//! The loop: the next event, and the component that handles it.

use corpus::{Role, TestConfig};
use dumper::{Delivery, Nanos, Observation};

use super::counters;
use super::host::{Host, Sent};
use super::host_id::HostId;
use super::network::Network;
use super::next::Next;
use super::nic::{HostEvent, Nic};
use super::step::{Kind, MAX_HOSTS, MAX_TIME, Step};
use super::traffic::TrafficGenerators;
use crate::TestbedError;

/// Most packets that a trace may have: 1 GiB of records. The largest test has a quarter of it without losses.
pub(super) const MAX_PACKETS: usize = 16 << 20;

/// Of a test over several paths: go-back-N sends up to a window again for each packet that is overtaken, and comes to an end, but
/// takes long. So many packets are enough to see it.
const MOST_OVER_PATHS: usize = 2 << 20;

/// The same, for each packet that the test has without retransmissions.
const MOST_FOR_ONE: usize = 16;

/// Most packets of a test's trace.
pub(super) fn most_packets(config: &TestConfig) -> usize {
    if config.network.paths.len() < 2 {
        return MAX_PACKETS;
    }
    let packets = usize::try_from(config.traffic.total_packets());
    packets.unwrap_or(usize::MAX).saturating_mul(MOST_FOR_ONE).clamp(MOST_OVER_PATHS, MAX_PACKETS)
}

/// The hosts, the network, and the time.
pub(super) struct World {
    hosts: Vec<Host>,
    network: Network,
    generators: TrafficGenerators,
    most_packets: usize,
    now: Nanos,
    /// The next step of each kind and host, noted when what it depends on changes: to find the first of all looks at nothing else.
    next: Next,
    /// Kept to save allocations.
    events: Vec<HostEvent>,
}

impl World {
    /// A world in which nothing has happened.
    pub(super) fn new(
        hosts: Vec<Host>,
        network: Network,
        generators: TrafficGenerators,
        most_packets: usize,
    ) -> Self {
        assert!(hosts.len() <= MAX_HOSTS, "a test has two hosts");
        let now = Nanos::ZERO;
        let mut next = Next::new(&hosts);
        next.note_software(&generators);
        next.note_network(&network);
        hosts.iter().zip(0..).for_each(|(host, at)| next.note_host(host, HostId::at(at), now));
        Self { hosts, network, generators, most_packets, now, next, events: Vec::new() }
    }

    /// Ends the test after so many packets; returns true if it ends after more without this.
    pub(super) fn stop_after(&mut self, packets: usize) -> bool {
        let is_sooner = packets < self.most_packets;
        self.most_packets = self.most_packets.min(packets);
        is_sooner
    }

    /// The network takes each step by itself, at its time.
    pub(super) fn keep_in_step(&mut self) {
        self.network.keep_in_step();
        self.next.note_network(&self.network);
    }

    /// Runs until nothing happens any more. After every step `after` sees the hosts, the network, the host that the step
    /// has touched, and the packet that this host has sent.
    pub(super) fn run(
        &mut self,
        mut after: impl FnMut(&[Host], &Network, Option<HostId>, Option<Sent>),
    ) -> Result<(), TestbedError> {
        while let Some((at, kind, host)) = self.next_step().parts() {
            self.now = self.now.max(at);
            if self.now > MAX_TIME {
                return Err(TestbedError::TimedOut { seconds: MAX_TIME.0 / 1_000_000_000 });
            }
            let (touched, sent) = self.take(kind, host);
            after(&self.hosts, &self.network, touched, sent);
            if self.network.packets() > self.most_packets {
                return Err(TestbedError::TooManyPackets { packets: self.most_packets });
            }
        }
        Ok(())
    }

    /// The hosts.
    pub(super) fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    // Always inlined, as `take` is: there are two loops, with and without checks, and a call in each costs a tenth.
    #[inline(always)]
    fn next_step(&self) -> Step {
        debug_assert!(
            self.next.is_up_to_date(&self.generators, &self.network),
            "a step changed what it did not note"
        );
        let next = self.next.first();
        if self.next.controls.is_empty() || next == Step::NEVER && !self.has_work() {
            return next;
        }
        self.next.controls.iter().fold(next, |next, control| next.min(*control))
    }

    /// Returns true if the software of a host has something to do for its flow table but to look at it, which it does without end: a test
    /// ends before.
    #[cold]
    fn has_work(&self) -> bool {
        self.hosts.iter().any(|host| host.ovs.as_ref().is_some_and(|ovs| ovs.has_work(&self.generators)))
    }

    /// Takes a step of a host; returns the host that it touched, and the packet that this host has sent.
    #[inline(always)]
    fn take(&mut self, kind: Kind, host: HostId) -> (Option<HostId>, Option<Sent>) {
        let (now, mut sent) = (self.now, None);
        let touched = match kind {
            Kind::Software => {
                let touched = self.generators.handle_later(now).map(|(host, work)| {
                    self.hosts[host.index()].nic.post(now, work);
                    host
                });
                self.next.note_software(&self.generators);
                touched
            }
            Kind::Entry | Kind::Later => {
                let touched = self.network.go_on(self.next.first_of_hosts().at()).map(|pause| {
                    self.hosts[pause.host.index()].pause(pause, now, &mut self.network);
                    pause.host
                });
                self.next.note_network(&self.network);
                touched
            }
            Kind::Arrival => self.network.take_arrival(host).map(|packet| {
                self.next.note_arrival(&self.network, host);
                self.hosts[host.index()].receive(now, &packet);
                host
            }),
            Kind::Control => {
                self.hosts[host.index()].control(now, &mut self.generators);
                self.next.note_software(&self.generators);
                Some(host)
            }
            Kind::Timeout => {
                self.hosts[host.index()].nic.handle_timeout(now);
                Some(host)
            }
            Kind::Transmit => {
                sent = self.hosts[host.index()].transmit(host, now, &mut self.network);
                self.next.note_sent(&self.network);
                Some(host)
            }
        };
        if let Some(host) = touched {
            self.pass_events(host);
            let end = &mut self.hosts[host.index()];
            end.look(now, &self.generators);
            if self.network.has_flow_control() {
                end.control_flow(host, now, &mut self.network);
                self.next.note_network(&self.network);
            }
            self.next.note_host(end, host, now);
        }
        (touched, sent)
    }

    #[inline]
    fn pass_events(&mut self, host: HostId) {
        let nic = &mut self.hosts[host.index()].nic;
        if !nic.has_events() {
            return;
        }
        nic.take_events(&mut self.events);
        for event in self.events.drain(..) {
            self.generators.on_event(host, event, self.now);
        }
        self.next.note_software(&self.generators);
    }

    /// Observation of the test.
    pub(super) fn finish(mut self, config: &TestConfig, connections: Vec<dumper::Connection>) -> Observation {
        let mut logs = |host: HostId| {
            let ovs = self.hosts[host.index()].ovs.take();
            ovs.map(|ovs| ovs.into_logs()).unwrap_or_default()
        };
        let (requester_control, requester_log) = logs(HostId::REQUESTER);
        let (responder_control, responder_log) = logs(HostId::RESPONDER);
        let nic = |host: HostId| &self.hosts[host.index()].nic;
        let (requester, responder) = (nic(HostId::REQUESTER), nic(HostId::RESPONDER));
        let host = |nic: &Nic| counters::of(nic.stats(), nic.profile(), config.network.pfc);
        let deliveries = deliveries(config, requester, responder);
        let (requester, responder) = (host(requester), host(responder));
        let (trace, switch) = self.network.finish();
        let completions = self.generators.into_completions();
        Observation {
            trace,
            connections,
            requester,
            responder,
            switch: Some(switch),
            completions: Some(completions),
            deliveries: Some(deliveries),
            requester_control,
            responder_control,
            requester_log,
            responder_log,
            ..Observation::default()
        }
    }
}

/// Data written of each message at the host that receives it.
fn deliveries(config: &TestConfig, requester: &Nic, responder: &Nic) -> Vec<Delivery> {
    let traffic = &config.traffic;
    let ends = requester.qps().iter().zip(responder.qps()).zip(1..);
    ends.flat_map(|((first, second), connection)| {
        let (requester, responder) = match traffic.end_at(Role::Requester, connection) {
            Role::Requester => (first, second),
            Role::Responder => (second, first),
        };
        let sent = responder.responder.memory().written();
        let read = requester.requester.memory().written();
        (0..traffic.num_msgs_per_qp).filter_map(move |message| {
            let memory = match traffic.load.verb(connection, message).data_sender() {
                Role::Requester => sent,
                Role::Responder => read,
            };
            let written = memory.get(message as usize).filter(|written| written.bytes > 0)?;
            let (bytes, intact) = (written.bytes, !written.wrong);
            Some(Delivery { connection, message: message + 1, bytes, intact })
        })
    })
    .collect()
}
