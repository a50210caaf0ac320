//! Many frames in one system call.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, recvmmsg, sendmmsg};

use super::Sent;
use crate::switch::queue::Queue;

/// Frames of one system call.
pub(super) const BATCH: usize = 64;

/// Longest frame that is taken in: as long as an IP packet can be, with two VLAN tags.
const MAX_FRAME: usize = 65_535 + 14 + 8;

/// Room for a batch of frames, and those that came in last.
pub(in crate::switch) struct Incoming {
    buffers: Box<[Box<[u8]>; BATCH]>,
    headers: MultiHeaders<()>,
    /// Bytes of each; none of one that was longer than the room.
    lengths: Vec<Option<usize>>,
}

impl Incoming {
    pub(in crate::switch) fn new() -> Self {
        Self {
            buffers: Box::new(std::array::from_fn(|_| vec![0; MAX_FRAME].into())),
            headers: MultiHeaders::preallocate(BATCH, None),
            lengths: Vec::with_capacity(BATCH),
        }
    }

    /// Takes in the frames that are there, up to a batch.
    pub(super) fn fill(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.lengths.clear();
        let mut slices = self.buffers.each_mut().map(|buffer| [IoSliceMut::new(buffer)]);
        let (fd, headers) = (socket.as_raw_fd(), &mut self.headers);
        match recvmmsg(fd, headers, &mut slices, MsgFlags::MSG_DONTWAIT, None) {
            Ok(messages) => self.lengths.extend(
                messages.map(|told| (!told.flags.contains(MsgFlags::MSG_TRUNC)).then_some(told.bytes)),
            ),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Frames that came in and were not taken yet.
    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Hands out the frames that came in; how many were too long.
    pub(super) fn take(&mut self, mut each: impl FnMut(&[u8])) -> u64 {
        let mut too_long = 0;
        for (buffer, length) in self.buffers.iter().zip(self.lengths.drain(..)) {
            match length.and_then(|length| buffer.get(..length)) {
                Some(frame) => each(frame),
                None => too_long += 1,
            }
        }
        too_long
    }
}

/// Room to send a batch of frames.
pub(in crate::switch) struct Outgoing(MultiHeaders<()>);

impl Outgoing {
    pub(in crate::switch) fn new() -> Self {
        Self(MultiHeaders::preallocate(BATCH, None))
    }

    /// Sends the first frames, up to a batch, over a connected or bound socket.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, queue: &Queue) -> Sent {
        let mut slices = [[IoSlice::new(&[])]; BATCH];
        let mut count = 0;
        for (slice, frame) in slices.iter_mut().zip(queue.frames()) {
            *slice = [IoSlice::new(frame)];
            count += 1;
        }
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        let no_messages: [ControlMessage<'_>; 0] = [];
        let addresses = [None::<()>; BATCH];
        match sendmmsg(
            socket.as_raw_fd(),
            &mut self.0,
            &slices[..count],
            &addresses[..count],
            no_messages,
            flags,
        ) {
            Ok(sent) => Sent::Frames(sent.count()),
            Err(error) => Sent::of(error),
        }
    }
}
