//! Frames of an interface through AF_XDP: a program of a few instructions hands them to a socket before the kernel's network stack
//! sees them, which gets none of them any more.
//!
//! The kernel copies frames (copy mode), so that every driver will do. The interface has one queue.

mod program;
mod queue;

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::libc::{self, xdp_desc, xdp_mmap_offsets, xdp_statistics, xdp_umem_reg};

use super::Taken;
use super::memory::{Memory, Plain};
use super::socket::{self, Interface, OpenError, system};
use program::Program;
use queue::{Giving, Queue, Taking};

/// Bytes of a chunk, which holds a frame or a part of one: a page, the most that there may be.
const CHUNK: usize = 1 << 12;

/// Bytes of a chunk in front of a frame that comes in, for programs (`XDP_PACKET_HEADROOM` of linux/bpf.h).
const HEADROOM: usize = 256;

/// Chunks for frames that come in: those of 7 ms at 10 Gbit/s.
const INCOMING: u32 = 1 << 13;

/// Chunks for frames that go out.
const OUTGOING: u32 = 1 << 11;

/// Bytes of a frame beside its packet: the Ethernet header with a tag.
const ETHERNET: usize = 18;

// SAFETY: these have integers only.
unsafe impl Plain for xdp_desc {}
// SAFETY: see above.
unsafe impl Plain for xdp_mmap_offsets {}
// SAFETY: see above.
unsafe impl Plain for xdp_statistics {}

/// What both directions share. It goes in this order: no frames come any more, then the socket is closed, then its memory is given back.
struct Shared {
    _program: Program,
    socket: OwnedFd,
    chunks: Memory,
}

/// Frames that come in.
pub struct Receiver {
    fill: Giving,
    incoming: Taking,
    /// The parts of a frame so far that is in several chunks.
    joined: Vec<u8>,
    /// Frames that the system had dropped when it was asked last.
    dropped: u64,
    shared: Arc<Shared>,
}

/// Frames that go out.
pub struct Transmitter {
    outgoing: Giving,
    completed: Taking,
    /// Addresses of the chunks that hold no frame.
    free: Vec<u64>,
    /// Bytes of the longest frame.
    longest: usize,
    shared: Arc<Shared>,
}

/// Opens both directions of an interface.
///
/// # Errors
/// See [`OpenError`]. Without the capabilities `CAP_NET_ADMIN` and `CAP_BPF` of the machine itself, as in a user namespace, the kernel
/// refuses the program.
pub fn open(interface: Interface) -> Result<(Receiver, Transmitter), OpenError> {
    if interface.queues != 1 {
        return Err(OpenError::Queues(interface.queues));
    }
    let chunks = (INCOMING + OUTGOING) as usize;
    let chunks = NonZeroUsize::new(chunks * CHUNK).expect("there are chunks");
    let chunks = Memory::new(chunks).map_err(system("there is no memory for frames"))?;
    let socket = raw().map_err(system("a socket of AF_XDP cannot be opened"))?;
    let (addr, len) = chunks.place();
    let memory =
        xdp_umem_reg { addr, len, chunk_size: CHUNK as u32, headroom: 0, flags: 0, tx_metadata_len: 0 };
    set(&socket, libc::XDP_UMEM_REG, &memory)
        .map_err(system("the memory for frames cannot be shared (`ulimit -l` says how much may be)"))?;
    for (option, entries) in [
        (libc::XDP_UMEM_FILL_RING, INCOMING),
        (libc::XDP_UMEM_COMPLETION_RING, OUTGOING),
        (libc::XDP_RX_RING, INCOMING),
        (libc::XDP_TX_RING, OUTGOING),
    ] {
        set(&socket, option, &entries).map_err(system("the socket of AF_XDP cannot be given a queue"))?;
    }
    let offsets: xdp_mmap_offsets = socket::get(&socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)
        .map_err(system("the queues of the socket of AF_XDP are not told"))?;
    let queue = |offsets, entries, bytes, at| {
        Queue::map(&socket, offsets, entries, bytes, at).map_err(system("a queue of frames cannot be mapped"))
    };
    let (chunk, part) = (size_of::<u64>(), size_of::<xdp_desc>());
    let fill_at = libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t;
    let completed_at = libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t;
    let mut fill = Giving(queue(&offsets.fr, INCOMING, chunk, fill_at)?);
    let completed = Taking(queue(&offsets.cr, OUTGOING, chunk, completed_at)?);
    let incoming = Taking(queue(&offsets.rx, INCOMING, part, libc::XDP_PGOFF_RX_RING)?);
    let outgoing = Giving(queue(&offsets.tx, OUTGOING, part, libc::XDP_PGOFF_TX_RING)?);
    let address_of = |number: u32| u64::from(number) * CHUNK as u64;
    (0..INCOMING).map(address_of).for_each(|address| fill.put(address));
    fill.hand_over();
    bind(&socket, interface).map_err(system("the socket of AF_XDP cannot be bound"))?;
    let program = Program::attach(&socket, interface)?;
    let shared = Arc::new(Shared { _program: program, socket, chunks });
    let free = (INCOMING..INCOMING + OUTGOING).map(address_of).collect();
    let longest = interface.mtu + ETHERNET;
    let receiver = Receiver { fill, incoming, joined: Vec::new(), dropped: 0, shared: Arc::clone(&shared) };
    Ok((receiver, Transmitter { outgoing, completed, free, longest, shared }))
}

