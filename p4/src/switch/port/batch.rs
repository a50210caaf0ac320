//! Many frames in one system call.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrLike, recvmmsg, sendmmsg,
};

use super::{Losses, Sent};

/// Frames of one system call.
pub(super) const BATCH: usize = 64;

/// Longest frame that is taken in: as long as an IP packet can be, with two VLAN tags.
const MAX_FRAME: usize = 65_535 + 14 + 8;

/// Room for a batch of frames.
pub(in crate::switch) struct Batch {
    buffers: Vec<Vec<u8>>,
}

impl Batch {
    pub(in crate::switch) fn new() -> Self {
        Self { buffers: vec![vec![0; MAX_FRAME]; BATCH] }
    }

    /// Takes in the frames that are there, up to a batch; those whose sender is not `wanted` are left out. Of
    /// a socket that tells how many frames it has dropped (`SO_RXQ_OVFL`), `dropped` is how many these were.
    pub(super) fn receive<S: SockaddrLike + Copy>(
        &mut self,
        socket: BorrowedFd<'_>,
        wanted: impl Fn(&S) -> bool,
        mut dropped: Option<&mut u32>,
        mut each: impl FnMut(&[u8]),
    ) -> io::Result<Losses> {
        let mut losses = Losses::default();
        let mut headers = MultiHeaders::<S>::preallocate(BATCH, dropped.is_some().then(|| cmsg_space!(u32)));
        let mut slices: Vec<_> = self.buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let messages =
            match recvmmsg(socket.as_raw_fd(), &mut headers, &mut slices, MsgFlags::MSG_DONTWAIT, None) {
                Ok(messages) => messages,
                // An interface that goes down says so once; it may come up again.
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => return Ok(losses),
                Err(error) => return Err(error.into()),
            };
        for message in messages {
            if let Some(dropped) = dropped.as_deref_mut() {
                for told in message.cmsgs()? {
                    if let ControlMessageOwned::RxqOvfl(in_all) = told {
                        losses.missed += u64::from(in_all.wrapping_sub(*dropped));
                        *dropped = in_all;
                    }
                }
            }
            if !message.address.as_ref().is_none_or(&wanted) {
                continue;
            }
            if message.flags.contains(MsgFlags::MSG_TRUNC) {
                losses.refused += 1;
                continue;
            }
            each(message.iovs().next().unwrap_or_default());
        }
        Ok(losses)
    }
}

/// Sends frames over a connected or bound socket.
pub(super) fn send(socket: BorrowedFd<'_>, frames: &[&[u8]]) -> Sent {
    let mut headers = MultiHeaders::<()>::preallocate(frames.len(), None);
    let slices: Vec<_> = frames.iter().map(|frame| [IoSlice::new(frame)]).collect();
    let addresses = vec![None::<()>; frames.len()];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let no_messages: [ControlMessage<'_>; 0] = [];
    match sendmmsg(socket.as_raw_fd(), &mut headers, &slices, &addresses, no_messages, flags) {
        Ok(sent) => Sent::Frames(sent.count()),
        Err(error) => Sent::of(error),
    }
}
