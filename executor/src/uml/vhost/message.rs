//! Messages of vhost-user, as far as user-mode kernels send them (`arch/um/drivers/vhost_user.h`).

use std::io::{self, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// Requests of a guest that are more than noted.
pub(super) mod request {
    pub(in super::super) const GET_FEATURES: u32 = 1;
    pub(in super::super) const SET_MEM_TABLE: u32 = 5;
    pub(in super::super) const SET_VRING_NUM: u32 = 8;
    pub(in super::super) const SET_VRING_ADDR: u32 = 9;
    pub(in super::super) const SET_VRING_BASE: u32 = 10;
    pub(in super::super) const GET_VRING_BASE: u32 = 11;
    pub(in super::super) const GET_PROTOCOL_FEATURES: u32 = 15;
    pub(in super::super) const SET_PROTOCOL_FEATURES: u32 = 16;
    pub(in super::super) const SET_VRING_ENABLE: u32 = 18;
    pub(in super::super) const SET_SLAVE_REQ_FD: u32 = 21;
    pub(in super::super) const GET_CONFIG: u32 = 24;
    pub(in super::super) const VRING_KICK: u32 = 35;
}

/// The request of a device: an interrupt of a queue.
const VRING_CALL: u32 = 4;

const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEEDS_REPLY: u32 = 1 << 3;

/// Bytes of a header: request, flags, size of the payload.
const HEADER: usize = 12;
/// Largest payload: a memory table of two regions has 72 bytes, a configuration 12 and its own.
const LARGEST: usize = 512;
/// Descriptors with a message: of each region of a memory table.
const DESCRIPTORS: usize = 2;

/// A message of a guest.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) request: u32,
    flags: u32,
    pub(super) payload: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

impl Message {
    /// Takes the next message. If it is known to be the only one under way, as when the guest awaits the answer to each, one call
    /// takes all of it.
    pub(super) fn read(stream: &mut UnixStream, is_only: bool) -> io::Result<Self> {
        let mut bytes = [0; HEADER + LARGEST];
        let at_once = if is_only { bytes.len() } else { HEADER };
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut bytes[..at_once])];
        let mut read = recvmsg(&*stream, into, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
        let mut descriptors = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                descriptors.extend(fds);
            }
        }
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if read < HEADER {
            stream.read_exact(&mut bytes[read..HEADER])?;
            read = HEADER;
        }
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let (request, flags, size) = (word(0), word(4), word(8) as usize);
        let end = HEADER + size;
        if size > LARGEST || read > end {
            return Err(io::Error::other(format!("a message of {size} bytes, in {read} bytes")));
        }
        stream.read_exact(&mut bytes[read..end])?;
        Ok(Self { request, flags, payload: bytes[HEADER..end].to_vec(), descriptors })
    }

    pub(super) const fn needs_reply(&self) -> bool {
        self.flags & NEEDS_REPLY != 0
    }

    /// A number of the payload, by its place among those of four bytes; 0 beyond its end.
    pub(super) fn word(&self, at: usize) -> u32 {
        let bytes = self.payload.get(at * 4..at * 4 + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    }

    /// The same for numbers of eight bytes.
    pub(super) fn long(&self, at: usize) -> u64 {
        let bytes = self.payload.get(at * 8..at * 8 + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    }

    /// Answers with a payload.
    pub(super) fn reply(&self, stream: &mut UnixStream, payload: &[u8]) -> io::Result<()> {
        write(stream, self.request, VERSION | REPLY, payload)
    }

    /// Answers that it is done, if an answer is asked for.
    pub(super) fn done(&self, stream: &mut UnixStream) -> io::Result<()> {
        if self.needs_reply() { self.reply(stream, &0_u64.to_ne_bytes()) } else { Ok(()) }
    }
}

/// Sends the interrupt of a queue; it is answered.
pub(super) fn call(stream: &mut UnixStream, queue: u32) -> io::Result<()> {
    write(stream, VRING_CALL, VERSION | NEEDS_REPLY, &[queue.to_ne_bytes(), [0; 4]].concat())
}

/// Takes the answer to an interrupt.
pub(super) fn called(stream: &mut UnixStream) -> io::Result<()> {
    Message::read(stream, true).map(drop)
}

fn write(stream: &mut UnixStream, request: u32, flags: u32, payload: &[u8]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    for word in [request, flags, payload.len() as u32] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(payload);
    stream.write_all(&bytes)
}
