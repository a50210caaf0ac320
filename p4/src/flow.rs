//! Flows, and the registers of one: ITER, control packets seen.

use corpus::{ControlPacket, Role};

use crate::Rounds;

/// Occurrence that never comes: events name none beyond [`corpus::config::LAST_OCCURRENCE`], and the counters stop
/// one below it.
const NEVER: u32 = u32::MAX;

/// One direction of one connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowIndex(u32);

impl FlowIndex {
    /// The flow towards one end of a connection (from 1).
    pub(crate) const fn new(connection: u32, towards: Role) -> Self {
        Self((connection - 1) * 2 + towards as u32)
    }

    /// Number of its connection, from 1.
    #[must_use]
    pub const fn connection(self) -> u32 {
        self.0 / 2 + 1
    }

    /// The end that its packets go to.
    #[must_use]
    pub const fn towards(self) -> Role {
        if self.0.is_multiple_of(2) { Role::Requester } else { Role::Responder }
    }

    /// It as part of the key of a draw.
    #[inline]
    pub(crate) fn key(self) -> u64 {
        u64::from(self.connection()) << 1 | self.towards() as u64
    }

    /// The flow with this index, which [`index`](Self::index) gives back.
    pub(crate) const fn at(index: u32) -> Self {
        Self(index)
    }

    /// As an index into registers.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The flow whose registers count a kind of control packets. ACKs, NAKs and Read requests are counted on the
    /// flow that carries them. CNPs are counted over the connection, in the registers of its first flow: with
    /// Sends and Reads on one connection they travel both ways, and events name the n-th on the connection.
    #[inline]
    #[must_use]
    pub const fn counts_at(self, packet: ControlPacket) -> Self {
        match packet {
            ControlPacket::Cnp => Self(self.0 & !1),
            ControlPacket::Ack | ControlPacket::Nak | ControlPacket::ReadRequest => self,
        }
    }
}

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
