//! Calendar of events, by time; entries of the same time come in the order in which they were added.
//!
//! An entry is noted once and for all, or belongs to a [`Timer`], which can be set to another time and stopped.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use dumper::Nanos;

/// The sooner of two times, each of which may never come.
#[inline]
pub(super) fn sooner(one: Option<Nanos>, other: Option<Nanos>) -> Option<Nanos> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Things to do, each at its time.
#[derive(Debug)]
pub(super) struct Agenda<T> {
    /// The first one is never of a stopped timer.
    heap: BinaryHeap<Reverse<Entry<T>>>,
    /// Entries that were noted in the order of their times, as those of things that take equally long are: thousands of packets
    /// can be on a long path.
    line: VecDeque<(Key, T)>,
    slots: Vec<Slot<T>>,
    /// Slots that no timer has.
    free: Vec<Timer>,
    noted: u64,
}

/// A timer, which runs if it is set and has neither expired nor been stopped since. One that was never set takes no room in
/// the agenda.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Timer(Option<u32>);

/// State of a timer.
#[derive(Debug)]
struct Slot<T> {
    /// Its expiry, and what is to do then.
    set: Option<(Key, T)>,
    /// Its entry in the heap, at its expiry or sooner: it is moved when it becomes the first one, so that a timer
    /// that always starts again before it expires costs little.
    queued: Option<Key>,
}

/// Place of an entry among all: its time, and the number of entries before it.
type Key = (Nanos, u64);

#[derive(Debug)]
struct Entry<T> {
    key: Key,
    what: What<T>,
}

