//! The switch between the hosts, of either kind.

use std::collections::HashMap;

use corpus::Capabilities;
use dumper::pool::{Collected, Losses, Pool};
use dumper::serve::Address;
use dumper::trace::IcrcTally;
use dumper::{ActionKind, Event, Exit, SwitchCounters, Trace};
use p4::Tables;
use p4::client::{Captured, PortLosses, ProgramClient, SwitchClient, SwitchError};

use super::RemoteError;

/// The software switch counts nanoseconds.
const SOFTWARE_UNIT_NS: u64 = 1;

/// The switch between the hosts, of which this is the primary client.
#[derive(Debug)]
pub enum Switch {
    /// The software switch, which captures packets itself.
    Software(Box<SwitchClient>),
    /// The software switch with dumpers, which get all packets; it captures how those left that did not leave as they came.
    Mirroring(Box<SwitchClient>, Pool),
    /// One that runs a P4 program, with dumpers.
    Program(Box<ProgramSwitch>),
}

impl Switch {
    pub(super) async fn program(&mut self, tables: &Tables) -> Result<(), RemoteError> {
        match self {
            Self::Software(client) => Ok(client.program(tables).await?),
            Self::Mirroring(client, pool) => {
                client.program(tables).await?;
                Ok(pool.begin().await?)
            }
            Self::Program(switch) => switch.program(tables).await,
        }
    }

    /// Takes a test of which no packet comes, and collects it.
    pub(crate) async fn try_out(&mut self) -> Result<(), RemoteError> {
        self.program(&Tables::default()).await?;
        self.collect().await.map(drop)
    }

    pub(super) async fn counters(&mut self) -> Result<SwitchCounters, SwitchError> {
        match self {
            Self::Software(client) | Self::Mirroring(client, _) => client.counters().await,
            Self::Program(switch) => switch.client.counters().await,
        }
    }

    pub(super) async fn collect(&mut self) -> Result<Captured, RemoteError> {
        match self {
            Self::Software(client) => Ok(client.collect().await?),
            Self::Mirroring(client, pool) => with_dumped(client.collect().await?, pool).await,
            Self::Program(switch) => switch.collect().await,
        }
    }
}

/// A switch that runs a P4 program, and the dumpers at its other ports.
#[derive(Debug)]
pub struct ProgramSwitch {
    client: ProgramClient,
    pool: Pool,
    /// Nanoseconds of a unit of its clock.
    unit_ns: u64,
}

impl ProgramSwitch {
    /// A switch whose clock has this unit, and its dumpers.
    #[must_use]
    pub const fn new(client: ProgramClient, pool: Pool, unit_ns: u64) -> Self {
        Self { client, pool, unit_ns }
    }

    /// The part of a testbed's capabilities that it has with such a switch.
    #[must_use]
    pub fn within(all: Capabilities) -> Capabilities {
        let can = [ActionKind::Drop, ActionKind::Ecn, ActionKind::Corrupt, ActionKind::Duplicate];
        Capabilities {
            actions: all.actions.into_iter().filter(|action| can.contains(action)).collect(),
            header_fields: [].into(),
            loss: false,
            paths: false,
            ..all
        }
    }

    async fn program(&mut self, tables: &Tables) -> Result<(), RemoteError> {
        self.client.program(tables).await?;
        // Mirrored packets of an earlier test have been waited for.
        Ok(self.pool.begin().await?)
    }

    async fn collect(&mut self) -> Result<Captured, RemoteError> {
        let counters = self.client.counters().await?;
        let collected = self.pool.collect(counters.received(), self.unit_ns, |_| None).await?;
        let counters = self.client.counters().await?;
        let trace = whole(collected, &counters)?;
        Ok(Captured {
            not_captured: 0,
            losses: own_losses(&trace, &counters),
            trace,
            // Only the beginning of a packet is kept, and its port is not the one that it was sent to.
            icrc: IcrcTally::default(),
            counters,
            held: 0,
            unreadable: Vec::new(),
        })
    }
}

/// The capture of a software switch with the packets that it has mirrored.
async fn with_dumped(captured: Captured, pool: &mut Pool) -> Result<Captured, RemoteError> {
    let Captured { trace, counters, .. } = &captured;
    let exits: HashMap<u32, Exit> =
        trace.records().iter().filter_map(|record| Some((record.sequence, trace.exit(record)?))).collect();
    let exit = |sequence| exits.get(&sequence).copied();
    let collected = pool.collect(counters.received(), SOFTWARE_UNIT_NS, exit).await?;
    let trace = whole(collected, counters)?;
    Ok(Captured { trace, ..captured })
}

/// The trace of the dumpers, of as many packets as came in at the switch.
fn whole(Collected { traced, losses }: Collected, counters: &SwitchCounters) -> Result<Trace, RemoteError> {
    if let Some(error) = traced.skipped.errors.first() {
        return Err(RemoteError::Capture(format!("mirrored packet {}: {}", error.packet, error.error)));
    }
    match counters.received().saturating_sub(traced.trace.records().len() as u64) {
        0 => Ok(traced.trace),
        missing => Err(RemoteError::Losses(not_dumped(missing, &losses))),
    }
}

/// Mirrored packets that no dumper has, in words: where they were lost.
fn not_dumped(packets: u64, losses: &[(Address, Losses)]) -> String {
    let told = losses.iter().map(|(address, losses)| {
        let Losses { no_room, ring, interface, foreign } = losses;
        format!(
            "the dumper at {address} did not keep {no_room} for want of memory and {ring} that it was too slow for, its interfaces dropped \
             {interface}, and {foreign} were of no switch"
        )
    });
    format!("{packets} mirrored packets came to no dumper; {}", told.collect::<Vec<_>>().join("; "))
}

/// What such a switch has lost itself: as its queues are full, fewer packets leave than come in and are not dropped. Of copies that
/// are lost there is no count.
fn own_losses(trace: &Trace, counters: &SwitchCounters) -> Vec<PortLosses> {
    let records = trace.records();
    let dropped = records.iter().filter(|record| record.event() == Event::Action(ActionKind::Drop)).count();
    let SwitchCounters { egress, host_ports, .. } = counters;
    let left: u64 = host_ports.iter().filter_map(|port| egress.get(port)).sum();
    let overflow = (records.len() as u64).saturating_sub(dropped as u64).saturating_sub(left);
    let port = host_ports.first().copied().unwrap_or_default();
    let losses = PortLosses { port, overflow, absent: 0, refused: 0, missed: 0 };
    (overflow > 0).then_some(losses).into_iter().collect()
}
