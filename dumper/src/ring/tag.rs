//! The VLAN tag of a frame, which the system takes out: it is put back.

use nix::libc;

use super::memory::Memory;

/// Bytes of a VLAN tag: room in front of each frame.
pub(super) const TAG: usize = 4;

/// Bytes of the addresses in front of the tag.
const ADDRESSES: usize = 12;

/// Kind of tag where the system does not say (IEEE 802.1Q).
const TPID: u16 = 0x8100;

/// The tag of a frame, as the system tells it.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub(super) status: u32,
    pub(super) tpid: u16,
    pub(super) tci: u16,
}

impl Tag {
    /// A frame of so many bytes with its tag, if it had one; none if it is not inside the memory.
    pub(super) fn put_back(self, memory: &mut Memory, at: usize, length: usize) -> Option<&[u8]> {
        if self.status & libc::TP_STATUS_VLAN_VALID == 0 || length < ADDRESSES {
            return memory.part(at, length);
        }
        let is_told = self.status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let tpid = if is_told { self.tpid } else { TPID };
        let frame = memory.bytes(at.checked_sub(TAG)?, length + TAG)?;
        frame.copy_within(TAG..TAG + ADDRESSES, 0);
        frame[ADDRESSES..ADDRESSES + 2].copy_from_slice(&tpid.to_be_bytes());
        frame[ADDRESSES + 2..ADDRESSES + TAG].copy_from_slice(&self.tci.to_be_bytes());
        Some(frame)
    }
}
