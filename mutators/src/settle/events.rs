//! Events.

use corpus::config::fields;
use corpus::{Action, ConnectionSet, Event, HeaderField, Progression, SetField, Target, TestConfig};

use crate::axis::Axis;
use crate::space::Space;
use crate::values::Values;
use crate::words;

pub(super) fn fit(space: &Space, test: &mut TestConfig) {
    let mut events = std::mem::take(&mut test.events);
    events.retain_mut(|event| fit_event(space, test, event));
    events.truncate(space.max_entries());
    if space.innocent() {
        let connections = test.traffic.load.connections();
        if spare(&events, connections).is_none() {
            // The last one, as sets are mostly the first ones.
            events.retain_mut(|event| leave_out(&mut event.connections, connections));
        }
    }
    test.events = events;
}

/// Mends one event by itself; whether something is left of it.
pub(crate) fn fit_event(space: &Space, test: &TestConfig, event: &mut Event) -> bool {
    if !space[Axis::Action].contains(words::of_action(event.action))
        || !space[Axis::Packet].contains(words::of_target(event.target))
    {
        return false;
    }
    event.action = fit_operand(space, event.action);
    let packets = u32::try_from(test.traffic.shape().known_packets()).unwrap_or(u32::MAX);
    event.target = match event.target {
        Target::Data { psn, iter } => {
            Target::Data { psn: psn.clamp(1, packets), iter: space[Axis::Iter].nearest(iter.into()) as u32 }
        }
        Target::Control { packet, nth } => {
            Target::Control { packet, nth: space[Axis::Nth].nearest(nth.into()) as u32 }
        }
    };
    fit_progression(space, event, packets) && fit_set(space, test.traffic.load.connections(), event)
}

fn fit_operand(space: &Space, action: Action) -> Action {
    match action {
        Action::SetField(SetField { field, value }) => {
            let field = words::header_field(space[Axis::Field].nearest(field as u64));
            Action::SetField(SetField { field, value: operands(space, field).nearest(value) })
        }
        action => match (Axis::of_operand(action.kind()), action.operand()) {
            (Some(axis), Some((_, number))) => action.with(space[axis].nearest(number)),
            _ => action,
        },
    }
}

/// Operands in the space for a header field.
pub(crate) fn operands(space: &Space, field: HeaderField) -> Values {
    space[Axis::Value].cut(field.largest())
}

/// A progression of an allowed form that ends with the connection, or none.
fn fit_progression(space: &Space, event: &mut Event, packets: u32) -> bool {
    let forms = &space[Axis::Progression];
    let Progression { every, count } = event.progression.unwrap_or(Progression { every: 1, count: Some(1) });
    let every = space[Axis::Every].nearest(every.into()) as u32;
    let most = match event.target {
        Target::Data { psn, .. } => u64::from((packets - psn) / every.max(1) + 1),
        Target::Control { .. } => fields::COUNT.max,
    };
    let counts = &space[Axis::Count];
    let counted = || {
        let wanted = counts.nearest(count.unwrap_or(packets).into()).min(most);
        let count = Some(counts.at_most(wanted)? as u32);
        Some(Some(Progression { every, count }))
    };
    let to_the_end = || Some(Some(Progression { every, count: None }));
    let wanted = words::of_progression(event.progression);
    let made = [wanted, words::SINGLE, words::COUNTED, words::TO_THE_END]
        .into_iter()
        .filter(|form| forms.contains(*form))
        .find_map(|form| match form {
            words::SINGLE => Some(None),
            words::COUNTED => counted(),
            _ => to_the_end(),
        });
    event.progression = made.flatten();
    made.is_some()
}

/// A set of an allowed form with connections that exist.
fn fit_set(space: &Space, connections: u32, event: &mut Event) -> bool {
    let set = &mut event.connections;
    match set {
        ConnectionSet::One(qpn) => *qpn = (*qpn).clamp(1, connections),
        ConnectionSet::First(n) => *n = (*n).clamp(1, connections),
        ConnectionSet::List(list) => list.retain(|qpn| *qpn <= connections),
        ConnectionSet::All => {}
    }
    let forms = &space[Axis::Sets];
    // An event on all connections leaves none innocent.
    let allowed = |form: u64| forms.contains(form) && !(form == words::ALL && space.innocent());
    if !allowed(words::of_set(set)) {
        let count = set.members(connections).count() as u32;
        let one = set.members(connections).next().unwrap_or(1);
        let Some(form) =
            [words::FIRST, words::LIST, words::ALL, words::ONE].into_iter().find(|form| allowed(*form))
        else {
            return false;
        };
        *set = match form {
            words::ONE => ConnectionSet::One(one),
            words::LIST => ConnectionSet::List(set.members(connections).collect()),
            words::FIRST => ConnectionSet::First(count.max(1)),
            _ => ConnectionSet::All,
        };
    }
    set.members(connections).next().is_some()
}

/// The last connection that has no events.
pub(crate) fn spare(events: &[Event], connections: u32) -> Option<u32> {
    (1..=connections).rev().find(|qpn| !events.iter().any(|event| event.connections.contains(*qpn)))
}

/// Takes the last connection out of a set; whether any is left.
fn leave_out(set: &mut ConnectionSet, last: u32) -> bool {
    match set {
        ConnectionSet::One(qpn) if *qpn >= last => *qpn = last - 1,
        ConnectionSet::First(n) => *n = (*n).min(last - 1),
        ConnectionSet::List(list) => list.retain(|qpn| *qpn != last),
        ConnectionSet::One(_) | ConnectionSet::All => {}
    }
    set.members(last - 1).next().is_some()
}
