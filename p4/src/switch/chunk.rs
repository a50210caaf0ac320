//! Frames side by side in larger pieces of memory, so that none is allocated for each.

use prost::bytes::BytesMut;

use super::Frame;

/// Bytes of a piece: it is freed when the last of its frames is gone.
const PIECE: usize = 256 << 10;

/// Memory of frames.
#[derive(Debug, Default)]
pub(super) struct Chunk(BytesMut);

impl Chunk {
    /// Copies a frame, and changes the copy.
    pub(super) fn changed(&mut self, frame: &[u8], change: impl FnOnce(&mut [u8])) -> Frame {
        if self.0.capacity() < frame.len() {
            self.0 = BytesMut::with_capacity(PIECE.max(frame.len()));
        }
        self.0.extend_from_slice(frame);
        change(&mut self.0);
        self.0.split().freeze()
    }

    /// Copies a frame.
    pub(super) fn copied(&mut self, frame: &[u8]) -> Frame {
        self.changed(frame, |_| {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_any_length_are_copied_and_stay_when_others_come() {
        let mut chunk = Chunk::default();
        let lengths = [0, 1, 1_000, PIECE - 1_000, 2, PIECE + 1, 3];
        let of = |length: usize| vec![length as u8; length];
        let copies: Vec<_> = lengths.map(|length| (length, chunk.copied(&of(length)))).into();
        for (length, copy) in copies {
            assert_eq!(copy, of(length));
        }
        assert_eq!(chunk.changed(&[1, 2], |frame| frame[0] = 7), [7, 2].as_slice());
    }
}
