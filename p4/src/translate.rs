//! Translates a test into the entries of the pipeline (Lumina §3.3, Figure 2): relative QPNs and PSNs become
//! flows and PSNs of the wire, once both hosts have reported their QPNs and initial PSNs.

use std::net::IpAddr;

use corpus::config::{LAST_OCCURRENCE, Points};
use corpus::{ControlPacket, Event, Role, Target, TestConfig, Traffic, Violation};
use dumper::{Connection, Psn};

use crate::Rounds;
use crate::flow::{FlowIndex, Registers};
use crate::network::{LossRule, PathRule};
use crate::tables::{MAX_ENTRIES, Tables};

/// Reasons why a test cannot be translated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TranslateError {
    /// The test breaks a rule, for example two events that contradict each other on one packet.
    #[error(transparent)]
    Config(#[from] Violation),
    /// The metadata is of another test.
    #[error(
        "the test has {expected} connections, and the hosts told of {found}; run both from the same test"
    )]
    Connections {
        /// Connections of the test.
        expected: u32,
        /// Connections that the hosts reported.
        found: usize,
    },
    /// A host did not tell its QPN.
    #[error("connection {connection}: the {} did not tell its QPN, without which its packets are not known", .end.name())]
    NoQpn {
        /// Connection, from 1.
        connection: u32,
        /// The end.
        end: Role,
    },
    /// A requester did not tell its initial PSN.
    #[error("connection {0}: the requester did not tell its initial PSN, from which relative PSNs count")]
    NoInitialPsn(u32),
    /// Two connections end at one QP.
    #[error(
        "connection {connection}: QPN {qpn} at {ip} is an end of another connection too; each needs a QP of its own"
    )]
    SharedQp {
        /// The later connection, from 1.
        connection: u32,
        /// Address of the QP.
        ip: IpAddr,
        /// Its number.
        qpn: u32,
    },
    /// The events name more packets than the tables hold.
    #[error(
        "event[{event}]: with it the events name more than {MAX_ENTRIES} packets; name fewer, for example with `count`"
    )]
    TooManyEntries {
        /// The first event that does not fit, from 1.
        event: usize,
    },
}

/// The tables of a test whose connections are known: connection i (from 1) is `connections[i - 1]`.
///
/// # Errors
/// See [`TranslateError`].
pub fn translate(config: &TestConfig, connections: &[Connection]) -> Result<Tables, TranslateError> {
    if let Some(violation) = config.violations().into_iter().next() {
        return Err(violation.into());
    }
    let expected = config.traffic.load.connections();
    if u32::try_from(connections.len()) != Ok(expected) {
        return Err(TranslateError::Connections { expected, found: connections.len() });
    }
    let mut tables = Tables::default();
    let mut initial_psns = Vec::with_capacity(connections.len());
    for (number, connection) in (1..).zip(connections) {
        initial_psns.push(flows(&mut tables, &config.traffic, number, connection)?);
    }
    tables.set_repeat(config.network.repeat);
    tables.set_paths(PathRule::of(config));
    for qpn in config.network.loss_qpn.members(expected) {
        for flow in Role::ALL.map(|towards| FlowIndex::new(qpn, towards)) {
            if let Some(rule) = LossRule::of(config, flow) {
                tables.set_loss(flow, rule);
            }
        }
    }
    for (index, event) in config.events.iter().enumerate() {
        for qpn in event.connections.members(expected) {
            let initial = initial_psns[qpn as usize - 1];
            if !fill(&mut tables, &config.traffic, event, qpn, initial) {
                return Err(TranslateError::TooManyEntries { event: index + 1 });
            }
        }
    }
    Ok(tables)
}

/// Adds both flows of a connection; its requester's initial PSN, from which Read responses count as well.
fn flows(
    tables: &mut Tables,
    traffic: &Traffic,
    number: u32,
    connection: &Connection,
) -> Result<Psn, TranslateError> {
    let initial = connection.requester.initial_psn.ok_or(TranslateError::NoInitialPsn(number))?;
    let registers = Registers::new(Rounds::new(traffic, number, initial));
    for (end, endpoint) in [(Role::Requester, connection.requester), (Role::Responder, connection.responder)]
    {
        let qpn = endpoint.qpn.ok_or(TranslateError::NoQpn { connection: number, end })?;
        if !tables.add_flow(endpoint.ip, qpn, registers.clone()) {
            return Err(TranslateError::SharedQp { connection: number, ip: endpoint.ip, qpn });
        }
    }
    Ok(initial)
}

/// Adds the entries of an event on one connection; false if they do not fit.
fn fill(tables: &mut Tables, traffic: &Traffic, event: &Event, qpn: u32, initial: Psn) -> bool {
    match event.target {
        Target::Data { iter, .. } => {
            let packets = traffic.shape().packets() as u32;
            event.points(packets).into_iter().flat_map(Points::iter).all(|psn| {
                // A packet is there, as `points` ends with the last.
                if let Some(sender) = traffic.data_sender(qpn, psn) {
                    let flow = FlowIndex::new(qpn, sender.peer());
                    tables.add_data(flow, Psn::from_relative(psn, initial), iter as u8, event.action);
                }
                tables.len() <= MAX_ENTRIES
            })
        }
        Target::Control { packet, .. } => {
            let towards = match packet {
                ControlPacket::ReadRequest => Role::Responder,
                // CNPs go both ways and are counted together, for either flow named here.
                ControlPacket::Ack | ControlPacket::Nak | ControlPacket::Cnp => Role::Requester,
            };
            if let Some(points) = event.points(LAST_OCCURRENCE) {
                tables.add_control(FlowIndex::new(qpn, towards), packet, points, event.action.into());
            }
            tables.len() <= MAX_ENTRIES
        }
    }
}
