//! Memory that is shared with the kernel.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// The memory of a socket's ring. Who may use a part of it is said by a word in it, which both sides change.
pub(super) struct Memory {
    start: NonNull<u8>,
    length: usize,
}

const PROTECTION: ProtFlags = ProtFlags::PROT_READ.union(ProtFlags::PROT_WRITE);

// SAFETY: the memory belongs to this value alone, and to the kernel.
unsafe impl Send for Memory {}
// SAFETY: words are atomic; of all else the callers of `read`, `write` and `part` have the part to themselves.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps a ring of a socket, which has so many bytes; the offset says which one.
    pub(super) fn of(socket: impl AsFd, length: NonZeroUsize, offset: libc::off_t) -> io::Result<Self> {
        // All of it at once, so that no packet waits for a page.
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no other memory.
        let start = unsafe { mmap(None, length, PROTECTION, flags, socket, offset) }?;
        Ok(Self { start: start.cast(), length: length.get() })
    }

    /// Memory of this process, for the kernel to share.
    pub(super) fn new(length: NonZeroUsize) -> io::Result<Self> {
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no other memory.
        let start = unsafe { mmap_anonymous(None, length, PROTECTION, flags) }?;
        Ok(Self { start: start.cast(), length: length.get() })
    }

    /// Address and length.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.start.as_ptr().expose_provenance() as u64, self.length as u64)
    }

    /// The word at a place, a multiple of four.
    pub(super) fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.length, "a word inside the memory");
        // SAFETY: the word is inside the mapping, which is aligned to a page and lives as long as `self`; both sides access it
        // atomically.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// A structure of the kernel's at a place. The kernel must have handed out the part that it is in.
    pub(super) fn read<T: Plain>(&self, at: usize) -> T {
        assert!(at + size_of::<T>() <= self.length, "a structure inside the memory");
        // SAFETY: inside the mapping; any bytes are a `T`, as it has only integers.
        unsafe { self.start.as_ptr().add(at).cast::<T>().read_unaligned() }
    }

    /// Writes a structure of the kernel's to a place that the kernel must have handed out, and no other thread has.
    pub(super) fn write<T: Plain>(&self, at: usize, value: T) {
        assert!(at + size_of::<T>() <= self.length, "a structure inside the memory");
        // SAFETY: inside the mapping, and nobody else accesses it meanwhile.
        unsafe { self.start.as_ptr().add(at).cast::<T>().write_unaligned(value) }
    }

    /// A part of the memory, which the kernel must have handed out and no thread writes meanwhile; none beyond the end.
    pub(super) fn part(&self, at: usize, length: usize) -> Option<&[u8]> {
        let end = at.checked_add(length)?;
        // SAFETY: inside the mapping, and nobody writes there.
        (end <= self.length)
            .then(|| unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), length) })
    }

    /// Copies bytes to a place that the kernel must have handed out, and no other thread has.
    pub(super) fn copy(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.length, "bytes inside the memory");
        // SAFETY: inside the mapping, nobody else accesses it meanwhile, and `bytes` is other memory.
        unsafe { self.start.as_ptr().add(at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// A part of the memory, which the kernel must have handed out; none beyond the end.
    pub(super) fn bytes(&mut self, at: usize, length: usize) -> Option<&mut [u8]> {
        let end = at.checked_add(length)?;
        // SAFETY: inside the mapping, and `self` is borrowed. The kernel leaves alone what it has handed out.
        (end <= self.length)
            .then(|| unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), length) })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is as it was made, and nothing borrows it any more.
        let result = unsafe { munmap(self.start.cast(), self.length) };
        debug_assert_eq!(result, Ok(()), "a mapping of this length was made");
    }
}

/// Integers, and structures of them alone.
///
/// # Safety
/// Every pattern of bits is a value.
pub(super) unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for u64 {}

/// Takes over what the other side wrote before it wrote this word.
pub(super) fn acquire(word: &AtomicU32) -> u32 {
    word.load(Ordering::Acquire)
}

/// Hands over what this side wrote before.
pub(super) fn release(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
}
