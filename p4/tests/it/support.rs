//! A switch under test: a configuration by its text, connections with distinct QPNs, and relative PSNs in and
//! out.

use corpus::{ControlPacket, IterMode, Role, TestConfig};
use dumper::{Connection, Endpoint, Nanos, Psn, SwitchCounters};
use p4::{Dumper, Kind, Packet, Pipeline, Ports, Ticket, Verdict, translate};

pub(crate) use Role::{Requester, Responder};

pub(crate) const PORTS: [u32; 2] = [10, 20];

pub(crate) fn config(text: &str) -> TestConfig {
    corpus::from_toml("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Connection i (from 1): QPN 0x100 + i at 10.0.0.1 and 0x200 + i at 10.0.0.2.
pub(crate) fn connections(count: u32, initial: Psn) -> Vec<Connection> {
    let end = |ip, qpn| endpoint_of(ip, qpn, initial.value());
    (1..=count)
        .map(|number| Connection {
            requester: end("10.0.0.1", 0x100 + number),
            responder: end("10.0.0.2", 0x200 + number),
        })
        .collect()
}

/// An end of a connection.
pub(crate) fn endpoint_of(ip: &str, qpn: u32, initial: u32) -> Endpoint {
    Endpoint { ip: ip.parse().unwrap(), qpn: Some(qpn), initial_psn: Some(Psn::new(initial)) }
}

pub(crate) fn ports() -> Ports {
    Ports::new(PORTS[0], PORTS[1], &[Dumper { port: 30, weight: 1 }]).unwrap()
}

pub(crate) struct Switch {
    pub(crate) pipeline: Pipeline,
    connections: Vec<Connection>,
    initial: Psn,
    now: Nanos,
}

impl Switch {
    pub(crate) fn new(text: &str) -> Self {
        Self::of(&config(text), Psn::new(1))
    }

    pub(crate) fn of(config: &TestConfig, initial: Psn) -> Self {
        let connections = connections(config.traffic.load.connections(), initial);
        let tables = translate(config, &connections).unwrap_or_else(|error| panic!("{error}"));
        let pipeline = Pipeline::new(tables, ports());
        Self { pipeline, connections, initial, now: Nanos::ZERO }
    }

    /// A packet on a connection, sent by one of its ends.
    pub(crate) fn packet(&mut self, connection: u32, from: Role, kind: Kind, psn: u32) -> Verdict {
        let ends = self.connections[connection as usize - 1];
        let to = if from == Requester { ends.responder } else { ends.requester };
        let flow = self.pipeline.flow(to.ip, to.qpn.unwrap());
        assert_eq!(flow.map(|flow| (flow.connection(), flow.towards())), Some((connection, from.peer())));
        self.now += Nanos(100);
        let packet =
            Packet { kind, psn: Psn::from_relative(psn, self.initial), frame_bytes: 78, asks_again: false };
        self.pipeline.process(from, flow, packet, self.now)
    }

    /// A data packet of connection 1's requester, in the middle of a message.
    pub(crate) fn data(&mut self, psn: u32) -> Verdict {
        self.packet(1, Requester, Kind::Data { starts: false, ends: false }, psn)
    }

    pub(crate) fn control(&mut self, from: Role, packet: ControlPacket) -> Verdict {
        self.packet(1, from, Kind::Control(packet), 1)
    }

    pub(crate) fn released(&mut self) -> Vec<Ticket> {
        self.pipeline.take_released().collect()
    }

    /// Data packets, of those given, that the actions of events match.
    pub(crate) fn hit(&mut self, psns: &[u32]) -> Vec<bool> {
        psns.iter().map(|psn| self.data(*psn).mirror.event != dumper::Event::None).collect()
    }
}

pub(crate) fn per_message(text: &str) -> TestConfig {
    let mut config = config(text);
    config.traffic.iter_mode = IterMode::PerMessage;
    config
}

/// Packets that left at the ports of the requester and the responder.
pub(crate) fn egress(counters: &SwitchCounters) -> [u64; 2] {
    PORTS.map(|port| counters.egress[&port])
}
