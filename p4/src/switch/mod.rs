//! The software switch: two ports, and between them the pipeline over real frames.
//!
//! [`Switch`] is the whole of it without sockets, clocks or threads. [`process::run`](crate::process::run) drives it from the ports that
//! [`PortSpec`] names, in a thread for each direction, and adds the gRPC services of [`server`](crate::server).

mod bridge;
mod capture;
mod chunk;
mod forward;
mod injector;
mod mirroring;
mod port;
mod queue;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use corpus::Role;
use dumper::wire::frame::{Frame as RoceFrame, Parsed, UdpPorts};
use dumper::{Nanos, SwitchCounters};
use prost::bytes::Bytes;

use crate::Tables;
use bridge::Bridge;
use chunk::Chunk;
use injector::Injector;

pub use capture::{Capture, Captured, Left, Limits};
pub(crate) use forward::Direction;
pub use forward::{Shared, Totals};
pub use mirroring::MIRRORED_BYTES;
pub use port::{Access, OpenError, PortSpec, SpecError};
pub use queue::{MAX_QUEUED_BYTES, MAX_QUEUED_FRAMES};

/// Port numbers of the hosts, by [`Role`].
pub const HOST_PORTS: [u32; 2] = [1, 2];
/// Port number of the first dumper, or else of the capture.
pub const FIRST_DUMPER_PORT: u32 = 3;

/// The port number of a host.
#[must_use]
pub const fn port_number(host: Role) -> u32 {
    HOST_PORTS[host as usize]
}

/// A frame on its way. Capture, queues and copies share its bytes.
pub type Frame = Bytes;

/// A frame that leaves at the port of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The host.
    pub to: Role,
    /// The frame.
    pub frame: Frame,
}

/// A mirrored copy of a packet, for a dumper.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mirrored {
    /// Number of the dumper, from 0.
    pub dumper: usize,
    /// The beginning of the packet, with its metadata ([`dumper::mirror`]).
    pub frame: Frame,
}

/// Dumpers of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dumpers {
    /// Their weights: of as many mirrored packets as all weights add up to, a dumper gets this many. Without dumpers the
    /// switch captures the packets itself.
    pub weights: Vec<NonZeroU32>,
    /// Every mirrored packet keeps its UDP destination port: then all packets of a connection come to one core of a dumper (Lumina §3.4).
    pub one_port: bool,
}

/// Frames that were lost at a port against the switch's will.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Its queue, or the room for held packets, was full.
    pub overflow: u64,
    /// Nobody was there to receive them.
    pub absent: u64,
    /// Refused by the system, or longer than the switch takes.
    pub refused: u64,
    /// Dropped by the system before the switch could take them in.
    pub missed: u64,
}

impl Losses {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.overflow + self.absent + self.refused + self.missed
    }

    fn add(&mut self, more: Self) {
        self.overflow += more.overflow;
        self.absent += more.absent;
        self.refused += more.refused;
        self.missed += more.missed;
    }
}

/// RoCE packets whose headers could not be read: they pass, and are not captured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unreadable {
    /// Number of such packets.
    pub packets: u64,
    /// Fault of the first of them.
    pub first: String,
}

impl Unreadable {
    fn add(&mut self, error: &impl fmt::Display) {
        if self.packets == 0 {
            self.first = error.to_string();
        }
        self.packets += 1;
    }
}

/// Result of a capture.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The packets.
    pub capture: Capture,
    /// Packets that were still held.
    pub held: u64,
    /// RoCE packets that came in at the ports and whose headers could not be read, by [`Role`].
    pub unreadable: [Unreadable; 2],
    /// Frames lost at the ports, by [`Role`].
    pub losses: [Losses; 2],
    /// Mirrored packets that a dumper did not get, by dumper.
    pub unmirrored: Vec<Losses>,
}

