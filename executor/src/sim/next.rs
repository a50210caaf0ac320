//! The next step of each kind and host, noted when it changes.

use dumper::Nanos;

use super::host::Host;
use super::host_id::HostId;
use super::network::Network;
use super::step::{Kind, Step};
use super::traffic::TrafficGenerators;

/// Steps that may be the next one.
pub(super) struct Next {
    /// Of the hosts' software.
    software: Step,
    /// Of the network, at the time at which a host may take notice of it.
    network: Step,
    /// Of each host: a packet reaches it, and it does something by itself.
    hosts: Vec<[Step; 2]>,
    /// Of each host's software for a flow table; empty if no host has one.
    pub(super) controls: Vec<Step>,
}

const ARRIVAL: usize = 0;
const OWN: usize = 1;

impl Next {
    /// Of hosts of which nothing is noted yet.
    pub(super) fn new(hosts: &[Host]) -> Self {
        let has_control = hosts.iter().any(|host| host.ovs.is_some());
        Self {
            software: Step::NEVER,
            network: Step::NEVER,
            hosts: vec![[Step::NEVER; 2]; hosts.len()],
            controls: vec![Step::NEVER; if has_control { hosts.len() } else { 0 }],
        }
    }

    /// The first of all but those of the software for flow tables.
    #[inline(always)]
    pub(super) fn first(&self) -> Step {
        let first = self.software.min(self.network);
        self.hosts.iter().fold(first, |next, [arrival, own]| next.min((*arrival).min(*own)))
    }

    /// The first step of a host by itself, or of its software: no host sends anything before.
    pub(super) fn first_of_hosts(&self) -> Step {
        let own = self.hosts.iter().map(|[_, own]| own);
        own.chain(&self.controls).fold(self.software, |next, step| next.min(*step))
    }

    /// Notes what has become of the hosts' software.
    #[inline(always)]
    pub(super) fn note_software(&mut self, generators: &TrafficGenerators) {
        self.software = Step::new(generators.next_at(), Kind::Software, HostId::REQUESTER);
    }

    /// Notes what has become of the switch and all links.
    #[inline(always)]
    pub(super) fn note_network(&mut self, network: &Network) {
        self.note_sent(network);
        for host in (0..self.hosts.len()).map(HostId::at) {
            self.note_arrival(network, host);
        }
    }

    /// Notes what has become of the switch and of the packets on their way to it.
    #[inline(always)]
    pub(super) fn note_sent(&mut self, network: &Network) {
        self.network = network.next_noticed();
    }

    /// Notes what has become of the packets on their way to a host.
    #[inline(always)]
    pub(super) fn note_arrival(&mut self, network: &Network, host: HostId) {
        let at = network.links()[host.index()].next_arrival();
        self.hosts[host.index()][ARRIVAL] = Step::new(at, Kind::Arrival, host);
    }

    /// Returns true if nothing has become of software, switch and links that is not noted; of a host by itself the time of the note counts too.
    pub(super) fn is_up_to_date(&self, generators: &TrafficGenerators, network: &Network) -> bool {
        let mut fresh = Self { hosts: self.hosts.clone(), controls: Vec::new(), ..*self };
        fresh.note_software(generators);
        fresh.note_network(network);
        [fresh.software, fresh.network] == [self.software, self.network] && fresh.hosts == self.hosts
    }

    /// Notes what has become of a host.
    #[inline(always)]
    pub(super) fn note_host(&mut self, host: &Host, id: HostId, now: Nanos) {
        let timeout = Step::new(host.next_timeout(), Kind::Timeout, id);
        let transmit = Step::new(host.next_transmit(now), Kind::Transmit, id);
        self.hosts[id.index()][OWN] = timeout.min(transmit);
        if let Some(control) = self.controls.get_mut(id.index()) {
            *control = Step::new(host.next_control(), Kind::Control, id);
        }
    }
}
