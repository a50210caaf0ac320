//! Packets that are held until later ones of their flow have left.

use std::collections::VecDeque;

use corpus::{Role, config::fields};
use dumper::Nanos;

use crate::FlowIndex;

/// Longest time that a reordered packet is held for packets that never come: the injector loses only the
/// packets that it is configured to lose. The longest delay that an event may ask for.
pub const MAX_HOLD: Nanos = Nanos(fields::DELAY_NS.max);

/// Handle of a packet that is held; the caller of the pipeline keeps the packet itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket {
    pub(crate) flow: FlowIndex,
    /// Unique in a pipeline, ascending.
    pub(crate) number: u64,
}

/// A packet that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Of its ticket.
    pub(crate) number: u64,
    /// Later packets that have still to leave.
    pub(crate) waits_for: u16,
    /// Packets that leave with it, itself included.
    pub(crate) leaving: u8,
    /// The host that it goes to.
    pub(crate) to: Role,
}

/// The held packets of one flow, in order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue(VecDeque<Held>);

impl Queue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, held: Held) {
        self.0.push_back(held);
    }

    /// Takes out a packet whose time is up; none if it has left.
    pub(crate) fn expire(&mut self, number: u64, mut leave: impl FnMut(Held)) -> Option<Held> {
        let at = self.0.binary_search_by_key(&number, |held| held.number).ok()?;
        let held = self.0.remove(at)?;
        self.overtaken(at, &mut leave);
        Some(held)
    }

    /// Releases the held packets whose turn has come, now that a packet later than all of them has left.
    pub(crate) fn passed(&mut self, mut leave: impl FnMut(Held)) {
        self.overtaken(self.0.len(), &mut leave);
    }

    /// The first `earlier` packets were overtaken by one that left. Those that waited for nothing else leave, the
    /// oldest first, and each has then overtaken the packets before it.
    ///
    /// Only those before a packet that left can have come to their turn: a queue of millions, each of which is held for its
    /// whole time as no packet passes, is not searched for each.
    fn overtaken(&mut self, mut earlier: usize, leave: &mut impl FnMut(Held)) {
        let overtake = |held: &mut Held| held.waits_for = held.waits_for.saturating_sub(1);
        self.0.iter_mut().take(earlier).for_each(overtake);
        while let Some(at) = self.0.iter().take(earlier).position(|held| held.waits_for == 0) {
            self.0.iter_mut().take(at).for_each(overtake);
            self.0.remove(at).into_iter().for_each(&mut *leave);
            earlier -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many that a search of the rest for each would take hours.
    #[test]
    fn a_million_packets_expire_one_after_the_other() {
        const MANY: u64 = 1_000_000;
        let mut queue = Queue::default();
        for number in 0..MANY {
            queue.push(Held { number, waits_for: 3, leaving: 1, to: Role::Responder });
        }
        for number in 0..MANY - 2 {
            let expired = queue.expire(number, |_| panic!("it was overtaken by none"));
            assert_eq!(expired.map(|held| held.number), Some(number));
        }
        // A packet that leaves has overtaken those before it, not those behind.
        let mut left = Vec::new();
        for _ in 0..2 {
            queue.passed(|held| left.push(held.number));
        }
        assert!(left.is_empty());
        queue.passed(|held| left.push(held.number));
        assert_eq!(left, [MANY - 2, MANY - 1]);
        assert!(queue.is_empty());
    }
}
