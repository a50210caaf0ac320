//! The loop: the next event, and the component that handles it.

use corpus::Role;
use dumper::wire::Class;
use dumper::{Delivery, Nanos, Observation};

use super::counters;
use super::network::Network;
use super::nic::{HostEvent, Input, Nic};
use super::traffic::TrafficGenerators;
use super::truth::Truth;
use crate::TestbedError;

/// Most packets that a trace may have: 1 GiB of records. The largest test has a quarter of it without losses.
pub(super) const MAX_PACKETS: usize = 16 << 20;

/// Two hosts, the network, and the time.
pub(super) struct World {
    pub(super) nics: [Nic; 2],
    pub(super) network: Network,
    pub(super) generators: TrafficGenerators,
    /// Time at which each host's cable can take the next packet, in ps.
    pub(super) cable_free: [u64; 2],
    /// Time at which each host's NIC can schedule the next packet.
    pub(super) scheduler_free: [Nanos; 2],
    /// Length of each host's transmit pipeline, in ps: its NIC schedules packets so far ahead of its cable.
    pub(super) pipeline_ps: [u64; 2],
    pub(super) now: Nanos,
    /// Kept to save allocations.
    pub(super) events: Vec<HostEvent>,
}

/// Possible steps, in the order in which steps of the same time happen.
#[derive(Clone, Copy)]
enum Step {
    Software,
    Entry(Role),
    Later,
    Arrival(Role),
    Timeout(Role),
    Transmit(Role),
}

impl World {
    /// Runs until nothing happens any more.
    pub(super) fn run(&mut self, watch: &mut impl FnMut(Truth)) -> Result<(), TestbedError> {
        while let Some((at, step)) = self.next_step() {
            self.now = self.now.max(at);
            self.take(step, watch);
            if self.network.packets() > MAX_PACKETS {
                return Err(TestbedError::TooManyPackets { packets: MAX_PACKETS });
            }
        }
        Ok(())
    }

    #[inline]
    fn next_step(&self) -> Option<(Nanos, Step)> {
        let mut next: Option<(Nanos, Step)> = None;
        let mut consider = |at: Option<Nanos>, step: Step| {
            if let Some(at) = at
                && next.is_none_or(|(earliest, _)| at < earliest)
            {
                next = Some((at, step));
            }
        };
        consider(self.generators.next_at(), Step::Software);
        for host in Role::ALL {
            consider(self.network.next_entry(host), Step::Entry(host));
        }
        consider(self.network.next_later(), Step::Later);
        for host in Role::ALL {
            consider(self.network.next_arrival(host), Step::Arrival(host));
        }
        for host in Role::ALL {
            consider(self.nics[host as usize].poll_timeout(), Step::Timeout(host));
        }
        for host in Role::ALL {
            if let Some(ready) = self.nics[host as usize].next_transmit(self.now) {
                let (free, ahead) = (self.cable_free[host as usize], self.pipeline_ps[host as usize]);
                let room = Nanos(free.saturating_sub(ahead).div_ceil(1_000));
                let scheduler = self.scheduler_free[host as usize];
                consider(Some(ready.max(room).max(scheduler)), Step::Transmit(host));
            }
        }
        next
    }

    #[inline]
    fn take(&mut self, step: Step, watch: &mut impl FnMut(Truth)) {
        let now = self.now;
        match step {
            Step::Software => {
                if let Some((host, input)) = self.generators.handle_later(now) {
                    self.nics[host as usize].handle(now, input);
                    self.pass_events(host);
                }
            }
            Step::Entry(from) => self.network.enter(from),
            Step::Later => self.network.handle_later(now),
            Step::Arrival(to) => {
                if let Some(packet) = self.network.take_arrival(to) {
                    self.nics[to as usize].handle(now, Input::Packet(packet));
                    self.pass_events(to);
                }
            }
            Step::Timeout(host) => {
                self.nics[host as usize].handle_timeout(now);
                self.pass_events(host);
            }
            Step::Transmit(host) => self.transmit(host, watch),
        }
    }

    fn transmit(&mut self, host: Role, watch: &mut impl FnMut(Truth)) {
        let nic = &mut self.nics[host as usize];
        if let Some(packet) = nic.poll_transmit(self.now) {
            watch(nic.truth(&packet, host));
            let free = &mut self.cable_free[host as usize];
            let start = (self.now.0 * 1_000).max(*free);
            // CNPs do not wait in the pipeline: their distances are kept.
            let passes = packet.opcode.class() == Class::Cnp && self.pipeline_ps[host as usize] > 0;
            let delay = if passes { self.network.send_past(host, packet, self.now) } else { None };
            *free = delay.map_or_else(|| self.network.send(host, packet, start), |delay| start + delay);
            self.scheduler_free[host as usize] = self.now + Nanos(nic.profile().transmit.packet_ns);
        }
        self.pass_events(host);
    }

    #[inline]
    fn pass_events(&mut self, host: Role) {
        self.nics[host as usize].take_events(&mut self.events);
        for event in self.events.drain(..) {
            self.generators.on_event(host, event, self.now);
        }
    }

    /// Observation of the test.
    pub(super) fn finish(
        self,
        config: &corpus::TestConfig,
        connections: Vec<dumper::Connection>,
    ) -> Observation {
        let [requester, responder] = &self.nics;
        let host = |nic: &Nic| counters::of(nic.stats(), nic.profile());
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
            // Simulated hosts have no kernel that could log.
            ..Observation::default()
        }
    }
}

/// Data written of each message at the host that receives it.
fn deliveries(config: &corpus::TestConfig, requester: &Nic, responder: &Nic) -> Vec<Delivery> {
    let load = config.traffic.load;
    let ends = requester.qps().iter().zip(responder.qps()).zip(1..);
    ends.flat_map(|((requester, responder), connection)| {
        let sent = responder.responder.memory().written();
        let read = requester.requester.memory().written();
        (0..config.traffic.num_msgs_per_qp).filter_map(move |message| {
            let memory = match load.verb(connection, message).data_sender() {
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
