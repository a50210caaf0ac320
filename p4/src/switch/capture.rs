//! The capture: every packet as it entered, and how it left where that differs.

use dumper::Nanos;
use dumper::mirror::MirrorMeta;

use super::Frame;

/// Limits of the capture of a test. Packets beyond them pass, and are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Packets.
    pub packets: usize,
    /// Bytes of their frames.
    pub bytes: usize,
}

impl Default for Limits {
    /// As many packets as a test may have entries in the tables, and half a gigabyte.
    fn default() -> Self {
        Self { packets: 1 << 20, bytes: 512 << 20 }
    }
}

/// A captured packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// Mirror sequence number, time since the test began, event.
    pub mirror: MirrorMeta,
    /// The frame as it entered.
    pub frame: Frame,
    /// Exit of the packet, where it is known and differs from the entry.
    pub left: Option<Left>,
}

/// Exit of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Left {
    /// Time since the test began.
    pub time: Nanos,
    /// Number of copies.
    pub copies: u8,
    /// Those that left as the packet entered, whatever was done to it.
    pub plain: u8,
    /// The frame as it left, where it differs from the frame that entered.
    pub frame: Option<Frame>,
}

/// Packets in mirror order.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    packets: Vec<Captured>,
    bytes: usize,
    missed: u64,
}

impl Capture {
    /// Adds a packet; its place, unless the capture is full.
    pub(super) fn push(&mut self, limits: Limits, mirror: MirrorMeta, frame: &Frame) -> Option<usize> {
        if self.packets.len() >= limits.packets || self.bytes + frame.len() > limits.bytes {
            self.missed += 1;
            return None;
        }
        self.bytes += frame.len();
        self.packets.push(Captured { mirror, frame: frame.clone(), left: None });
        Some(self.packets.len() - 1)
    }

    /// Notes how the packet at a place left.
    pub(super) fn note(&mut self, place: usize, left: Left) {
        if let Some(packet) = self.packets.get_mut(place) {
            packet.left = Some(left);
        }
    }

    /// The packets.
    #[must_use]
    pub fn packets(&self) -> &[Captured] {
        &self.packets
    }

    /// Packets missing because the capture was full.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }
}
