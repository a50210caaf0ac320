//! What is to be expected of a NIC whose packets take two paths, of which one is longer (docs/multipath.md).

mod field;
mod sender;
mod short;
mod text;
mod throughput;

use dumper::Nanos;
use executor::profile::{Reorder, ReorderEngine};
use serde::Serialize;

pub use field::{FieldValue, Short};
pub use sender::{Limit, Sender};
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
        self.bytes_ns(self.mtu + HEADERS)
    }

    /// Time of so many bytes on the link, in ns.
    fn bytes_ns(&self, bytes: u32) -> f64 {
        f64::from(bytes * 8) / f64::from(self.rate_gbps)
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

/// Five connections over links of 200 Gb/s, and a path that is 186 µs longer.
#[cfg(test)]
const SETTING: Setting =
    Setting { rate_gbps: 200, mtu: 1_024, delay_ns: Nanos(186_000), connections: 5, receive_ns: Nanos::ZERO };

/// An engine, its name in the answer, and the NIC that sends to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Engine {
    /// The name.
    pub name: String,
    /// Its fields.
    pub reorder: Reorder,
    /// The NIC that sends.
    pub sender: Sender,
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
    /// Distance in PSNs from the first missing packet of a connection to the last one that has arrived, at that throughput: the extent of
    /// reordering (RFC 4737, 4.2.2). About half of the packets in between have overtaken the missing one; the others are delayed too.
    pub extent_packets: Option<f64>,
    /// Memory on the NIC, in bytes.
    pub memory_bytes: u64,
    /// Field of the sender that limits the throughput, which is in the number, if one does.
    pub limit: Option<Limit>,
    /// Conditions of the throughput besides the setting, or of a formula where there is none.
    pub assumes: Vec<&'static str>,
    /// Fields of the engine that are too small for the setting, and what they would have to be.
    pub short: Vec<Short>,
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

    fn of_engine(&self, engine: &Engine) -> OfEngine {
        let Engine { name, reorder, sender } = engine;
        let (has_formula, assumes) = self.formula(reorder);
        let engine_ns = if has_formula { throughput::packet_ns(self, reorder) } else { self.packet_ns() };
        let limit = sender.limit(self, engine_ns);
        let taken = self.packet_ns() / engine_ns;
        let throughput = has_formula.then(|| limit.as_ref().map_or(taken, |limit| limit.throughput));
        OfEngine {
            engine: name.clone(),
            throughput,
            extent_packets: throughput.map(|throughput| self.distance(self.packet_ns() / throughput)),
            memory_bytes: reorder.memory_bytes(self.connections.into()),
            limit,
            assumes: assumes.into_iter().chain(sender.assumes()).collect(),
            short: self.short(engine),
        }
    }

    /// Returns true if there is a formula for an engine, with its condition.
    fn formula(&self, reorder: &Reorder) -> (bool, Option<&'static str>) {
        let connections = self.connections;
        let left_with_fifos = reorder.engine == ReorderEngine::Left && reorder.fifos > 0;
        match reorder.engine {
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
        }
    }
}
