//! A queue of a device, in the memory of its guest (virtio 1.2, 2.7).

use std::io::{self, Read as _, Write as _};
use std::sync::atomic::Ordering;

use virtio_queue::{Queue, QueueOwnedT as _, QueueT as _};
use vm_memory::{Bytes as _, GuestAddress, GuestMemoryMmap};

/// Memory of a guest.
pub(super) type Memory = GuestMemoryMmap<()>;

/// Most descriptors of a queue, as in the kernel's driver.
const LARGEST: u16 = 256;
/// Flag of the ring of available buffers: no interrupt, please.
const NO_INTERRUPT: u16 = 1;

/// A queue.
#[derive(Debug)]
pub(in crate::uml) struct Ring(Queue);

impl Ring {
    pub(super) fn new() -> io::Result<Self> {
        Queue::new(LARGEST).map(Self).map_err(io::Error::other)
    }

    pub(super) fn set_size(&mut self, size: u32) {
        self.0.set_size(u16::try_from(size).unwrap_or(0));
    }

    pub(super) fn set_base(&mut self, base: u32) {
        self.0.set_next_avail(base as u16);
        self.0.set_next_used(base as u16);
    }

    pub(super) fn base(&self) -> u32 {
        self.0.next_avail().into()
    }

    pub(super) fn set_addresses(&mut self, descriptors: u64, used: u64, available: u64) -> io::Result<()> {
        self.0.try_set_desc_table_address(GuestAddress(descriptors)).map_err(io::Error::other)?;
        self.0.try_set_used_ring_address(GuestAddress(used)).map_err(io::Error::other)?;
        self.0.try_set_avail_ring_address(GuestAddress(available)).map_err(io::Error::other)
    }

    pub(super) fn set_ready(&mut self, ready: bool) {
        self.0.set_ready(ready);
    }

    /// Takes the next buffer that the guest has filled; no longer than `most` bytes.
    pub(super) fn take(&mut self, memory: &Memory, most: usize) -> io::Result<Option<Vec<u8>>> {
        if !self.0.ready() {
            return Ok(None);
        }
        let Some(chain) = self.0.iter(memory).map_err(io::Error::other)?.next() else { return Ok(None) };
        let head = chain.head_index();
        let mut bytes = Vec::new();
        let reader = chain.reader::<()>(memory).map_err(io::Error::other)?;
        reader.take(most as u64).read_to_end(&mut bytes)?;
        self.0.add_used(memory, head, 0).map_err(io::Error::other)?;
        Ok(Some(bytes))
    }

    /// Fills buffers of the guest with bytes, one after the other. Where all of them have less room together, or
    /// more than `most` would be needed, nothing is taken. `first` may change the bytes when their number is known.
    pub(super) fn put(
        &mut self,
        memory: &Memory,
        bytes: &mut [u8],
        most: usize,
        first: impl FnOnce(&mut [u8], u16),
    ) -> io::Result<bool> {
        if !self.0.ready() {
            return Ok(false);
        }
        let before = self.0.next_avail();
        let (mut buffers, mut room) = (Vec::new(), 0);
        for chain in self.0.iter(memory).map_err(io::Error::other)? {
            let head = chain.head_index();
            let writer = chain.writer::<()>(memory).map_err(io::Error::other)?;
            room += writer.available_bytes();
            buffers.push((head, writer));
            if room >= bytes.len() || buffers.len() == most {
                break;
            }
        }
        if room < bytes.len() {
            self.0.set_next_avail(before);
            return Ok(false);
        }
        first(bytes, buffers.len() as u16);
        let mut rest = &*bytes;
        for (head, mut writer) in buffers {
            let (now, later) = rest.split_at(rest.len().min(writer.available_bytes()));
            writer.write_all(now)?;
            rest = later;
            self.0.add_used(memory, head, now.len() as u32).map_err(io::Error::other)?;
        }
        Ok(true)
    }

    /// Asks the guest for no notifications of buffers.
    pub(super) fn want_no_notifications(&mut self, memory: &Memory) -> io::Result<()> {
        self.0.disable_notification(memory).map_err(io::Error::other)
    }

    /// Returns true if the guest wants interrupts of this queue. (The library leaves that flag out.)
    pub(super) fn wants_interrupts(&self, memory: &Memory) -> io::Result<bool> {
        let flags: u16 =
            memory.load(GuestAddress(self.0.avail_ring()), Ordering::Acquire).map_err(io::Error::other)?;
        Ok(u16::from_le(flags) & NO_INTERRUPT == 0)
    }
}
