//! NICs of the experiments with reordering: models that are shipped, with the setting of those experiments, by the names of the paper.

use executor::NicProfile;
use executor::profile::{Link, ReorderEngine};

use super::nics::shipped;

/// Link on which a packet of 1,024 bytes of payload, 1,106 with all that is on the cable, takes 40.96 ns: 200 Gb/s of payload.
const RATE_GBPS: u32 = 216;

/// Packets in flight on the longest path, whose round trip takes 32 times 6 µs.
pub(super) const LONGEST: u32 = 4_688;

/// Receive buffer, in bytes: the smallest power of two with which pauses come in time at links of 1 µs, so that they come often. With larger ones
/// sender and receiver swing, which is a row of its own.
const BUFFER: u64 = 1 << 18;

/// A change of the setting.
#[derive(Clone, Copy)]
enum But {
    Nothing,
    /// Time after which FIFOs are drained, in ns.
    GatherNs(u64),
    /// The receive buffer, in bytes.
    Buffer(u64),
    /// The sender has a packet every so many ns.
    PacketNs(u64),
}

/// An engine of the experiments.
struct Engine {
    name: &'static str,
    /// The shipped profile that it is.
    model: &'static str,
    /// Its bitmaps, where they are others than the model's.
    engine: Option<ReorderEngine>,
    but: But,
}

const fn engine(name: &'static str, model: &'static str, but: But) -> Engine {
    Engine { name, model, engine: None, but }
}

/// The engines, each under a name that no shipped profile has.
const ENGINES: &[Engine] = &[
    Engine { engine: Some(ReorderEngine::Ring), ..engine("ideal", "left", But::Nothing) },
    engine("MELO+", "melo", But::Nothing),
    engine("LEFT-", "left-no-gather", But::Nothing),
    engine("LEFT", "left", But::Nothing),
    engine("LEFT, FIFOs of 0.5 µs", "left", But::GatherNs(500)),
    engine("LEFT, FIFOs of 1 µs", "left", But::GatherNs(1_000)),
    engine("LEFT, FIFOs of 4 µs", "left", But::GatherNs(4_000)),
    engine("MELO+, 512 KiB", "melo", But::Buffer(1 << 19)),
    engine("MELO+, 1 MiB", "melo", But::Buffer(1 << 20)),
    engine("GBN", "reference", But::Nothing),
    engine("GBN, load 0.1", "reference", But::PacketNs(410)),
    engine("GBN, load 0.2", "reference", But::PacketNs(205)),
    engine("GBN, load 0.3", "reference", But::PacketNs(137)),
    engine("GBN, load 0.5", "reference", But::PacketNs(82)),
    // Five connections and an excess of 1 µs: 200 ns between packets is the cliff.
    engine("GBN, 0.9 of the cliff", "reference", But::PacketNs(222)),
    engine("GBN, 1.1 of the cliff", "reference", But::PacketNs(182)),
];

impl Engine {
    fn profile(&self) -> NicProfile {
        let mut nic = shipped(self.model);
        nic.name = self.name.into();
        nic.link = Link { rate_gbps: RATE_GBPS, ..shipped("left").link };
        nic.receive.buffer_bytes = BUFFER;
        let reorder = &mut nic.reorder;
        reorder.engine = self.engine.unwrap_or(reorder.engine);
        (reorder.span_packets, reorder.loss_span_packets) = (LONGEST, LONGEST);
        reorder.blocks = LONGEST.div_ceil(reorder.block_bits);
        reorder.cache_bits = LONGEST / 2;
        match self.but {
            But::Nothing => {}
            But::GatherNs(ns) => reorder.fifo_timeout_ns = ns,
            But::Buffer(bytes) => nic.receive.buffer_bytes = bytes,
            But::PacketNs(ns) => nic.transmit.packet_ns = ns,
        }
        nic
    }
}

/// All of them, by name.
pub(super) fn known() -> impl Iterator<Item = (&'static str, NicProfile)> {
    ENGINES.iter().map(|engine| (engine.name, engine.profile()))
}
