//! Time of packets on the slowest links and NICs.

use dumper::Nanos;

use crate::thresholds::{SLOWEST_LINK_NS_PER_KB, SLOWEST_SENDER};

/// Bytes of Ethernet's check sequence, preamble and gap between frames (IEEE 802.3), which no frame's length counts.
const FRAME_GAP: u64 = 24;

/// Longest time of a packet, in the slowest NIC and on the slowest link.
pub(crate) fn takes(frame_len: u32) -> Nanos {
    SLOWEST_SENDER + on_the_slowest_link(frame_len)
}

/// The same where the sender can count on so many percent of the link only, and is held to them.
pub(crate) fn takes_of(percent: f64, frame_len: u32) -> Nanos {
    SLOWEST_SENDER + Nanos((on_the_slowest_link(frame_len).0 as f64 * 100.0 / percent).ceil() as u64)
}

/// Time of a packet on the slowest link.
pub(crate) fn on_the_slowest_link(frame_len: u32) -> Nanos {
    link_time(1, u64::from(frame_len))
}

/// Time of packets of so many bytes in all on the slowest link.
pub(crate) const fn link_time(packets: u64, bytes: u64) -> Nanos {
    Nanos((bytes + packets * FRAME_GAP).saturating_mul(SLOWEST_LINK_NS_PER_KB).div_ceil(1_000))
}

/// The queue in front of a host, if its link and its NIC are the slowest.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlowestQueue {
    free: Nanos,
}

impl SlowestQueue {
    /// A packet leaves the switch: when it is through, and whether it met no other one.
    #[inline]
    pub(crate) fn take(&mut self, left: Nanos, frame_len: u32) -> (Nanos, bool) {
        let alone = self.free <= left;
        self.free = self.free.max(left) + takes(frame_len);
        (self.free, alone)
    }
}
