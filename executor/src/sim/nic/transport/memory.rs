//! The memory that messages are read from and written to, by address only.
//!
//! Message m of a QP lives at the same address at both hosts, so that a byte is where it belongs exactly if its
//! content (the address that it was read from) is the address that it is written to.

/// Memory of one QP's messages at one host.
#[derive(Debug)]
pub(in crate::sim) struct Memory {
    /// Distance of two messages, in bytes.
    stride: u64,
    messages: u32,
    /// Bytes written of each message.
    written: Vec<Written>,
}

/// Bytes written to a message's memory.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Written {
    /// Bytes, repeated ones counted again.
    pub(in crate::sim) bytes: u64,
    /// True if some bytes were wrong for their place.
    pub(in crate::sim) wrong: bool,
}

/// Address of the first message.
const BASE: u64 = 0x7f00_0000_0000;

/// Remote key of every memory region: an arbitrary number, as every key is.
pub(super) const REMOTE_KEY: u32 = 0x0001_1a2b;

/// Messages start at multiples of this, as a memory allocator would have it.
const ALIGNMENT: u64 = 64;

impl Memory {
    pub(in crate::sim) const fn new(messages: u32, message_size: u32) -> Self {
        let stride = (message_size as u64 + 1).next_multiple_of(ALIGNMENT);
        Self { stride, messages, written: Vec::new() }
    }

    /// Address of a message, from 0.
    pub(in crate::sim) const fn address(&self, message: u32) -> u64 {
        BASE + message as u64 * self.stride
    }

    /// The message whose memory an address is in.
    pub(in crate::sim) const fn message_at(&self, address: u64) -> u32 {
        (address.saturating_sub(BASE) / self.stride) as u32
    }

    /// Returns true if bytes from an address on are inside the host's registered memory.
    pub(in crate::sim) fn holds(&self, address: u64, bytes: u32) -> bool {
        let end = self.address(self.messages);
        address >= BASE && address.checked_add(bytes.into()).is_some_and(|after| after <= end)
    }

    /// Writes bytes with this content to an address, which is in the memory of a message. Nothing is written outside of
    /// all messages.
    #[inline(always)]
    pub(in crate::sim) fn write(&mut self, message: u32, address: u64, content: u64, bytes: u32) {
        if message >= self.messages {
            return;
        }
        let message = message as usize;
        if self.written.len() <= message {
            self.written.resize(message + 1, Written::default());
        }
        let written = &mut self.written[message];
        written.bytes += u64::from(bytes);
        written.wrong |= address != content;
    }

    /// Bytes written, by message.
    pub(in crate::sim) fn written(&self) -> &[Written] {
        &self.written
    }
}