fn raw() -> io::Result<OwnedFd> {
    // SAFETY: the call has no pointers.
    let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: a descriptor that was just opened belongs to nobody else.
    if socket < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(socket) }) }
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    socket::set(socket, libc::SOL_XDP, option, value)
}

/// Binds a socket to the queue of an interface: with frames of several chunks, or without where the kernel has none (before 6.6) and
/// none is needed.
fn bind(socket: &OwnedFd, interface: Interface) -> io::Result<()> {
    let address = |flags| libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP | flags,
        sxdp_ifindex: interface.index,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    socket::bind_to(socket, &address(libc::XDP_USE_SG)).or_else(|error| {
        let fits = HEADROOM + interface.mtu + ETHERNET <= CHUNK;
        if fits { socket::bind_to(socket, &address(0)) } else { Err(error) }
    })
}

impl Receiver {
    /// The socket, which becomes readable when a frame comes.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.shared.socket.as_fd()
    }

    /// Returns true if a frame is there.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.incoming.waiting() > 0
    }

    /// Hands out the frames that are there, up to so many.
    pub fn take(&mut self, most: usize, mut each: impl FnMut(&[u8])) -> Taken {
        let mut taken = Taken::default();
        let mut parts = self.incoming.waiting();
        while taken.frames < most && parts > 0 {
            parts -= 1;
            let part: xdp_desc = self.incoming.next();
            let bytes = self.shared.chunks.part(part.addr as usize, part.len as usize);
            let bytes = bytes.expect("the kernel hands out parts of the memory");
            let is_last = part.options & libc::XDP_PKT_CONTD == 0;
            if is_last && self.joined.is_empty() {
                each(bytes);
            } else {
                self.joined.extend_from_slice(bytes);
                if is_last {
                    each(&self.joined);
                    self.joined.clear();
                }
            }
            taken.frames += usize::from(is_last);
            self.fill.put(part.addr & !(CHUNK as u64 - 1));
        }
        self.incoming.hand_over();
        self.fill.hand_over();
        taken
    }

    /// Frames that the system has dropped since the last call, for lack of room.
    pub fn dropped(&mut self) -> u64 {
        let told = socket::get(&self.shared.socket, libc::SOL_XDP, libc::XDP_STATISTICS);
        // A socket that cannot be asked tells the next time.
        let Ok(xdp_statistics { rx_dropped, rx_ring_full, .. }) = told else { return 0 };
        let before = std::mem::replace(&mut self.dropped, rx_dropped + rx_ring_full);
        self.dropped.saturating_sub(before)
    }
}

/// Result of handing a frame over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Put {
    /// It goes out with the next [`Transmitter::send`].
    Queued,
    /// There is no room.
    Full,
    /// It is longer than the interface's frames, or empty.
    Refused,
}

/// Result of sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flushed {
    /// Frames that the device refused and that are lost.
    pub lost: u64,
    /// The device takes no more at present.
    pub is_busy: bool,
}

impl Transmitter {
    /// The socket.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.shared.socket.as_fd()
    }

    /// Queues a frame.
    pub fn put(&mut self, frame: &[u8]) -> Put {
        if frame.is_empty() || frame.len() > self.longest {
            return Put::Refused;
        }
        let parts = frame.len().div_ceil(CHUNK);
        if self.free.len() < parts {
            self.reclaim();
        }
        if self.free.len() < parts || (self.outgoing.room() as usize) < parts {
            return Put::Full;
        }
        for (number, part) in (1..).zip(frame.chunks(CHUNK)) {
            let addr = self.free.pop().expect("there are as many chunks as parts");
            self.shared.chunks.copy(addr as usize, part);
            let options = if number < parts { libc::XDP_PKT_CONTD } else { 0 };
            self.outgoing.put(xdp_desc { addr, len: part.len() as u32, options });
        }
        Put::Queued
    }

    /// Has the kernel send what is queued.
    pub fn send(&mut self) -> Flushed {
        let mut flushed = Flushed::default();
        self.outgoing.hand_over();
        loop {
            let before = self.outgoing.waiting();
            if before == 0 {
                break;
            }
            // SAFETY: the call has no buffer and no address.
            let result = unsafe {
                libc::sendto(
                    self.shared.socket.as_raw_fd(),
                    std::ptr::null(),
                    0,
                    libc::MSG_DONTWAIT,
                    std::ptr::null(),
                    0,
                )
            };
            // The kernel says so of a frame that a device has dropped, and goes on at the next call.
            let is_lost = result < 0 && Errno::last() == Errno::EBUSY;
            flushed.lost += u64::from(is_lost);
            // A call sends some of them; what it says besides does not matter.
            if self.outgoing.waiting() == before && !is_lost {
                flushed.is_busy = true;
                break;
            }
        }
        self.reclaim();
        flushed
    }

    /// Returns true if all frames have been sent.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.outgoing.waiting() == 0
    }

    /// Takes back the chunks of frames that have been sent.
    fn reclaim(&mut self) {
        for _ in 0..self.completed.waiting() {
            let address: u64 = self.completed.next();
            self.free.push(address & !(CHUNK as u64 - 1));
        }
        self.completed.hand_over();
    }
}
