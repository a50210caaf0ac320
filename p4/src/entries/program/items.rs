//! The tables of a test as entries of the P4 programs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use corpus::{ControlPacket, Repeat, RepeatMatch};
use dumper::Psn;

use super::{CONTROL_PACKETS, DATA_COPIES, DUMPERS, FORWARD, NAK_COPIES, PROGRAM_DATA_EVENTS, PROGRAM_FLOWS};
use crate::entries::row;
use crate::proto::runtime::TableEntry;
use crate::{Actions, Dumper, FlowIndex, Key, PortError, Ports, Tables, Timing};

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
        "{packet}: P4 programs drop, mark, corrupt and duplicate packets; {action} is for the software switch"
    )]
    Action {
        /// The packet.
        packet: String,
        /// Name of the action.
        action: &'static str,
    },
    /// An event on more control packets than the table holds.
    #[error(
        "{packet}: a P4 program has an entry for each, {} at most; name fewer, for example with `count`",
        CONTROL_PACKETS.size
    )]
    ControlPackets {
        /// The packets.
        packet: String,
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
pub fn items(tables: &Tables, wiring: &Wiring, epoch: u32) -> Result<Vec<TableEntry>, Unsupported> {
    if !tables.losses().is_empty() {
        return Err(Unsupported::Network("random losses"));
    }
    if !tables.paths().paths.is_empty() {
        return Err(Unsupported::Network("paths"));
    }
    let mut all = Vec::new();
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
        let key = [destination.to_bits(), qpn.into()];
        let params =
            [number(flow), mode as u128, shares_psns.into(), initial.sub(1).value().into(), tag.into()];
        all.push(row::entry(&PROGRAM_FLOWS, &key, Some(&params)));
    }
    // The actions of all events on a control packet make one entry.
    let mut control: BTreeMap<(FlowIndex, ControlPacket, u32), Actions> = BTreeMap::new();
    for entry in tables.entries() {
        match entry.key {
            Key::Data { flow, psn, iter } => {
                let packet = || format!("data packet {} of connection {}", psn.value(), flow.connection());
                let params = encode(&entry.actions, packet)?;
                let key = [number(flow), psn.value().into(), iter.into()];
                all.push(row::entry(&PROGRAM_DATA_EVENTS, &key, Some(&params)));
            }
            Key::Control { flow, packet, nth } => {
                let name = ControlPacket::NAMES[packet as usize].0;
                let described = || format!("{name} packets of connection {}", flow.connection());
                encode(&entry.actions, described)?;
                for nth in nth.iter() {
                    control.entry((flow, packet, nth)).or_default().add(entry.actions);
                    if control.len() > CONTROL_PACKETS.size {
                        return Err(Unsupported::ControlPackets { packet: described() });
                    }
                }
            }
        }
    }
    for ((flow, packet, nth), actions) in control {
        let key = [number(flow), packet as u128, nth.into()];
        let params = encode(&actions, || format!("control packets of connection {}", flow.connection()))?;
        all.push(row::entry(&CONTROL_PACKETS, &key, Some(&params)));
    }
    all.extend(repeats(repeat));
    let turns = wiring.turns()?;
    let last_turn = turns.len() as u128 - 1;
    for (host, port) in (0..).zip(wiring.hosts) {
        let to = 1 - host;
        let group = GROUPS * (1 + to as u32);
        let params = [wiring.hosts[to].into(), epoch.into(), group.into(), last_turn];
        all.push(row::entry(&FORWARD, &[port.into()], Some(&params)));
    }
    for (turn, session) in (0..).zip(turns) {
        all.push(row::entry(&DUMPERS, &[turn], Some(&[session.into()])));
    }
    Ok(all)
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

fn encode(actions: &Actions, packet: impl Fn() -> String) -> Result<[u128; 5], Unsupported> {
    let Actions { drop, ecn, corrupt, set_field, extra_copies, timing, drop_copies } = *actions;
    let action = match (timing, set_field) {
        (Timing::AtOnce, None) => None,
        (Timing::AtOnce, Some(_)) => Some("set-field"),
        (timing, _) => timing.action().map(|action| action.name()),
    };
    if let Some(action) = action {
        return Err(Unsupported::Action { packet: packet(), action });
    }
    Ok([drop.into(), ecn.into(), corrupt.into(), extra_copies.into(), drop_copies.into()])
}

/// Copies of packets whose loss costs a time-out.
fn repeats(repeat: Repeat) -> Vec<TableEntry> {
    let copies = |packets: u8| (1u128 << packets.saturating_sub(1)) - 1;
    let mut all = Vec::new();
    if repeat.naks > 1 {
        all.push(row::entry(&NAK_COPIES, &[1], Some(&[copies(repeat.naks)])));
    }
    for (is_asked, ends) in [(false, true), (true, false), (true, true)] {
        let again = if is_asked { repeat.retransmissions } else { 1 };
        let packets = if ends { again.max(repeat.tails) } else { again };
        if packets > 1 {
            all.push(row::entry(&DATA_COPIES, &[is_asked.into(), ends.into()], Some(&[copies(packets)])));
        }
    }
    all
}

/// PSNs are serial numbers: 24 bits of them count.
const _: () = assert!(Psn::MAX.value() == (1 << 24) - 1);
