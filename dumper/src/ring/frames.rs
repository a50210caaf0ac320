//! Frames one by one, each as soon as it comes (TPACKET_V2).

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::libc::{self, sockaddr_ll, tpacket_req, tpacket2_hdr};

use super::memory::{Memory, Plain, acquire, release};
use super::socket::{self, Interface, OpenError, system};
use super::tag::{TAG, Tag};

/// Bytes of a tagged frame beside its packet.
const ETHERNET: usize = 14 + TAG;

/// Where the sender of a frame is told: behind the header, aligned.
const SENDER: usize = align(size_of::<tpacket2_hdr>());

const fn align(length: usize) -> usize {
    length.next_multiple_of(libc::TPACKET_ALIGNMENT)
}

// SAFETY: these have integers and arrays of them only.
unsafe impl Plain for tpacket2_hdr {}
// SAFETY: see above.
unsafe impl Plain for sockaddr_ll {}

/// Frames that come in at an interface.
pub struct Frames {
    // Unmapped before the socket is closed.
    memory: Memory,
    socket: OwnedFd,
    /// Bytes of a slot.
    slot: usize,
    slots: usize,
    /// The slot that the next frame will be in.
    next: usize,
}

/// Result of taking frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Taken {
    /// Frames that were handed out.
    pub frames: usize,
    /// Frames that were longer than the interface's MTU when this was opened, and so are not whole.
    pub too_long: u64,
    /// Frames that the system has dropped before them, for lack of room.
    pub dropped: u64,
}

impl Frames {
    /// Opens a ring of about so many bytes at an interface, which need not be up.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(interface: Interface, room: usize) -> Result<Self, OpenError> {
        let socket = socket::raw()?;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        socket::set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)
            .map_err(system("the packet socket has no rings of version 2"))?;
        // Room for the tag in front of each frame.
        socket::set(&socket, libc::SOL_PACKET, libc::PACKET_RESERVE, &(TAG as libc::c_uint))
            .map_err(system("the packet socket has no room in front of frames"))?;
        // Kernels before 4.20 do not have it: frames that go out are then left out one by one.
        let _ = socket::set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32);
        let slot =
            align(libc::TPACKET2_HDRLEN + 2 * libc::TPACKET_ALIGNMENT + TAG + ETHERNET + interface.mtu)
                .next_power_of_two();
        let block = slot.max(BLOCK);
        let blocks = room.div_ceil(block).max(1);
        let slots = block / slot * blocks;
        let ring = tpacket_req {
            tp_block_size: block as libc::c_uint,
            tp_block_nr: blocks as libc::c_uint,
            tp_frame_size: slot as libc::c_uint,
            tp_frame_nr: slots as libc::c_uint,
        };
        socket::set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &ring)
            .map_err(system("the packet socket cannot be given room for frames"))?;
        let length = NonZeroUsize::new(block * blocks).expect("a ring has at least one block");
        let memory =
            Memory::of(&socket, length, 0).map_err(system("the room for frames cannot be mapped"))?;
        socket::bind(&socket, interface, true)?;
        Ok(Self { memory, socket, slot, slots, next: 0 })
    }

    /// The socket, which becomes readable when a frame comes.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns true if a frame is there.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        acquire(self.memory.word(self.next * self.slot)) & libc::TP_STATUS_USER != 0
    }

    /// Hands out the frames that are there, up to so many, each with its VLAN tag.
    pub fn take(&mut self, most: usize, mut each: impl FnMut(&[u8])) -> Taken {
        let mut taken = Taken::default();
        let mut is_losing = false;
        for _ in 0..most {
            let at = self.next * self.slot;
            let status = acquire(self.memory.word(at));
            if status & libc::TP_STATUS_USER == 0 {
                break;
            }
            let header: tpacket2_hdr = self.memory.read(at);
            let sender: sockaddr_ll = self.memory.read(at + SENDER);
            is_losing |= status & libc::TP_STATUS_LOSING != 0;
            if sender.sll_pkttype != libc::PACKET_OUTGOING {
                match self.frame(at, status, header) {
                    Some(frame) => {
                        taken.frames += 1;
                        each(frame);
                    }
                    None => taken.too_long += 1,
                }
            }
            release(self.memory.word(at), libc::TP_STATUS_KERNEL);
            self.next = (self.next + 1) % self.slots;
        }
        if is_losing {
            // A socket that cannot be asked shows frames with the same mark again.
            taken.dropped = socket::dropped(&self.socket).unwrap_or_default();
        }
        taken
    }

    /// The frame in a slot; none if it is not whole.
    fn frame(&mut self, at: usize, status: u32, header: tpacket2_hdr) -> Option<&[u8]> {
        let (start, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let is_inside = start + length <= self.slot && start >= TAG;
        if header.tp_snaplen < header.tp_len || !is_inside {
            return None;
        }
        let tag = Tag { status, tpid: header.tp_vlan_tpid, tci: header.tp_vlan_tci };
        tag.put_back(&mut self.memory, at + start, length)
    }
}

/// Least bytes of a block: the kernel has them in one piece.
const BLOCK: usize = 1 << 16;
