//! Copies of packets for dumpers (Lumina §3.4).

use std::num::NonZeroU32;

use dumper::mirror::MirrorMeta;

use super::chunk::Chunk;
use super::{Dumpers, FIRST_DUMPER_PORT, Frame, Mirrored};
use crate::{Dumper, rewrite};

/// Bytes of a packet that a copy has: those that a dumper keeps (Lumina §3.4), all of the headers.
pub const MIRRORED_BYTES: usize = 128;

/// Mirrored packets of a test that nobody has taken yet.
#[derive(Debug)]
pub(super) struct Mirroring {
    chunk: Chunk,
    one_port: bool,
    waiting: Vec<Mirrored>,
}

/// The ports of the dumpers; that of the capture where there are none.
pub(super) fn ports(dumpers: &Dumpers) -> Vec<Dumper> {
    let weights = if dumpers.weights.is_empty() { &[NonZeroU32::MIN] } else { dumpers.weights.as_slice() };
    (FIRST_DUMPER_PORT..).zip(weights).map(|(port, weight)| Dumper { port, weight: weight.get() }).collect()
}

impl Mirroring {
    pub(super) fn new(one_port: bool) -> Self {
        Self { chunk: Chunk::default(), one_port, waiting: Vec::new() }
    }

    /// Copies a packet for the dumper at a port.
    pub(super) fn push(&mut self, port: u32, meta: MirrorMeta, frame: &Frame) {
        let one_port = self.one_port;
        let frame = self.chunk.changed(&frame[..frame.len().min(MIRRORED_BYTES)], |copy| {
            rewrite::mirror(copy, meta);
            if !one_port {
                rewrite::scatter(copy, meta.sequence);
            }
        });
        self.waiting.push(Mirrored { dumper: (port - FIRST_DUMPER_PORT) as usize, frame });
    }

    pub(super) fn take(&mut self) -> impl Iterator<Item = Mirrored> {
        self.waiting.drain(..)
    }
}
