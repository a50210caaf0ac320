//! A host: sends packets, and takes in those that come.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use dumper::ring::{self, Frames, Interface};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, recvmmsg, sendmmsg};

/// Packets of one system call.
const BATCH: usize = 64;

/// Bytes of frames that wait for a host.
const WAITING: usize = 64 << 20;

/// The way of a host's packets to the network.
pub(crate) enum Out {
    Interface(OwnedFd),
    Unix(UnixDatagram),
}

/// The way of packets from the network to a host.
pub(crate) enum In {
    Interface(Frames),
    Unix(UnixDatagram, Vec<Vec<u8>>),
}

impl Out {
    pub(crate) fn interface(name: &str) -> Self {
        Self::Interface(ring::sender(Interface::named(name).unwrap()).unwrap())
    }

    pub(crate) fn unix(path: &Path) -> Self {
        let socket = UnixDatagram::unbound().unwrap();
        socket.connect(path).unwrap();
        Self::Unix(socket)
    }

    fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Interface(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }

    /// Sends packets, all of them.
    pub(crate) fn send(&self, mut packets: &[Vec<u8>]) {
        while !packets.is_empty() {
            let batch = &packets[..packets.len().min(BATCH)];
            let slices: Vec<_> = batch.iter().map(|packet| [IoSlice::new(packet)]).collect();
            let mut headers = MultiHeaders::<()>::preallocate(batch.len(), None);
            let none: [ControlMessage<'_>; 0] = [];
            let addresses = vec![None::<()>; batch.len()];
            let socket = self.socket();
            let flags = MsgFlags::MSG_DONTWAIT;
            match sendmmsg(socket.as_raw_fd(), &mut headers, &slices, &addresses, none, flags) {
                Ok(sent) => packets = &packets[sent.count()..],
                Err(Errno::EAGAIN | Errno::ENOBUFS) => {
                    poll(&mut [PollFd::new(socket, PollFlags::POLLOUT)], PollTimeout::NONE).unwrap();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl In {
    pub(crate) fn interface(name: &str) -> Self {
        Self::Interface(Frames::open(Interface::named(name).unwrap(), WAITING).unwrap())
    }

    pub(crate) fn unix(path: &Path) -> Self {
        let socket = UnixDatagram::bind(path).unwrap();
        Self::Unix(socket, vec![vec![0; 1 << 16]; BATCH])
    }

    fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Interface(frames) => frames.socket(),
            Self::Unix(socket, _) => socket.as_fd(),
        }
    }

    /// Waits for packets, for so many ms at most, and takes a batch; how many these were, and how many were dropped before them.
    pub(crate) fn receive(&mut self, patience_ms: u16) -> (usize, u64) {
        if patience_ms > 0 && !self.is_ready() {
            let mut socket = [PollFd::new(self.socket(), PollFlags::POLLIN)];
            if poll(&mut socket, PollTimeout::from(patience_ms)).unwrap() == 0 {
                return (0, 0);
            }
        }
        match self {
            Self::Interface(frames) => {
                let taken = frames.take(BATCH, |_| {});
                (taken.frames, taken.dropped)
            }
            Self::Unix(socket, buffers) => {
                let mut slices: Vec<_> = buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
                let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
                let flags = MsgFlags::MSG_DONTWAIT;
                let received = recvmmsg(socket.as_raw_fd(), &mut headers, &mut slices, flags, None);
                (received.map_or(0, Iterator::count), 0)
            }
        }
    }

    fn is_ready(&self) -> bool {
        matches!(self, Self::Interface(frames) if frames.is_ready())
    }
}
