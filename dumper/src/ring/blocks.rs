//! Frames by the block, for those that may wait (TPACKET_V3): a block is handed out when it is full or some milliseconds old. The frames of an
//! interface may be shared by several sockets, each with a thread of its own.

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::libc::{self, tpacket_req3, tpacket_stats_v3, tpacket3_hdr};

use super::memory::{Memory, Plain, acquire, release};
use super::socket::{self, Interface, OpenError, system};
use super::tag::{TAG, Tag};

/// Bytes of a block.
const BLOCK: usize = 1 << 20;

/// Age at which a block is handed out that is not full, in ms.
const AGE_MS: u32 = 4;

/// Places in a block: of its status, of the number of its frames, and of that of the first one (`struct tpacket_hdr_v1` behind two words).
const STATUS: usize = 8;
const COUNT: usize = 12;
const FIRST: usize = 16;

// SAFETY: these have integers only.
unsafe impl Plain for tpacket3_hdr {}
// SAFETY: see above.
unsafe impl Plain for tpacket_stats_v3 {}
// SAFETY: an integer.
unsafe impl Plain for u32 {}

/// A share of the frames that come in at an interface.
pub struct Blocks {
    // Unmapped before the socket is closed.
    memory: Memory,
    socket: OwnedFd,
    blocks: usize,
    /// The block that is handed out next.
    next: usize,
    group: Group,
}

/// Sockets that share the frames of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group(u32);

impl Blocks {
    /// Opens a ring of about so many bytes at an interface, of each of whose frames the first bytes are had. With the [`Self::group`] of another
    /// one, both share the frames: those of one pair of ports come to one of them.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(
        interface: Interface,
        room: usize,
        kept: usize,
        group: Option<Group>,
    ) -> Result<Self, OpenError> {
        let socket = socket::raw()?;
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        socket::set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)
            .map_err(system("the packet socket has no rings of version 3"))?;
        // Kernels before 4.20 do not have it; frames that go out at a dumper's interface have no mirror sequence number.
        let _ = socket::set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32);
        // Room for the tag in front of each frame.
        socket::set(&socket, libc::SOL_PACKET, libc::PACKET_RESERVE, &(TAG as libc::c_uint))
            .map_err(system("the packet socket has no room in front of frames"))?;
        let blocks = room.div_ceil(BLOCK).max(2);
        let slot = (libc::TPACKET3_HDRLEN + 2 * libc::TPACKET_ALIGNMENT + TAG + kept).next_power_of_two();
        let ring = tpacket_req3 {
            tp_block_size: BLOCK as libc::c_uint,
            tp_block_nr: blocks as libc::c_uint,
            tp_frame_size: slot as libc::c_uint,
            tp_frame_nr: (BLOCK / slot * blocks) as libc::c_uint,
            tp_retire_blk_tov: AGE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket::set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &ring)
            .map_err(system("the packet socket cannot be given room for frames"))?;
        let length = NonZeroUsize::new(BLOCK * blocks).expect("there are blocks");
        let memory =
            Memory::of(&socket, length, 0).map_err(system("the room for frames cannot be mapped"))?;
        socket::truncate(&socket, kept).map_err(system("the packet socket cannot be made to cut frames"))?;
        socket::bind(&socket, interface, true)?;
        // The kernel chooses the number of a new group.
        let fanout = match group {
            Some(Group(number)) => libc::PACKET_FANOUT_HASH << 16 | number,
            None => (libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16,
        };
        socket::set(&socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &fanout)
            .map_err(system("the packet socket cannot share the frames of the interface"))?;
        let fanout: u32 = socket::get(&socket, libc::SOL_PACKET, libc::PACKET_FANOUT)
            .map_err(system("the packet socket does not tell whose frames it shares"))?;
        let group = Group(fanout & u32::from(u16::MAX));
        Ok(Self { memory, socket, blocks, next: 0, group })
    }

    /// The sockets that it shares frames with.
    #[must_use]
    pub const fn group(&self) -> Group {
        self.group
    }

    /// The socket, which becomes readable when a block is there.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Hands out the frames of the next block, with their lengths on the wire; false if none is there.
    pub fn take(&mut self, mut each: impl FnMut(&[u8], u32)) -> bool {
        let block = self.next * BLOCK;
        if acquire(self.memory.word(block + STATUS)) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        let count: u32 = self.memory.read(block + COUNT);
        let mut at = self.memory.read::<u32>(block + FIRST) as usize;
        for _ in 0..count {
            if at + size_of::<tpacket3_hdr>() > BLOCK {
                break;
            }
            let header: tpacket3_hdr = self.memory.read(block + at);
            let (start, length) = (at + usize::from(header.tp_mac), header.tp_snaplen as usize);
            let tag = Tag {
                status: header.tp_status,
                tpid: header.hv1.tp_vlan_tpid,
                tci: header.hv1.tp_vlan_tci as u16,
            };
            if start + length <= BLOCK
                && let Some(frame) = tag.put_back(&mut self.memory, block + start, length)
            {
                each(frame, header.tp_len + (frame.len() - length) as u32);
            }
            at += header.tp_next_offset as usize;
        }
        release(self.memory.word(block + STATUS), libc::TP_STATUS_KERNEL);
        self.next = (self.next + 1) % self.blocks;
        true
    }

    /// Frames that the system has dropped since the last call, for lack of room.
    pub fn dropped(&self) -> u64 {
        let told = socket::get(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // A socket that cannot be asked tells the next time.
        told.map_or(0, |told: tpacket_stats_v3| told.tp_drops.into())
    }
}
