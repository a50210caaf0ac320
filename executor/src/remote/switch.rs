//! The switch between the hosts, of either kind.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dumper::trace::{IcrcTally, Origin, TraceBuilder, Vantage};
use dumper::wire::frame::UdpPorts;
use dumper::{ActionKind, Event, Nanos, SwitchCounters, Trace};
use p4::Tables;
use p4::client::{Captured, PortLosses, ProgramClient, SwitchClient, SwitchError};
use p4::switch::Limits;
use tokio::net::UnixDatagram;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::RemoteError;
use crate::lock::locked;

/// The switch between the hosts, of which this is the primary client.
#[derive(Debug)]
pub enum Switch {
    /// The software switch, which captures packets itself.
    Software(Box<SwitchClient>),
    /// One that runs a P4 program, with a dumper.
    Program(Box<ProgramSwitch>),
}

impl Switch {
    pub(super) async fn program(&mut self, tables: &Tables) -> Result<(), SwitchError> {
        match self {
            Self::Software(client) => client.program(tables).await,
            Self::Program(switch) => switch.program(tables).await,
        }
    }

    pub(super) async fn counters(&mut self) -> Result<SwitchCounters, SwitchError> {
        match self {
            Self::Software(client) => client.counters().await,
            Self::Program(switch) => switch.client.counters().await,
        }
    }

    pub(super) async fn collect(&mut self) -> Result<Captured, RemoteError> {
        match self {
            Self::Software(client) => Ok(client.collect().await?),
            Self::Program(switch) => switch.collect().await,
        }
    }
}

/// A switch that runs a P4 program, and the dumper at one of its ports.
#[derive(Debug)]
pub struct ProgramSwitch {
    client: ProgramClient,
    dumper: Dumper,
    /// Nanoseconds of a unit of its clock.
    unit_ns: u64,
}

/// Longest wait for the last mirrored packets.
const LAST_PACKETS: Duration = Duration::from_secs(2);

/// Interval of looks at the dumper.
const LOOK: Duration = Duration::from_millis(2);

impl ProgramSwitch {
    /// A switch whose clock has this unit, and its dumper.
    #[must_use]
    pub const fn new(client: ProgramClient, dumper: Dumper, unit_ns: u64) -> Self {
        Self { client, dumper, unit_ns }
    }

    async fn program(&mut self, tables: &Tables) -> Result<(), SwitchError> {
        self.client.program(tables).await?;
        // Mirrored packets of an earlier test have been waited for.
        locked(&self.dumper.packets).clear();
        Ok(())
    }

    async fn collect(&mut self) -> Result<Captured, RemoteError> {
        let begun = Instant::now();
        let mut counters = self.client.counters().await?;
        while (locked(&self.dumper.packets).len() as u64) < counters.received()
            && begun.elapsed() < LAST_PACKETS
        {
            sleep(LOOK).await;
            counters = self.client.counters().await?;
        }
        let packets = std::mem::take(&mut *locked(&self.dumper.packets));
        let trace = trace(packets, self.unit_ns).map_err(RemoteError::Capture)?;
        Ok(Captured {
            not_captured: counters.received().saturating_sub(trace.records().len() as u64),
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

/// A dumper: takes every mirrored packet that comes to a socket, as frames in datagrams.
#[derive(Debug)]
pub struct Dumper {
    packets: Arc<Mutex<Vec<Dumped>>>,
    task: JoinHandle<()>,
}

impl Drop for Dumper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Bytes that are kept of a packet: all of its headers.
const KEPT: usize = 128;

/// The beginning of a packet, and its length.
type Dumped = (Box<[u8]>, u32);

impl Dumper {
    /// A dumper at a socket that it makes, within the runtime of the caller.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn at(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::bind(path)?;
        let packets = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&packets);
        // Those beyond are missing in the trace, as where the software switch's capture is full.
        let most = Limits::default().packets;
        let task = tokio::spawn(async move {
            let mut frame = vec![0; usize::from(u16::MAX)];
            while let Ok(length) = socket.recv(&mut frame).await {
                let mut packets = locked(&taken);
                if packets.len() < most {
                    packets.push((frame[..length.min(KEPT)].into(), length as u32));
                }
            }
        });
        Ok(Self { packets, task })
    }
}

/// The trace of mirrored packets; times in ns.
fn trace(packets: Vec<Dumped>, unit_ns: u64) -> Result<Trace, String> {
    let mut builder = TraceBuilder::new(Origin::Mirror, UdpPorts::Any);
    for ((mut packet, length), number) in packets.into_iter().zip(1..) {
        in_ns(&mut packet, unit_ns);
        builder.push((0, number), &packet, length, Nanos::ZERO, (Vantage::FIRST, None));
    }
    let traced = builder.finish();
    match traced.skipped.errors.first() {
        Some(error) => Err(format!("mirrored packet {}: {}", error.packet, error.error)),
        None => Ok(traced.trace),
    }
}

/// Bytes of the destination address, which carries the time.
const TIME: usize = 6;

/// Has the time of a mirrored packet in ns.
fn in_ns(packet: &mut [u8], unit_ns: u64) {
    let Some(time) = packet.first_chunk_mut::<TIME>() else { return };
    let units = time.iter().fold(0, |units: u64, byte| units << 8 | u64::from(*byte));
    time.copy_from_slice(&units.wrapping_mul(unit_ns).to_be_bytes()[2..]);
}
