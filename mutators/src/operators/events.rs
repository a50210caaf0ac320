//! Operators on events and their progressions.

use corpus::{Action, Event, Progression, SetField, Target};
use rand::RngExt;

use super::traffic::operators;
use super::{Applied, Bench, Operator};
use crate::axis::Axis;
use crate::draw;
use crate::settle::operands;

operators! {
    "event-add" 2.0 "One event more, often on the connections of the last one." |on| {
        let room = on.test.events.len() < on.space.max_entries();
        if room {
            draw::add_event(on.space, on.test, on.rng);
        }
        room.into()
    };
    "event-remove" 1.0 "One event fewer." |on| on.pick().map(|at| drop(on.test.events.remove(at))).is_some().into();
    "event-copy" 1.0 "The same again, to another packet." |on| on.again(|on, event| {
        event.target = draw::target(on.space, on.test, on.rng);
    });
    "event-repeat" 1.0 "The same again, to the next transmission or occurrence of its packet." |on| {
        on.again(|_, event| match &mut event.target {
            Target::Data { iter, .. } => *iter += 1,
            Target::Control { nth, .. } => *nth += 1,
        })
    };
    "event-rounds" 1.0 "The same again, in all of the next transmissions that its packet may have." |on| on.rounds();
    "packet" 1.0 "Another packet." |on| on.change(|on, event| event.target = draw::target(on.space, on.test, on.rng));
    "packet-near" 1.0 "A packet up to four further or nearer." |on| on.near();
    "packet-beside" 0.5 "The packet before or behind that of another event." |on| on.beside();
    "packet-first" 0.5 "The first packet of a message." |on| on.in_message(|first, _| first);
    "packet-middle" 0.5 "A packet in the middle of a message." |on| on.in_message(|first, last| first + (last - first) / 2);
    "packet-last" 0.5 "The last packet of a message." |on| on.in_message(|_, last| last);
    "packet-same-place" 0.5 "The same place of another message." |on| on.same_place();
    "iter" 1.0 "Another round of transmission, or another occurrence." |on| on.round();
    "action" 1.0 "Another action." |on| on.change(|on, event| event.action = draw::action(on.space, on.rng));
    "operand" 1.0 "Another operand of the action." |on| on.operand();
    "progression" 0.5 "Every k-th packet, or one only." |on| on.change(|on, event| {
        event.progression = draw::progression(on.space, on.rng);
    });
    "progression-every" 1.0 "Another step of a progression." |on| on.progression(|on, progression| {
        let other = on.space[Axis::Every].other(progression.every.into(), on.rng);
        other.map(|every| progression.every = every as u32).is_some()
    });
    "progression-count" 1.0 "A longer or shorter progression." |on| on.progression(|on, progression| {
        let Some(count) = &mut progression.count else { return false };
        let other = on.space[Axis::Count].other((*count).into(), on.rng);
        other.map(|other| *count = other as u32).is_some()
    });
}

impl Bench<'_> {
    /// Any event.
    pub(super) fn pick(&mut self) -> Option<usize> {
        let count = self.test.events.len();
        (count > 0).then(|| self.rng.random_range(0..count))
    }

    /// Changes any event.
    fn change(&mut self, change: impl FnOnce(&mut Self, &mut Event)) -> Applied {
        let Some(at) = self.pick() else { return Applied::NotApplicable };
        let mut event = self.test.events[at].clone();
        change(self, &mut event);
        let changed = event != self.test.events[at];
        self.test.events[at] = event;
        changed.into()
    }

    /// Adds any event again, changed.
    fn again(&mut self, change: impl FnOnce(&mut Self, &mut Event)) -> Applied {
        let Some(at) = self.pick() else { return Applied::NotApplicable };
        if self.test.events.len() >= self.space.max_entries() {
            return Applied::NotApplicable;
        }
        let mut event = self.test.events[at].clone();
        change(self, &mut event);
        self.test.events.push(event);
        Applied::Changed
    }

    /// Adds any event on data again for rounds of transmission after its own, as many as the space draws.
    fn rounds(&mut self) -> Applied {
        let Some(at) = self.pick() else { return Applied::NotApplicable };
        let event = self.test.events[at].clone();
        let before = self.test.events.len();
        draw::in_rounds(self.space, self.test, &event, self.rng);
        (self.test.events.len() > before).into()
    }

    /// Moves any event on data to another packet; `to` is given the one it is on.
    fn move_to(&mut self, to: impl FnOnce(&mut Self, u32) -> Option<u32>) -> Applied {
        self.change(|on, event| {
            if let Target::Data { psn, .. } = event.target
                && let Some(other) = to(on, psn)
                && let Target::Data { psn, .. } = &mut event.target
            {
                *psn = other;
            }
        })
    }

    fn near(&mut self) -> Applied {
        self.move_to(|on, psn| {
            let distance = on.rng.random_range(1..=4);
            Some(if on.rng.random_ratio(1, 2) {
                psn.saturating_add(distance)
            } else {
                psn.saturating_sub(distance)
            })
        })
    }

    /// Moves any event on data beside the packet of an event: what is lost in a row is recovered at once.
    fn beside(&mut self) -> Applied {
        let Some(other) = self.pick() else { return Applied::NotApplicable };
        let Target::Data { psn: other, .. } = self.test.events[other].target else {
            return Applied::NotApplicable;
        };
        self.move_to(|on, _| {
            let behind = on.rng.random_ratio(1, 2);
            Some(if behind { other.saturating_add(1) } else { other.saturating_sub(1) })
        })
    }

    /// Moves any event on data inside of a message, that of its packet or any.
    fn in_message(&mut self, place: fn(u32, u32) -> u32) -> Applied {
        self.move_to(|on, psn| {
            let shape = on.test.traffic.shape();
            let message = match on.rng.random_ratio(1, 2) {
                true => shape.locate(psn)?.message,
                false => on.rng.random_range(0..on.test.traffic.num_msgs_per_qp),
            };
            let psns = shape.message_psns(message)?;
            Some(place(*psns.start(), *psns.end()))
        })
    }

    fn same_place(&mut self) -> Applied {
        self.move_to(|on, psn| {
            let shape = on.test.traffic.shape();
            let place = shape.locate(psn)?;
            let message = on.rng.random_range(0..on.test.traffic.num_msgs_per_qp);
            Some(*shape.message_psns(message)?.start() + place.packet)
        })
    }

    fn round(&mut self) -> Applied {
        self.change(|on, event| {
            let (axis, number) = match &mut event.target {
                Target::Data { iter, .. } => (Axis::Iter, iter),
                Target::Control { nth, .. } => (Axis::Nth, nth),
            };
            if let Some(other) = on.space[axis].other((*number).into(), on.rng) {
                *number = other as u32;
            }
        })
    }

    fn operand(&mut self) -> Applied {
        self.change(|on, event| {
            event.action = match event.action {
                Action::SetField(SetField { field, value }) => {
                    let other = operands(on.space, field).other(value, on.rng);
                    Action::SetField(SetField { field, value: other.unwrap_or(value) })
                }
                action => match (Axis::of_operand(action.kind()), action.operand()) {
                    (Some(axis), Some((_, number))) => {
                        action.with(on.space[axis].other(number, on.rng).unwrap_or(number))
                    }
                    _ => action,
                },
            };
        })
    }

    /// Changes the progression of any event.
    fn progression(&mut self, change: impl FnOnce(&mut Self, &mut Progression) -> bool) -> Applied {
        self.change(|on, event| {
            if let Some(mut progression) = event.progression
                && change(on, &mut progression)
            {
                event.progression = Some(progression);
            }
        })
    }
}
