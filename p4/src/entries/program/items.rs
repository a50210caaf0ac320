//! The tables of a test as entries of the P4 programs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use corpus::config::Points;
use corpus::{Action, ControlPacket, RepeatMatch};

use super::{CONTROL_PACKETS, DATA_COPIES, DUMPERS, FORWARD, NAK_COPIES, PROGRAM_DATA_EVENTS, PROGRAM_FLOWS};
use crate::entries::schema::Table;
use crate::entries::{Intent, Item, row};
use crate::{Actions, Dumper, FlowIndex, Key, PortError, Ports, Tables};

/// Ports of a switch that runs a P4 program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wiring {
    /// Ports of the requester and the responder.
    pub hosts: [u32; 2],
    /// Ports of the dumpers, with their weights.
    pub dumpers: Vec<Dumper>,
}

/// Multicast groups of a host's port begin here, those of the other one as far behind.
const GROUPS: u32 = 32;

/// Something of a test that the P4 programs cannot do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsupported {
    /// An action that holds, delays or rewrites packets.
    #[error(
        "{intent}: P4 programs drop, mark, corrupt and duplicate packets; {action} is for the software switch"
    )]
    Action {
        /// The packet.
        intent: Intent,
        /// Name of the action.
        action: &'static str,
    },
    /// Events on more packets than the table holds.
    #[error(
        "{intent}: the table of the P4 program is full, with {most} entries; name fewer packets, for example with `count`"
    )]
    Entries {
        /// The first packet without an entry.
        intent: Intent,
        /// Entries of the table.
        most: usize,
    },
    /// Random losses or several paths.
    #[error("{0}: only the software switch has them")]
    Network(&'static str),
    /// More turns of the dumpers than the table holds.
    #[error("the weights of the dumpers add up to {sum}; allowed: up to {}", DUMPERS.size)]
    Weights {
        /// Their sum.
        sum: u64,
    },
    /// An error in the list of ports.
    #[error(transparent)]
    Ports(#[from] PortError),
}

impl Wiring {
    /// Multicast groups: number, port, and number of its replicas, whose instances are numbered from 1.
    pub fn groups(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let hosts = (1..).zip(self.hosts);
        hosts.flat_map(|(host, port)| {
            (1..GROUPS).map(move |replicas| (GROUPS * host + replicas, port, replicas))
        })
    }

    /// Clone sessions: number and port.
    pub fn sessions(&self) -> impl Iterator<Item = (u32, u32)> {
        (1..).zip(self.dumpers.iter().map(|dumper| dumper.port))
    }

    /// Sessions in the order of their turns: smooth weighted round robin.
    fn turns(&self) -> Result<Vec<u32>, Unsupported> {
        let mut ports = Ports::new(self.hosts[0], self.hosts[1], &self.dumpers)?;
        let sum = self.dumpers.iter().map(|dumper| u64::from(dumper.weight)).sum();
        if sum > DUMPERS.size as u64 {
            return Err(Unsupported::Weights { sum });
        }
        let session = |port| self.sessions().find(|(_, of)| *of == port).map(|(session, _)| session);
        Ok((0..sum).filter_map(|_| session(ports.next_dumper())).collect())
    }
}

/// All entries of tables that no pipeline has been made of yet, for a test of this number, from 1.
///
/// # Errors
/// See [`Unsupported`].
pub fn items(tables: &Tables, wiring: &Wiring, epoch: u32) -> Result<Vec<Item>, Unsupported> {
    if !tables.losses().is_empty() {
        return Err(Unsupported::Network("random losses"));
    }
    if !tables.paths().paths.is_empty() {
        return Err(Unsupported::Network("paths"));
    }
    let mut all = Vec::new();
    let mut add = |table: &Table, key: &[u128], params: &[u128], intent: Intent| {
        all.push(Item { entry: row::entry(table, key, Some(params)), intent });
    };
    let repeat = tables.repeat();
    for (flow, destination, qpn) in tables.flows() {
        let Some(rounds) = tables.rounds(flow) else { continue };
        let destination = match destination {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let (initial, mode, shares_psns) = rounds.started();
        let connection = if repeat.matching == RepeatMatch::Connection { flow.connection() } else { 0 };
        let tag = asked_tag(epoch, connection);
        let params = [
            number(flow),
            mode as u128,
            shares_psns.into(),
            1u32.wrapping_sub(initial.value()).into(),
            tag.into(),
        ];
        add(&PROGRAM_FLOWS, &[destination.to_bits(), qpn.into()], &params, Intent::Flow(flow));
    }
    // The actions of all events on a control packet make one entry.
    let mut control: BTreeMap<(FlowIndex, ControlPacket, u32), Actions> = BTreeMap::new();
    let mut data = 0;
    for entry in tables.entries() {
        match entry.key {
            Key::Data { flow, psn, iter } => {
                let intent = Intent::Event(entry.key);
                let params = encode(&entry.actions, intent)?;
                data += 1;
                if data > PROGRAM_DATA_EVENTS.size {
                    return Err(Unsupported::Entries { intent, most: PROGRAM_DATA_EVENTS.size });
                }
                add(&PROGRAM_DATA_EVENTS, &[number(flow), psn.value().into(), iter.into()], &params, intent);
            }
            Key::Control { flow, packet, nth } => {
                for nth in nth.iter() {
                    control.entry((flow, packet, nth)).or_default().add(entry.actions);
                    if control.len() > CONTROL_PACKETS.size {
                        let intent = one(flow, packet, nth);
                        return Err(Unsupported::Entries { intent, most: CONTROL_PACKETS.size });
                    }
                }
            }
        }
    }
    for ((flow, packet, nth), actions) in control {
        let intent = one(flow, packet, nth);
        let params = encode(&actions, intent)?;
        add(&CONTROL_PACKETS, &[number(flow), packet as u128, nth.into()], &params, intent);
    }
    if repeat.naks > 1 {
        add(&NAK_COPIES, &[1], &[copies(repeat.naks)], Intent::Repeat);
    }
    for (is_asked, ends) in [(false, true), (true, false), (true, true)] {
        let again = if is_asked { repeat.retransmissions } else { 1 };
        let packets = if ends { again.max(repeat.tails) } else { again };
        if packets > 1 {
            add(&DATA_COPIES, &[is_asked.into(), ends.into()], &[copies(packets)], Intent::Repeat);
        }
    }
    let turns = wiring.turns()?;
    let last_turn = turns.len() as u128 - 1;
    for (host, port) in (0..).zip(wiring.hosts) {
        let to = 1 - host;
        let group = GROUPS * (1 + to as u32) + 1;
        let params = [wiring.hosts[to].into(), epoch.into(), group.into(), last_turn];
        add(&FORWARD, &[port.into()], &params, Intent::Host(port));
    }
    for (turn, session) in (0..).zip(turns) {
        add(&DUMPERS, &[u128::from(turn)], &[session.into()], Intent::Turn(turn));
    }
    Ok(all)
}

/// The events on one control packet.
const fn one(flow: FlowIndex, packet: ControlPacket, nth: u32) -> Intent {
    Intent::Event(Key::Control { flow, packet, nth: Points { first: nth, step: 1, last: nth } })
}

/// A bit for each copy that leaves where so many packets leave for one.
fn copies(packets: u8) -> u128 {
    (1 << packets.saturating_sub(1)) - 1
}

/// Marks PSNs that NAKs have asked for: others in every test, so that none that an earlier test left in the registers is taken for
/// one of this test. Not 0.
fn asked_tag(epoch: u32, connection: u32) -> u32 {
    // Of connections there are 10,000 at most; the tags of two tests are the same after 2^18 tests.
    (epoch << CONNECTION_BITS | connection).max(1)
}

/// Bits of a tag that say the connection.
const CONNECTION_BITS: u32 = 14;

fn number(flow: FlowIndex) -> u128 {
    flow.index() as u128
}

fn encode(actions: &Actions, intent: Intent) -> Result<[u128; 5], Unsupported> {
    let Actions { drop, ecn, corrupt, set_field, extra_copies, timing, drop_copies } = *actions;
    let action = timing.action().or(set_field.map(Action::SetField));
    if let Some(action) = action {
        return Err(Unsupported::Action { intent, action: action.name() });
    }
    Ok([drop.into(), ecn.into(), corrupt.into(), extra_copies.into(), drop_copies.into()])
}
