//! The loop: the next event, and the component that handles it.

use corpus::{Role, TestConfig};
use dumper::{Delivery, Nanos, Observation};

use super::counters;
use super::host::{Host, Sent};
use super::network::{HostId, Network};
use super::nic::{HostEvent, Input, Nic};
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
    /// The next step of each host by itself, which changes only when the host does.
    due: Vec<Step>,
    /// The next step of each host's software for a flow table, which likewise changes only when the host does; empty if no host has one.
    controls: Vec<Step>,
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
        let due = hosts.iter().zip(0..).map(|(host, at)| next_of(host, HostId::at(at), now)).collect();
        let has_control = hosts.iter().any(|host| host.ovs.is_some());
        let controls = hosts.iter().zip(0..).filter(|_| has_control);
        let controls = controls.map(|(host, at)| control_of(host, HostId::at(at))).collect();
        Self { hosts, network, generators, most_packets, now, due, controls, events: Vec::new() }
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
        let software = Step::new(self.generators.next_at(), Kind::Software, HostId::REQUESTER);
        let mut next = software.min(Step::new(self.network.next_later(), Kind::Later, HostId::REQUESTER));
        for (at, (due, link)) in self.due.iter().zip(self.network.links()).enumerate() {
            let host = HostId::at(at);
            let entry = Step::new(link.next_entry(), Kind::Entry, host);
            next = next.min(*due).min(entry).min(Step::new(link.next_arrival(), Kind::Arrival, host));
        }
        if self.controls.is_empty() || next == Step::NEVER && !self.has_work() {
            return next;
        }
        self.controls.iter().fold(next, |next, control| next.min(*control))
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
            Kind::Software => self.generators.handle_later(now).map(|(host, input)| {
                self.hosts[host.index()].handle(now, input);
                host
            }),
            Kind::Entry => {
                self.network.enter(host);
                None
            }
            Kind::Later => self.network.handle_later(now).map(|pause| {
                self.hosts[pause.host.index()].pause(pause, now, &mut self.network);
                pause.host
            }),
            Kind::Arrival => self.network.take_arrival(host).map(|packet| {
                self.hosts[host.index()].handle(now, Input::Packet(packet));
                host
            }),
            Kind::Control => {
                self.hosts[host.index()].control(now, &mut self.generators);
                Some(host)
            }
            Kind::Timeout => {
                self.hosts[host.index()].nic.handle_timeout(now);
                Some(host)
            }
            Kind::Transmit => {
                sent = self.hosts[host.index()].transmit(host, now, &mut self.network);
                Some(host)
            }
        };
        if let Some(host) = touched {
            self.pass_events(host);
            self.hosts[host.index()].look(now, &self.generators);
            if self.network.has_flow_control() {
                self.hosts[host.index()].control_flow(host, now, &mut self.network);
            }
            self.due[host.index()] = next_of(&self.hosts[host.index()], host, now);
            if let Some(control) = self.controls.get_mut(host.index()) {
                *control = control_of(&self.hosts[host.index()], host);
            }
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

/// The next step of a host by itself.
#[inline(always)]
fn next_of(host: &Host, id: HostId, now: Nanos) -> Step {
    Step::new(host.next_timeout(), Kind::Timeout, id).min(Step::new(
        host.next_transmit(now),
        Kind::Transmit,
        id,
    ))
}

/// The next step of a host's software for its flow table.
#[inline(always)]
fn control_of(host: &Host, id: HostId) -> Step {
    Step::new(host.next_control(), Kind::Control, id)
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
