//! The registers of one flow: ITER, control packets seen.

use corpus::ControlPacket;

use crate::Rounds;

/// Occurrence that never comes: events name none beyond [`corpus::config::LAST_OCCURRENCE`], and the counters stop
/// one below it.
const NEVER: u32 = u32::MAX;

/// State of one direction of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    /// ITER.
    pub(crate) rounds: Rounds,
    /// True if any entry names data packets of the flow.
    pub(crate) armed: bool,
    /// By [`ControlPacket`].
    control: [Occurrences; ControlPacket::NAMES.len()],
}

/// Counter of one kind of control packets.
#[derive(Clone, Copy, Debug)]
struct Occurrences {
    seen: u32,
    /// The next occurrence that an entry names.
    next: u32,
}

impl Registers {
    /// Before the first packet of a flow.
    pub(crate) const fn new(rounds: Rounds) -> Self {
        let idle = Occurrences { seen: 0, next: NEVER };
        Self { rounds, armed: false, control: [idle; ControlPacket::NAMES.len()] }
    }

    /// Counts a control packet; its number if an entry names it. The caller then says with
    /// [`wait_for`](Self::wait_for) which one comes next.
    #[inline]
    pub(crate) fn count(&mut self, packet: ControlPacket) -> Option<u32> {
        let counter = &mut self.control[packet as usize];
        counter.seen = (counter.seen + 1).min(NEVER - 1);
        if counter.seen != counter.next {
            return None;
        }
        counter.next = NEVER;
        Some(counter.seen)
    }

    /// An entry names this occurrence, which is still to come.
    pub(crate) fn wait_for(&mut self, packet: ControlPacket, occurrence: u32) {
        let next = &mut self.control[packet as usize].next;
        *next = occurrence.min(*next);
    }
}
