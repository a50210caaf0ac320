//! Queues between this process and the kernel: one of both puts entries into a queue, the other takes them out.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;

use nix::libc::{self, xdp_ring_offset};

use crate::ring::memory::{Memory, Plain, acquire, release};

/// One of the four queues of a socket.
pub(super) struct Queue {
    memory: Memory,
    /// Places of the numbers of entries that were put in, and taken out, so far.
    put: usize,
    taken: usize,
    /// Place of the entries.
    entries: usize,
    /// Number of entries less one: of a power of two.
    mask: u32,
    /// The number that this process has counted to, and the kernel may not know yet.
    own: u32,
}

impl Queue {
    /// Maps a queue with so many entries of so many bytes.
    pub(super) fn map(
        socket: impl AsFd,
        offsets: &xdp_ring_offset,
        entries: u32,
        bytes: usize,
        at: libc::off_t,
    ) -> io::Result<Self> {
        let length = offsets.desc as usize + entries as usize * bytes;
        let length = NonZeroUsize::new(length).expect("a queue has entries");
        Ok(Self {
            memory: Memory::of(socket, length, at)?,
            put: offsets.producer as usize,
            taken: offsets.consumer as usize,
            entries: offsets.desc as usize,
            mask: entries - 1,
            own: 0,
        })
    }

    /// The place of this process's next entry.
    fn place<T>(&self) -> usize {
        self.entries + (self.own & self.mask) as usize * size_of::<T>()
    }
}

/// A queue that this process puts entries into.
pub(super) struct Giving(pub(super) Queue);

impl Giving {
    /// Room for so many more entries.
    pub(super) fn room(&self) -> u32 {
        let Queue { memory, taken, mask, own, .. } = &self.0;
        mask + 1 - own.wrapping_sub(acquire(memory.word(*taken)))
    }

    /// Puts an entry in, for which there has to be room. The kernel sees it after [`Self::hand_over`].
    pub(super) fn put<T: Plain>(&mut self, entry: T) {
        self.0.memory.write(self.0.place::<T>(), entry);
        self.0.own = self.0.own.wrapping_add(1);
    }

    /// Gives the kernel the entries that were put in.
    pub(super) fn hand_over(&self) {
        release(self.0.memory.word(self.0.put), self.0.own);
    }

    /// Entries that the kernel has not taken yet.
    pub(super) fn waiting(&self) -> u32 {
        self.0.own.wrapping_sub(acquire(self.0.memory.word(self.0.taken)))
    }
}

/// A queue that this process takes entries out of.
pub(super) struct Taking(pub(super) Queue);

impl Taking {
    /// Entries that are there.
    pub(super) fn waiting(&self) -> u32 {
        acquire(self.0.memory.word(self.0.put)).wrapping_sub(self.0.own)
    }

    /// Takes an entry out, of those that are there.
    pub(super) fn next<T: Plain>(&mut self) -> T {
        let entry = self.0.memory.read(self.0.place::<T>());
        self.0.own = self.0.own.wrapping_add(1);
        entry
    }

    /// Gives the kernel the places of the entries that were taken.
    pub(super) fn hand_over(&self) {
        release(self.0.memory.word(self.0.taken), self.0.own);
    }
}
