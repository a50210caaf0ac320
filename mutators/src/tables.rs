//! Flow tables, as targets vary them: the same at each host that has one.

use corpus::{NamedPlacement, Offload, Placement, Role, TestConfig};

use crate::words;

/// The word for the hosts that have a table.
pub(crate) fn hosts(test: &TestConfig) -> u64 {
    u64::from(test.requester.offload.is_some()) + 2 * u64::from(test.responder.offload.is_some())
}

/// Has the hosts of a word, and no other, have a table, with what the table of another one has.
pub(crate) fn set_hosts(test: &mut TestConfig, word: u64) {
    let table = table(test).cloned().unwrap_or_default();
    for (role, bit) in Role::ALL.into_iter().zip([words::AT_REQUESTER, words::AT_RESPONDER]) {
        test.host_mut(role).offload = (word & bit != 0).then(|| table.clone());
    }
}

/// The table of the hosts, if one has one.
pub(crate) fn table(test: &TestConfig) -> Option<&Offload> {
    test.tables().next()
}

/// A number of the table, or the default.
pub(crate) fn get(test: &TestConfig, of: impl Fn(&Offload) -> u64) -> u64 {
    table(test).map_or_else(|| of(&Offload::default()), &of)
}

/// Changes each table.
pub(crate) fn set(test: &mut TestConfig, change: impl Fn(&mut Offload)) {
    for role in Role::ALL {
        test.host_mut(role).offload.iter_mut().for_each(&change);
    }
}

/// The number of tables of a chain; rules between them are none of a space.
pub(crate) fn chain(table: &Offload) -> u64 {
    if table.rules.is_empty() { table.tables.into() } else { 0 }
}

/// The word of a placement; a list is none of them.
pub(crate) fn of_place(place: &Placement) -> u64 {
    place.named().map_or(words::PLACES.len() as u64, |named| named as u64)
}

/// The placement of a word.
pub(crate) fn place(word: u64) -> Placement {
    words::named(NamedPlacement::NAMES, word).into()
}
