//! A virtio device of a user-mode guest: the back end of vhost-user, without a thread, a clock or a descriptor to poll of
//! its own.
//!
//! The crate `vhost` has the constants of the protocol, but its back end neither takes notifications in band nor sends
//! interrupts in band, which are what makes them deterministic.

mod message;
mod ring;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};

use self::message::{Message, called, request};
use self::ring::{Memory, Ring};

/// Features of virtio 1.2 and of vhost-user that every device has.
const VERSION_1: u64 = 1 << 32;
const PROTOCOL_FEATURES: u64 = 1 << 30;
/// Feature of the protocol: each message is answered.
const REPLY_ACK: u64 = 1 << 3;
/// All of them: also interrupts over a stream, configuration, notifications in band.
const PROTOCOL: u64 = REPLY_ACK | 1 << 5 | 1 << 9 | 1 << 14;

/// Largest memory of a guest, in bytes.
const LARGEST_MEMORY: u64 = 8 << 30;

/// A device.
#[derive(Debug)]
pub(super) struct Device {
    stream: UnixStream,
    features: u64,
    configuration: Vec<u8>,
    queues: Vec<Ring>,
    memory: Option<Memory>,
    calls: Option<UnixStream>,
    /// True once the driver awaits an answer to each message.
    answers: bool,
    /// The notification that is to be answered.
    kicked: Option<Message>,
    /// Queue that is looked at without notifications.
    looked_at: Option<usize>,
}

impl Device {
    /// A device whose driver has connected.
    pub(super) fn new(
        stream: UnixStream,
        features: u64,
        configuration: Vec<u8>,
        queues: usize,
    ) -> io::Result<Self> {
        let features = features | VERSION_1 | PROTOCOL_FEATURES;
        let queues = (0..queues).map(|_| Ring::new()).collect::<io::Result<_>>()?;
        Ok(Self {
            stream,
            features,
            configuration,
            queues,
            memory: None,
            calls: None,
            answers: false,
            kicked: None,
            looked_at: None,
        })
    }

    /// Asks the driver for no notifications of a queue, which is looked at whenever the guest sleeps.
    pub(super) const fn look_at(&mut self, queue: usize) {
        self.looked_at = Some(queue);
    }

    /// Readable when the driver asks for something.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Readable when the driver has taken an interrupt.
    pub(super) fn calls_fd(&self) -> Option<BorrowedFd<'_>> {
        self.calls.as_ref().map(UnixStream::as_fd)
    }

    /// Takes a message; the queue that the driver has put buffers into, if that is it. [`Self::answer_kick`] answers it.
    pub(super) fn serve(&mut self) -> io::Result<Option<usize>> {
        let mut message = Message::read(&mut self.stream, self.answers)?;
        let queue = message.word(0) as usize;
        match message.request {
            request::GET_FEATURES => message.reply(&mut self.stream, &self.features.to_ne_bytes())?,
            request::GET_PROTOCOL_FEATURES => message.reply(&mut self.stream, &PROTOCOL.to_ne_bytes())?,
            request::GET_CONFIG => {
                let mut payload = message.payload.clone();
                let own = payload.get_mut(12..).unwrap_or_default();
                let length = own.len().min(self.configuration.len());
                own[..length].copy_from_slice(&self.configuration[..length]);
                message.reply(&mut self.stream, &payload)?;
            }
            request::GET_VRING_BASE => {
                let ring = self.queue(queue)?;
                ring.set_ready(false);
                let base = ring.base();
                message
                    .reply(&mut self.stream, &[message.word(0).to_ne_bytes(), base.to_ne_bytes()].concat())?;
            }
            request::VRING_KICK => {
                self.queue(queue)?;
                self.kicked = Some(message);
                return Ok(Some(queue));
            }
            other => {
                match other {
                    request::SET_MEM_TABLE => self.memory = Some(memory(&mut message)?),
                    request::SET_SLAVE_REQ_FD => self.calls = message.descriptors.pop().map(UnixStream::from),
                    request::SET_VRING_NUM => self.queue(queue)?.set_size(message.word(1)),
                    request::SET_VRING_BASE => self.queue(queue)?.set_base(message.word(1)),
                    request::SET_VRING_ADDR => {
                        self.queue(queue)?.set_addresses(
                            message.long(1),
                            message.long(2),
                            message.long(3),
                        )?;
                    }
                    request::SET_VRING_ENABLE => {
                        self.queue(queue)?.set_ready(message.word(1) != 0);
                        if let Some(memory) = self.memory.as_ref().filter(|_| self.looked_at == Some(queue)) {
                            self.queues[queue].want_no_notifications(memory)?;
                        }
                    }
                    request::SET_PROTOCOL_FEATURES => self.answers = message.long(0) & REPLY_ACK != 0,
                    // The others take effect without us.
                    _ => {}
                }
                message.done(&mut self.stream)?;
            }
        }
        Ok(None)
    }

    /// Tells the driver that its buffers are seen.
    pub(super) fn answer_kick(&mut self) -> io::Result<()> {
        self.kicked.take().map_or(Ok(()), |message| message.done(&mut self.stream))
    }

    /// Takes the next buffer that the driver has filled.
    pub(super) fn take(&mut self, queue: usize, most: usize) -> io::Result<Option<Vec<u8>>> {
        let Some(memory) = &self.memory else { return Ok(None) };
        self.queues[queue].take(memory, most)
    }

    /// Fills buffers of the driver; see [`Ring::put`].
    pub(super) fn put(
        &mut self,
        queue: usize,
        bytes: &mut [u8],
        most: usize,
        first: impl FnOnce(&mut [u8], u16),
    ) -> io::Result<bool> {
        let Some(memory) = &self.memory else { return Ok(false) };
        self.queues[queue].put(memory, bytes, most, first)
    }

    /// Interrupts the guest for a queue, if its driver wants that; then [`Self::called`] is to follow.
    pub(super) fn call(&mut self, queue: usize) -> io::Result<bool> {
        let (Some(memory), Some(calls)) = (&self.memory, &mut self.calls) else { return Ok(false) };
        let wanted = self.queues[queue].wants_interrupts(memory)?;
        if wanted {
            message::call(calls, queue as u32)?;
        }
        Ok(wanted)
    }

    /// Takes the driver's answer to an interrupt.
    pub(super) fn called(&mut self) -> io::Result<()> {
        self.calls.as_mut().map_or(Ok(()), called)
    }

    fn queue(&mut self, at: usize) -> io::Result<&mut Ring> {
        self.queues.get_mut(at).ok_or_else(|| io::Error::other(format!("the device has no queue {at}")))
    }
}

/// The memory of a memory table: of each region its address in the guest, its size, and its place in its file.
fn memory(message: &mut Message) -> io::Result<Memory> {
    let regions = message.word(0) as usize;
    if regions != message.descriptors.len() || regions == 0 {
        return Err(io::Error::other(format!("{regions} regions of memory")));
    }
    let files: Vec<File> = message.descriptors.drain(..).map(File::from).collect();
    let ranges = files.into_iter().enumerate().map(|(at, file)| {
        let field = |field: usize| message.long(1 + 4 * at + field);
        let size = field(1).min(LARGEST_MEMORY) as usize;
        (GuestAddress(field(0)), size, Some(FileOffset::new(file, field(3))))
    });
    GuestMemoryMmap::from_ranges_with_files(ranges.collect::<Vec<_>>()).map_err(io::Error::other)
}