/// A switch with two ports.
///
/// Frames go to the other port, unless their destination is known to be at the port that they came in at. RoCE packets
/// go through the pipeline, if one has begun and its capture has not ended.
#[derive(Debug)]
pub struct Switch {
    bridge: Bridge,
    chunk: Chunk,
    injector: Option<Injector>,
    ended: Option<Arc<Ended>>,
    limits: Limits,
    dumpers: Dumpers,
    unreadable: [Unreadable; 2],
    losses: [Losses; 2],
    unmirrored: Vec<Losses>,
}

impl Switch {
    /// A switch that only forwards, and will capture packets itself.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::with_dumpers(limits, Dumpers::default())
    }

    /// The same with dumpers, which get a copy of every packet of a test.
    #[must_use]
    pub fn with_dumpers(limits: Limits, dumpers: Dumpers) -> Self {
        Self {
            bridge: Bridge::default(),
            chunk: Chunk::default(),
            injector: None,
            ended: None,
            limits,
            unmirrored: vec![Losses::default(); dumpers.weights.len()],
            dumpers,
            unreadable: Default::default(),
            losses: Default::default(),
        }
    }

    /// Begins a test: registers, mirror sequence numbers and counters start again, with an empty capture.
    /// Packets of the last test that are still held are dropped: they must not arrive in this one.
    pub fn begin(&mut self, tables: Tables, now: Nanos) {
        self.injector = Some(Injector::new(tables, self.limits, &self.dumpers, now));
        self.ended = None;
        self.unreadable = Default::default();
        self.losses = Default::default();
        self.unmirrored.fill(Losses::default());
    }

    /// Ends the capture and hands it out, again where it has ended; none if none has begun. RoCE packets pass
    /// from now on as other frames do, and held ones still leave when it is their time.
    pub fn end(&mut self) -> Option<Arc<Ended>> {
        if self.ended.is_none() {
            let (capture, held) = self.injector.as_mut()?.end();
            let (unreadable, losses) = (self.unreadable.clone(), self.losses);
            let unmirrored = self.unmirrored.clone();
            self.ended = Some(Arc::new(Ended { capture, held, unreadable, losses, unmirrored }));
        }
        self.ended.clone()
    }

    /// Port counters since the test began.
    #[must_use]
    pub fn counters(&self) -> Option<SwitchCounters> {
        self.injector.as_ref().map(Injector::counters)
    }

    /// Notes frames that were lost at a port.
    pub fn note_losses(&mut self, port: Role, losses: Losses) {
        self.losses[port as usize].add(losses);
    }

    /// Notes mirrored packets that were lost on their way to a dumper, which there is.
    pub fn note_unmirrored(&mut self, dumper: usize, losses: Losses) {
        self.unmirrored[dumper].add(losses);
    }

    /// A frame has come in at a port.
    pub fn receive(&mut self, port: Role, frame: &[u8], now: Nanos, out: &mut Vec<Departure>) {
        if !self.bridge.crosses(port, frame) {
            return;
        }
        let frame_bytes = self.chunk.copied(frame);
        if let (Some(injector), None) = (&mut self.injector, &self.ended) {
            match RoceFrame::parse(frame, UdpPorts::Roce) {
                Ok(Parsed::Roce(packet)) => {
                    let lost = injector.receive(port, &packet, &frame_bytes, now, out);
                    self.losses[port.peer() as usize].overflow += lost;
                    return;
                }
                Ok(Parsed::Other(_)) => {}
                Err(error) => self.unreadable[port as usize].add(&error),
            }
        }
        out.push(Departure { to: port.peer(), frame: frame_bytes });
    }

    /// Hands out the mirrored packets since the last call.
    pub fn take_mirrored(&mut self) -> impl Iterator<Item = Mirrored> {
        self.injector.as_mut().map(Injector::take_mirrored).into_iter().flatten()
    }

    /// Time at which [`handle_timeout`](Self::handle_timeout) is to be called.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Nanos> {
        self.injector.as_ref()?.next_timeout()
    }

    /// Sends the packets that are due.
    pub fn handle_timeout(&mut self, now: Nanos, out: &mut Vec<Departure>) {
        if let Some(injector) = &mut self.injector {
            injector.handle_timeout(now, out);
        }
    }
}
