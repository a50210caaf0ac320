//! What is to be expected of a NIC whose packets take two paths, of which one is longer (docs/multipath.md).

mod text;
mod throughput;

use dumper::Nanos;
use executor::profile::{Reorder, ReorderEngine};
use serde::Serialize;

pub use text::text;

/// Bytes of a full packet on the cable besides its payload: Ethernet, IPv4, UDP, BTH, ICRC and FCS, preamble and gap.
const HEADERS: u32 = 14 + 20 + 8 + 12 + 4 + 4 + 8 + 12;

/// Two paths between the hosts, alike but for their delay, either of which a packet takes at random; connections take turns to send full
/// packets, and flow control has the sender wait for the receiver.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Setting {
    /// Rate of the receiver's link, in Gb/s.
    pub rate_gbps: u32,
    /// Path MTU, in bytes.
    pub mtu: u32,
    /// Delay by which the second path is longer.
    pub delay_ns: Nanos,
    /// Connections that send, at least one.
    pub connections: u32,
    /// Time of a packet in the receiver's NIC before its engine (`receive.packet-ns`).
    pub receive_ns: Nanos,
}

impl Setting {
    /// Time of a packet on the link, in ns.
    #[must_use]
    pub fn packet_ns(&self) -> f64 {
        f64::from((self.mtu + HEADERS) * 8) / f64::from(self.rate_gbps)
    }

    /// Packets on the link in the delay: distance between the first missing packet and the last one, where one connection sends.
    #[must_use]
    pub fn in_flight(&self) -> f64 {
        self.delay_ns.0 as f64 / self.packet_ns()
    }

    /// Packets of one connection in the delay, where one packet takes so long.
    fn distance(&self, packet_ns: f64) -> f64 {
        self.delay_ns.0 as f64 / (packet_ns * f64::from(self.connections))
    }

    /// Load of the link up to which go-back-N sees packets in order, of 1: packets of a connection are as far apart as the delay.
    #[must_use]
    pub fn cliff(&self) -> f64 {
        (f64::from(self.connections) / self.in_flight()).min(1.0)
    }
}

/// An engine, and its name in the answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Engine {
    /// The name.
    pub name: String,
    /// Its fields.
    pub reorder: Reorder,
}

/// What is to be expected of a setting.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Forecast {
    /// The setting.
    #[serde(flatten)]
    pub setting: Setting,
    /// Time of a packet on the link, in ns.
    pub packet_ns: f64,
    /// Packets on the link in the delay.
    pub in_flight_packets: f64,
    /// Load of the link up to which go-back-N works, of 1.
    pub go_back_n_load: f64,
    /// By engine.
    pub engines: Vec<OfEngine>,
}

/// What is to be expected of an engine.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OfEngine {
    /// Its name.
    pub engine: String,
    /// Throughput, of that of the link; none if there is no formula. Where fields are too small, it is less.
    pub throughput: Option<f64>,
    /// Packets of a connection that overtake one, at that throughput: the extent of reordering (RFC 4737, 4.2.2).
    pub extent_packets: Option<f64>,
    /// Memory on the NIC, in bytes.
    pub memory_bytes: u64,
    /// What the throughput rests on besides the setting, or why there is none.
    pub assumes: Option<&'static str>,
    /// Fields of the engine that are too small for the setting, and what they would have to be.
    pub short: Vec<Short>,
}

/// A field that is too small.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Short {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub is: u64,
    /// The least that is enough.
    pub needs: u64,
    /// What happens otherwise.
    pub otherwise: &'static str,
}

impl Setting {
    /// The answer for engines.
    #[must_use]
    pub fn forecast(&self, engines: &[Engine]) -> Forecast {
        Forecast {
            setting: *self,
            packet_ns: self.packet_ns(),
            in_flight_packets: self.in_flight(),
            go_back_n_load: self.cliff(),
            engines: engines.iter().map(|engine| self.of_engine(engine)).collect(),
        }
    }

    /// Throughput of an engine, of that of the link.
    #[must_use]
    pub fn throughput(&self, reorder: &Reorder) -> f64 {
        self.packet_ns() / throughput::packet_ns(self, reorder)
    }

    fn of_engine(&self, Engine { name, reorder }: &Engine) -> OfEngine {
        let connections = self.connections;
        let left_with_fifos = reorder.engine == ReorderEngine::Left && reorder.fifos > 0;
        let (has_formula, assumes) = match reorder.engine {
            // Below the cliff there is nothing to recover from.
            ReorderEngine::None => (self.cliff() >= 1.0, None),
            ReorderEngine::Ring => (true, None),
            ReorderEngine::Left if connections <= reorder.caches => (true, None),
            ReorderEngine::Pool => (true, Some("a packet of the long path is the first missing one")),
            ReorderEngine::Left if left_with_fifos && connections > reorder.fifos => {
                (false, Some("a FIFO for each connection; with fewer there is no formula, so run it"))
            }
            ReorderEngine::Left if left_with_fifos => (
                true,
                Some(
                    "an estimate: when a FIFO is drained, its connection has lost its cache unless its bitmap is one of the fullest",
                ),
            ),
            ReorderEngine::Left => (
                true,
                Some(
                    "connections whose bitmaps are not the fullest share one cache, and take it from one another in turn",
                ),
            ),
        };
        let throughput = has_formula.then(|| self.throughput(reorder));
        OfEngine {
            engine: name.clone(),
            throughput,
            extent_packets: throughput.map(|throughput| self.distance(self.packet_ns() / throughput)),
            memory_bytes: reorder.memory_bytes(connections.into()),
            assumes,
            short: self.short(reorder),
        }
    }

    /// Fields that are too small for the distances at full speed.
    fn short(&self, reorder: &Reorder) -> Vec<Short> {
        let distance = self.distance(self.packet_ns()).ceil() as u64 + 1;
        let is = |engine| reorder.engine == engine;
        let checks = [
            (
                reorder.keeps_packets(),
                Short {
                    field: "reorder.span-packets",
                    is: reorder.span_packets.into(),
                    needs: distance,
                    otherwise: "packets beyond it are dropped",
                },
            ),
            (
                is(ReorderEngine::Pool),
                Short {
                    field: "reorder.blocks",
                    is: reorder.blocks.into(),
                    needs: distance.div_ceil(reorder.block_bits.into()) * u64::from(self.connections),
                    otherwise: "packets that find no block are dropped",
                },
            ),
            (
                is(ReorderEngine::Left) && reorder.caches > 0,
                Short {
                    field: "reorder.cache-bits",
                    is: reorder.cache_bits.into(),
                    needs: distance,
                    otherwise: "bitmaps that reach further stay in the pool",
                },
            ),
        ];
        checks
            .into_iter()
            .filter(|(counts, short)| *counts && short.is < short.needs)
            .map(|(_, short)| short)
            .collect()
    }
}
