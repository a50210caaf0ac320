//! Memory for the beginnings of mirrored packets.

use super::Losses;
use crate::mirror;

/// Bytes that are kept of a packet: all of its headers (Lumina §3.4).
pub const KEPT: usize = 128;

/// A kept packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'k> {
    /// Mirror sequence number.
    pub sequence: u32,
    /// The beginning of the packet.
    pub frame: &'k [u8],
    /// Bytes of the whole packet.
    pub length: u32,
}

/// Number of a packet and where it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    sequence: u32,
    number: u32,
    length: u32,
    kept: u8,
}

/// Room for so many packets, all of it from the start.
#[derive(Debug)]
pub(super) struct Kept {
    frames: Box<[[u8; KEPT]]>,
    places: Vec<Place>,
    losses: Losses,
    /// The places are in the order of the sequence numbers.
    is_sorted: bool,
}

impl Kept {
    pub(super) fn new(packets: u32) -> Self {
        let mut frames = vec![[0; KEPT]; packets as usize].into_boxed_slice();
        // So that no packet waits for a page.
        frames.fill([u8::MAX; KEPT]);
        Self {
            frames,
            places: Vec::with_capacity(packets as usize),
            losses: Losses::default(),
            is_sorted: true,
        }
    }

    /// Forgets all packets.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.losses = Losses::default();
        self.is_sorted = true;
    }

    /// Keeps the beginning of a packet of so many bytes.
    pub(super) fn push(&mut self, frame: &[u8], length: u32) {
        let Some(sequence) = mirror::sequence_in(frame) else {
            self.losses.foreign += 1;
            return;
        };
        let number = self.places.len();
        let Some(room) = self.frames.get_mut(number) else {
            self.losses.no_room += 1;
            return;
        };
        let kept = frame.len().min(KEPT);
        room[..kept].copy_from_slice(&frame[..kept]);
        self.is_sorted &= self.places.last().is_none_or(|last| last.sequence < sequence);
        self.places.push(Place { sequence, number: number as u32, length, kept: kept as u8 });
    }

    pub(super) fn len(&self) -> u64 {
        self.places.len() as u64
    }

    pub(super) const fn losses(&self) -> Losses {
        self.losses
    }

    /// Puts packets in the order of their sequence numbers, with the port of RoCEv2.
    pub(super) fn finish(&mut self) {
        for (frame, place) in self.frames.iter_mut().zip(&self.places) {
            mirror::restore_port(&mut frame[..place.kept.into()]);
        }
        if !self.is_sorted {
            self.places.sort_unstable();
            self.is_sorted = true;
        }
    }

    /// The packet at a place of their order.
    pub(super) fn get(&self, at: usize) -> Option<Packet<'_>> {
        let Place { sequence, number, length, kept } = *self.places.get(at)?;
        Some(Packet { sequence, frame: &self.frames[number as usize][..kept.into()], length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame whose source address is a sequence number.
    fn frame(sequence: u32, bytes: usize) -> Vec<u8> {
        let mut frame = vec![0; bytes];
        frame[8..12].copy_from_slice(&sequence.to_be_bytes());
        frame
    }

    #[test]
    fn packets_come_out_in_order_and_cut() {
        let mut kept = Kept::new(4);
        for (sequence, bytes) in [(7, 60), (3, 1_000), (5, KEPT), (3, 61)] {
            kept.push(&frame(sequence, bytes), 2_000 + sequence);
        }
        kept.push(&frame(0, 60), 60);
        kept.push(&[1, 2, 3], 3);
        kept.push(&frame(9, 60), 60);
        kept.finish();
        let out: Vec<_> = (0..).map_while(|at| kept.get(at)).collect();
        let told: Vec<_> = out.iter().map(|one| (one.sequence, one.frame.len(), one.length)).collect();
        assert_eq!(told, [(3, KEPT, 2_003), (3, 61, 2_003), (5, KEPT, 2_005), (7, 60, 2_007)]);
        assert_eq!((kept.losses().no_room, kept.losses().foreign), (1, 2));
        kept.clear();
        assert_eq!((kept.len(), kept.losses(), kept.get(0)), (0, Losses::default(), None));
    }
}
