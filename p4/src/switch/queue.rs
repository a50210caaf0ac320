//! Frames that wait for a socket that is full.

use std::collections::VecDeque;

use super::Frame;

/// Most frames that wait at a port. At some 10 000 packets a second, a receiver may stand still for six seconds.
pub const MAX_QUEUED_FRAMES: usize = 1 << 16;
/// Most bytes that wait at a port.
pub const MAX_QUEUED_BYTES: usize = 256 << 20;

/// Frames that wait, in order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    frames: VecDeque<Frame>,
    bytes: usize,
}

impl Queue {
    /// Appends a frame; false if the queue is full, and the frame is lost.
    pub(super) fn push(&mut self, frame: Frame) -> bool {
        let room = self.frames.len() < MAX_QUEUED_FRAMES && self.bytes + frame.len() <= MAX_QUEUED_BYTES;
        if room {
            self.bytes += frame.len();
            self.frames.push_back(frame);
        }
        room
    }

    /// The frames, the first one first.
    pub(super) fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter()
    }

    /// Takes the first frames out.
    pub(super) fn pop(&mut self, frames: usize) {
        self.bytes -= self.frames.drain(..frames).map(|frame| frame.len()).sum::<usize>();
    }

    /// Empties the queue; how many frames it had.
    pub(super) fn clear(&mut self) -> u64 {
        self.bytes = 0;
        let frames = self.frames.len();
        self.frames.clear();
        frames as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_in_frames_and_in_bytes() {
        let mut queue = Queue::default();
        let small = Frame::from_static(b"frame");
        assert!((0..MAX_QUEUED_FRAMES).all(|_| queue.push(small.clone())));
        assert!(!queue.push(small.clone()));
        queue.pop(1);
        assert!(queue.push(small.clone()));
        assert_eq!(queue.clear(), MAX_QUEUED_FRAMES as u64);
        let large = Frame::from(vec![0; MAX_QUEUED_BYTES / 4]);
        assert_eq!((0..6).filter(|_| queue.push(large.clone())).count(), 4);
        queue.pop(4);
        assert!(queue.is_empty() && queue.push(small));
    }
}