#[derive(Debug)]
enum What<T> {
    Noted(T),
    Timer(u32),
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T> Agenda<T> {
    /// An agenda with nothing in it.
    pub(super) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), line: VecDeque::new(), slots: Vec::new(), free: Vec::new(), noted: 0 }
    }

    /// Adds an entry for a time.
    pub(super) fn note(&mut self, at: Nanos, what: T) {
        let key = self.next_key(at);
        if self.line.back().is_none_or(|(last, _)| *last < key) {
            self.line.push_back((key, what));
        } else {
            self.heap.push(Reverse(Entry { key, what: What::Noted(what) }));
        }
    }

    /// Sets a timer to a time, whether it runs or not. One that is set to this time already keeps its turn.
    #[inline]
    pub(super) fn set(&mut self, timer: &mut Timer, at: Nanos, what: T) {
        let number = self.number(timer);
        if let Some(((set, _), action)) = &mut self.slots[number as usize].set
            && *set == at
        {
            *action = what;
            return;
        }
        let key = self.next_key(at);
        let slot = &mut self.slots[number as usize];
        slot.set = Some((key, what));
        if slot.queued.is_none_or(|queued| key < queued) {
            slot.queued = Some(key);
            self.heap.push(Reverse(Entry { key, what: What::Timer(number) }));
        }
    }

    /// Stops a timer, if it runs.
    pub(super) fn stop(&mut self, timer: Timer) {
        if let Some(number) = timer.0
            && self.slots[number as usize].set.take().is_some()
        {
            self.settle(Nanos::ZERO);
        }
    }

    /// Stops a timer that will not be set again: its room is for another.
    pub(super) fn retire(&mut self, timer: Timer) {
        self.stop(timer);
        if timer.0.is_some() {
            self.free.push(timer);
        }
    }

    /// Time at which a timer expires, while it runs.
    #[inline]
    pub(super) fn expiry(&self, timer: Timer) -> Option<Nanos> {
        let ((at, _), _) = self.slots[timer.0? as usize].set.as_ref()?;
        Some(*at)
    }

    /// The time of the next thing to do, or an earlier one, to which a timer was set before.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Nanos> {
        let heap = self.first_of_heap();
        let first = match self.line.front() {
            Some((line, _)) => heap.map_or(*line, |heap| heap.min(*line)),
            None => heap?,
        };
        Some(first.0)
    }

    #[inline]
    fn first_of_heap(&self) -> Option<Key> {
        self.heap.peek().map(|Reverse(entry)| entry.key)
    }

    /// The next thing to do, if its time has come.
    #[inline]
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<T> {
        if !self.heap.is_empty() {
            return self.take_due_of_both(now);
        }
        let ((at, _), _) = self.line.front()?;
        if *at > now { None } else { self.line.pop_front().map(|(_, what)| what) }
    }

    /// The same, where entries are in the heap too.
    fn take_due_of_both(&mut self, now: Nanos) -> Option<T> {
        if self.next_at()? > now {
            return None;
        }
        self.settle(now);
        if self.next_at()? > now {
            return None;
        }
        if let Some((line, _)) = self.line.front()
            && self.first_of_heap().is_none_or(|heap| *line < heap)
        {
            return self.line.pop_front().map(|(_, what)| what);
        }
        let Reverse(first) = self.heap.pop()?;
        let what = match first.what {
            What::Noted(what) => Some(what),
            What::Timer(number) => {
                let slot = &mut self.slots[number as usize];
                slot.queued = None;
                slot.set.take().map(|(_, what)| what)
            }
        };
        self.settle(Nanos::ZERO);
        what
    }

    fn next_key(&mut self, at: Nanos) -> Key {
        self.noted += 1;
        (at, self.noted)
    }

    /// The slot of a timer, which it gets the first time.
    fn number(&mut self, timer: &mut Timer) -> u32 {
        if timer.0.is_none() {
            *timer = self.free.pop().unwrap_or_else(|| {
                self.slots.push(Slot { set: None, queued: None });
                Timer(Some(self.slots.len() as u32 - 1))
            });
        }
        timer.0.unwrap_or_default()
    }

    /// Takes stopped timers out of the front, and moves those that were set to a later time, once the old one has come.
    fn settle(&mut self, now: Nanos) {
        while let Some(Reverse(Entry { key, what: What::Timer(number) })) = self.heap.peek() {
            let slot = &mut self.slots[*number as usize];
            let set = slot.set.as_ref().map(|(set, _)| *set);
            if set == Some(*key) || set.is_some() && key.0 > now {
                return;
            }
            // A timer that was set to an earlier time has another entry for that.
            let is_its_entry = slot.queued == Some(*key);
            if is_its_entry {
                slot.queued = set;
            }
            let Some(mut first) = self.heap.peek_mut() else { return };
            match set {
                Some(later) if is_its_entry => first.0.key = later,
                _ => drop(PeekMut::pop(first)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// All that is to do, with its time.
    fn all(agenda: &mut Agenda<char>) -> Vec<(u64, char)> {
        let mut done = Vec::new();
        while let Some(at) = agenda.next_at() {
            assert!(agenda.take_due(Nanos(at.0.wrapping_sub(1))).is_none() || at == Nanos::ZERO);
            done.extend(agenda.take_due(at).map(|what| (at.0, what)));
        }
        done
    }

    #[test]
    fn entries_of_one_time_come_in_their_order() {
        let mut agenda = Agenda::new();
        let mut timer = Timer::default();
        agenda.note(Nanos(5), 'b');
        agenda.set(&mut timer, Nanos(5), 'c');
        agenda.note(Nanos(3), 'a');
        agenda.note(Nanos(5), 'd');
        assert_eq!(all(&mut agenda), [(3, 'a'), (5, 'b'), (5, 'c'), (5, 'd')]);
    }

    proptest! {
        /// Against a sorted list, while entries are noted and taken in turn.
        #[test]
        fn noted_entries_come_by_time_and_then_in_their_order(steps in vec((0_u64..40, any::<bool>()), 0..200)) {
            let mut agenda = Agenda::new();
            let (mut expected, mut now) = (Vec::new(), 0);
            for (number, (after, takes)) in steps.into_iter().enumerate() {
                agenda.note(Nanos(now + after), number);
                expected.push((now + after, number));
                if takes {
                    expected.sort_unstable();
                    let (at, first) = expected.remove(0);
                    now = at.max(now);
                    prop_assert_eq!(agenda.next_at(), Some(Nanos(at)));
                    prop_assert_eq!(agenda.take_due(Nanos(now)), Some(first));
                }
            }
        }
    }

    #[test]
    fn a_timer_expires_once_at_the_time_that_it_was_set_to_last() {
        let mut agenda = Agenda::new();
        let (mut one, mut other) = (Timer::default(), Timer::default());
        for at in [5, 9, 7, 2, 8] {
            agenda.set(&mut one, Nanos(at), 'x');
        }
        agenda.set(&mut other, Nanos(4), 'y');
        assert_eq!(agenda.expiry(one), Some(Nanos(8)));
        assert_eq!(all(&mut agenda), [(4, 'y'), (8, 'x')]);
        assert_eq!(agenda.expiry(one), None);
        agenda.set(&mut one, Nanos(1), 'z');
        assert_eq!(all(&mut agenda), [(1, 'z')]);
    }

    #[test]
    fn a_stopped_timer_does_not_expire() {
        let mut agenda = Agenda::new();
        let mut timer = Timer::default();
        agenda.stop(timer);
        agenda.set(&mut timer, Nanos(5), 'x');
        agenda.stop(timer);
        assert_eq!((agenda.next_at(), agenda.expiry(timer)), (None, None));
        agenda.set(&mut timer, Nanos(5), 'y');
        agenda.note(Nanos(1), 'a');
        agenda.retire(timer);
        let mut next = Timer::default();
        agenda.set(&mut next, Nanos(9), 'z');
        assert_eq!(all(&mut agenda), [(1, 'a'), (9, 'z')]);
    }
}
