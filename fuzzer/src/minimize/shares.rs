//! Traffic classes that a host serves, and their shares: fewer of them, all alike, and the first ones.

use corpus::config::fields;
use corpus::{Ets, Host, TrafficClass};

/// Classes that a host serves, in order.
fn served(ets: &Ets) -> impl Iterator<Item = u8> + '_ {
    (0..=fields::TRAFFIC_CLASS.max as u8).filter(|class| ets.serves(*class))
}

/// The first class that a host serves.
fn first(ets: &Ets) -> Option<u8> {
    served(ets).next()
}

/// Returns true if a host serves a class, and one before it.
pub(super) fn is_further(host: &Host, class: u8) -> bool {
    host.ets.as_ref().is_some_and(|ets| ets.serves(class) && first(ets) < Some(class))
}

/// Removes a class from a host; its QPs are in the first one then, and classes after it have the numbers before theirs.
pub(super) fn take_away(host: &mut Host, class: u8) {
    let Some(ets) = &mut host.ets else { return };
    let Some(first) = first(ets) else { return };
    ets.strict.retain(|strict| *strict != class);
    if let Some(weight) = ets.weights.get_mut(usize::from(class)) {
        *weight = 0;
    }
    members(&mut host.traffic_class).iter_mut().filter(|one| **one == class).for_each(|one| *one = first);
    close_gaps(host);
}

/// Classes of the QPs.
fn members(classes: &mut Option<TrafficClass>) -> &mut [u8] {
    match classes {
        Some(TrafficClass::Same(class)) => std::slice::from_mut(class),
        Some(TrafficClass::PerConnection(list)) => list,
        None => &mut [],
    }
}

/// Returns true if a host serves a class, and one before it not.
pub(super) fn has_gaps(host: &Host) -> bool {
    host.ets.as_ref().is_some_and(|ets| served(ets).zip(0..).any(|(class, at)| class != at))
}

/// Gives the classes that a host serves the first numbers, in the same order.
pub(super) fn close_gaps(host: &mut Host) {
    let Some(ets) = &mut host.ets else { return };
    let classes: Vec<u8> = served(ets).collect();
    let place = |class: u8| classes.iter().position(|one| *one == class).map(|at| at as u8);
    members(&mut host.traffic_class).iter_mut().for_each(|class| *class = place(*class).unwrap_or(*class));
    ets.weights =
        classes.iter().map(|class| ets.weights.get(usize::from(*class)).copied().unwrap_or(0)).collect();
    ets.strict.iter_mut().for_each(|class| *class = place(*class).unwrap_or(*class));
    // None is given at the end of the list.
    let weighted = ets.weights.iter().rposition(|weight| *weight > 0).map_or(0, |last| last + 1);
    ets.weights.truncate(weighted);
}

/// Number of classes of a host that have strict priority.
pub(super) fn strict_classes(host: &Host) -> u64 {
    host.ets.as_ref().map_or(0, |ets| ets.strict.len() as u64)
}

/// Leaves strict priority to so many classes of a host; the others get a weight.
pub(super) fn keep_strict(host: &mut Host, count: u64) {
    let Some(ets) = &mut host.ets else { return };
    let weight = weights(ets).next().unwrap_or(fields::ETS_WEIGHT.max as u8);
    for class in ets.strict.split_off(count as usize) {
        let at = usize::from(class);
        ets.weights.resize(ets.weights.len().max(at + 1), 0);
        ets.weights[at] = weight;
    }
}

/// Returns true if two classes of a host have different weights.
pub(super) fn has_unequal_weights(host: &Host) -> bool {
    host.ets.as_ref().is_some_and(|ets| weights(ets).any(|weight| Some(weight) != weights(ets).next()))
}

/// Gives all classes of a host that have a weight the first one's.
pub(super) fn make_weights_equal(host: &mut Host) {
    let Some(ets) = &mut host.ets else { return };
    let first = weights(ets).next().unwrap_or_default();
    ets.weights.iter_mut().filter(|weight| **weight > 0).for_each(|weight| *weight = first);
}

/// Weights of the classes that have one.
fn weights(ets: &Ets) -> impl Iterator<Item = u8> + '_ {
    ets.weights.iter().copied().filter(|weight| *weight > 0)
}
