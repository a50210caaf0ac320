//! Packets that a dumper did not keep.

use super::proto;

/// Packets that came to a dumper, or should have, and that it did not keep. Nothing is lost without being counted here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Its memory for packets was full.
    pub no_room: u64,
    /// The system had no room to hand them over: the dumper was too slow.
    pub ring: u64,
    /// The interface dropped frames, which may have been others.
    pub interface: u64,
    /// They have no mirror sequence number, so that no switch has mirrored them.
    pub foreign: u64,
}

impl Losses {
    /// The sum of both.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self {
            no_room: self.no_room + more.no_room,
            ring: self.ring + more.ring,
            interface: self.interface + more.interface,
            foreign: self.foreign + more.foreign,
        }
    }

    pub(super) const fn message(self) -> proto::Losses {
        let Self { no_room, ring, interface, foreign } = self;
        proto::Losses { no_room, ring, interface, foreign }
    }

    pub(super) fn of(message: Option<&proto::Losses>) -> Self {
        message.map_or_else(Self::default, |message| Self {
            no_room: message.no_room,
            ring: message.ring,
            interface: message.interface,
            foreign: message.foreign,
        })
    }
}
