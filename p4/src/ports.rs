//! Ports of the switch: the hosts and dumpers at them, the choice of the dumper for a mirrored packet, and
//! the counters of each port.

use std::collections::BTreeSet;

use corpus::Role;
use dumper::SwitchCounters;

/// The ports of a switch.
#[derive(Clone, Debug)]
pub struct Ports {
    hosts: [u32; 2],
    dumpers: Vec<Turn>,
    /// Sum of all weights.
    total: i64,
    ingress: [u64; 2],
    egress: [u64; 2],
}

/// A dumper's port and its share of the mirrored packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dumper {
    /// Port.
    pub port: u32,
    /// Weight, at least 1: of as many mirrored packets as all weights add up to, it gets this many.
    pub weight: u32,
}

#[derive(Clone, Debug)]
struct Turn {
    dumper: Dumper,
    /// Packets that it is behind its share; the sum over all dumpers is 0 between packets.
    credit: i64,
    mirrored: u64,
}

/// Error in a list of ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PortError {
    /// Nobody would get the mirrored packets.
    #[error("the switch has no dumper; give it at least one dumper port")]
    NoDumper,
    /// A weight of 0.
    #[error("the dumper at port {0} has weight 0; allowed: 1 to 4294967295")]
    NoWeight(u32),
    /// Two hosts or dumpers at one port.
    #[error("port {0} is used twice; give each host and dumper a port of its own")]
    Twice(u32),
}

impl Ports {
    /// Ports of the two hosts and of the dumpers.
    ///
    /// # Errors
    /// See [`PortError`].
    pub fn new(requester: u32, responder: u32, dumpers: &[Dumper]) -> Result<Self, PortError> {
        if dumpers.is_empty() {
            return Err(PortError::NoDumper);
        }
        if let Some(idle) = dumpers.iter().find(|dumper| dumper.weight == 0) {
            return Err(PortError::NoWeight(idle.port));
        }
        let hosts = [requester, responder];
        let mut seen = BTreeSet::new();
        if let Some(twice) =
            hosts.into_iter().chain(dumpers.iter().map(|dumper| dumper.port)).find(|port| !seen.insert(*port))
        {
            return Err(PortError::Twice(twice));
        }
        let turns = dumpers.iter().map(|dumper| Turn { dumper: *dumper, credit: 0, mirrored: 0 }).collect();
        let total = dumpers.iter().map(|dumper| i64::from(dumper.weight)).sum();
        Ok(Self { hosts, dumpers: turns, total, ingress: [0; 2], egress: [0; 2] })
    }

    /// The port of a host.
    #[inline]
    #[must_use]
    pub fn of(&self, host: Role) -> u32 {
        self.hosts[host as usize]
    }

    #[inline]
    pub(crate) fn received(&mut self, from: Role) {
        self.ingress[from as usize] += 1;
    }

    #[inline]
    pub(crate) fn sent(&mut self, to: Role, packets: u8) {
        self.egress[to as usize] += u64::from(packets);
    }

    /// The dumper's port that gets the next mirrored packet: smooth weighted round robin. Each dumper gains its
    /// weight, and the one that is furthest behind (the first of several) gets the packet and pays the sum of all
    /// weights. So each gets exactly its weight out of every such sum of packets, spread over them.
    #[inline]
    pub(crate) fn next_dumper(&mut self) -> u32 {
        let mut best = 0;
        for at in 0..self.dumpers.len() {
            self.dumpers[at].credit += i64::from(self.dumpers[at].dumper.weight);
            if self.dumpers[at].credit > self.dumpers[best].credit {
                best = at;
            }
        }
        let turn = &mut self.dumpers[best];
        turn.credit -= self.total;
        turn.mirrored += 1;
        turn.dumper.port
    }

    /// Counters in the form of result folders: every port in both directions.
    pub(crate) fn counters(&self) -> SwitchCounters {
        let mirrored = || self.dumpers.iter().map(|turn| (turn.dumper.port, turn.mirrored));
        let hosts = |counts: [u64; 2]| self.hosts.into_iter().zip(counts);
        SwitchCounters {
            ingress: hosts(self.ingress).chain(mirrored().map(|(port, _)| (port, 0))).collect(),
            egress: hosts(self.egress).chain(mirrored()).collect(),
            host_ports: self.hosts.to_vec(),
        }
    }
}
