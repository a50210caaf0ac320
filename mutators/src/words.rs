//! Words that a space lists, and the numbers that stand for them: their places in these lists.

use corpus::{
    Action, ActionKind, ConnectionSet, ControlPacket, DummyRule, HeaderField, IterMode, Load, LossDirection,
    LossEffect, LossModel, LossRecovery, NamedPlacement, Operation, PacketKinds, Pattern, Progression,
    RepeatMatch, Scheduler, Spray, SprayPackets, Target, Verb,
};

macro_rules! words {
    ($($(#[$doc:meta])* $list:ident { $($name:ident = $word:literal),* })*) => {
        $(
            $(#[$doc])*
            pub(crate) const $list: &[&str] = &[$($word),*];
            words!(@numbers 0; $($name)*);
        )*
    };
    (@numbers $number:expr; $name:ident $($rest:ident)*) => {
        pub(crate) const $name: u64 = $number;
        words!(@numbers $number + 1; $($rest)*);
    };
    (@numbers $number:expr;) => {};
}

words! {
    /// Verbs, with the forms of [`Load`].
    VERBS {
        WRITE = "write", READ = "read", SEND = "send", ALTERNATING = "send_read", SPLIT = "send_read_split"
    }
    /// Forms of [`ConnectionSet`].
    SETS { ONE = "one", LIST = "list", FIRST = "first", ALL = "all" }
    /// Kinds of [`Target`].
    PACKETS { DATA = "data", ACK = "ack", NAK = "nak", CNP = "cnp", READ_REQUEST = "read-request" }
    /// Hosts that have a flow table; the number of `BOTH` is the sum of those of its hosts.
    TABLES { NOWHERE = "none", AT_REQUESTER = "requester", AT_RESPONDER = "responder", AT_BOTH = "both" }
    /// Forms of [`Progression`].
    PROGRESSIONS { SINGLE = "none", COUNTED = "count", TO_THE_END = "to-the-end" }
}

/// The first parts of pairs.
macro_rules! names {
    ($pairs:expr) => {
        &{
            let mut names = [""; $pairs.len()];
            let mut at = 0;
            while at < names.len() {
                names[at] = $pairs[at].0;
                at += 1;
            }
            names
        }
    };
}

/// [`HeaderField`], in its order.
pub(crate) const FIELDS: &[&str] = names!(HeaderField::NAMES);
/// [`NamedPlacement`], in its order.
pub(crate) const PLACES: &[&str] = NamedPlacement::WORDS;
/// [`Scheduler`], in its order.
pub(crate) const SCHEDULERS: &[&str] = Scheduler::WORDS;
/// [`Operation`], in its order.
pub(crate) const OPERATIONS: &[&str] = names!(Operation::NAMES);
/// [`IterMode`], in its order.
pub(crate) const ITER_MODES: &[&str] = IterMode::WORDS;
/// [`DummyRule`], in its order.
pub(crate) const DUMMY_RULES: &[&str] = DummyRule::WORDS;
/// [`Pattern`], in its order.
pub(crate) const PATTERNS: &[&str] = Pattern::WORDS;
/// [`ActionKind`], in its order.
pub(crate) const ACTIONS: &[&str] = names!(ActionKind::NAMES);
/// Kinds of packets that are lost: all, or one.
pub(crate) const LOST: &[&str] = &["all", "data", "ack", "nak", "cnp", "read-request"];
/// All kinds.
pub(crate) const ANY_KIND: u64 = 0;
/// Data packets alone.
pub(crate) const LOST_DATA: u64 = 1;
/// [`LossModel`], in its order.
pub(crate) const LOSS_MODELS: &[&str] = LossModel::WORDS;
/// [`LossDirection`], in its order.
pub(crate) const LOSS_DIRECTIONS: &[&str] = LossDirection::WORDS;
/// [`LossEffect`], in its order.
pub(crate) const LOSS_EFFECTS: &[&str] = LossEffect::WORDS;
/// [`RepeatMatch`], in its order.
pub(crate) const REPEAT_MATCHES: &[&str] = RepeatMatch::WORDS;
/// [`Spray`], in its order.
pub(crate) const SPRAYS: &[&str] = Spray::WORDS;
/// [`LossRecovery`], in its order.
pub(crate) const LOSS_RECOVERIES: &[&str] = LossRecovery::WORDS;
/// [`SprayPackets`], in its order.
pub(crate) const SPRAYED: &[&str] = SprayPackets::WORDS;
/// The action that every testbed has.
pub(crate) const DROP: u64 = ActionKind::Drop as u64;

/// The kinds of a word of [`LOST`].
pub(crate) fn lost(word: u64) -> PacketKinds {
    let kind = PacketKinds::NAMES.get((word as usize).wrapping_sub(1));
    kind.map_or(PacketKinds::ALL, |(_, kind)| PacketKinds::NONE.with(*kind))
}

/// The word for some kinds; of those that no word says, one that none of the list has.
pub(crate) fn of_lost(kinds: PacketKinds) -> u64 {
    let words = 0..LOST.len() as u64;
    words.clone().find(|word| lost(*word) == kinds).unwrap_or(words.end)
}

/// The value at a place in a list of names; the first one beyond its end.
pub(crate) fn named<T: Copy>(names: &[(&str, T)], place: u64) -> T {
    names.get(place as usize).unwrap_or(&names[0]).1
}

pub(crate) const fn of_load(load: Load) -> u64 {
    match load {
        Load::Same { verb: Verb::Write, .. } => WRITE,
        Load::Same { verb: Verb::Read, .. } => READ,
        Load::Same { verb: Verb::Send, .. } => SEND,
        Load::Alternating { .. } => ALTERNATING,
        Load::Split { .. } => SPLIT,
    }
}

/// The verbs of a word on so many connections; half of a split sends. With one connection there is none left
/// to read, which the repair of the test sees.
pub(crate) fn load(word: u64, connections: u32) -> Load {
    match word {
        READ => Load::Same { verb: Verb::Read, connections },
        SEND => Load::Same { verb: Verb::Send, connections },
        ALTERNATING => Load::Alternating { connections },
        SPLIT => {
            let send = (connections / 2).max(1);
            Load::Split { send, read: connections.saturating_sub(send) }
        }
        _ => Load::Same { verb: Verb::Write, connections },
    }
}

pub(crate) const fn of_set(set: &ConnectionSet) -> u64 {
    match set {
        ConnectionSet::One(_) => ONE,
        ConnectionSet::List(_) => LIST,
        ConnectionSet::First(_) => FIRST,
        ConnectionSet::All => ALL,
    }
}

pub(crate) const fn of_target(target: Target) -> u64 {
    match target {
        Target::Data { .. } => DATA,
        Target::Control { packet: ControlPacket::Ack, .. } => ACK,
        Target::Control { packet: ControlPacket::Nak, .. } => NAK,
        Target::Control { packet: ControlPacket::Cnp, .. } => CNP,
        Target::Control { packet: ControlPacket::ReadRequest, .. } => READ_REQUEST,
    }
}

/// The word of a kind of packets.
pub(crate) fn packet(name: &str) -> Option<u64> {
    PACKETS.iter().position(|word| *word == name).map(|at| at as u64)
}

/// The control packet of a word; none is data.
pub(crate) const fn control_packet(word: u64) -> Option<ControlPacket> {
    match word {
        ACK => Some(ControlPacket::Ack),
        NAK => Some(ControlPacket::Nak),
        CNP => Some(ControlPacket::Cnp),
        READ_REQUEST => Some(ControlPacket::ReadRequest),
        _ => None,
    }
}

pub(crate) const fn of_action(action: Action) -> u64 {
    action.kind() as u64
}

/// The action of a word.
pub(crate) fn action(word: u64) -> ActionKind {
    ActionKind::ALL.get(word as usize).copied().unwrap_or(ActionKind::Drop)
}

/// The header field of a word.
pub(crate) fn header_field(word: u64) -> HeaderField {
    HeaderField::NAMES.get(word as usize).map_or(HeaderField::MigReq, |(_, field)| *field)
}

pub(crate) const fn of_progression(progression: Option<Progression>) -> u64 {
    match progression {
        None => SINGLE,
        Some(Progression { count: Some(_), .. }) => COUNTED,
        Some(Progression { count: None, .. }) => TO_THE_END,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_tests() {
        for (word, kind) in ActionKind::ALL.iter().enumerate() {
            assert_eq!((ACTIONS[word], action(word as u64)), (kind.name(), *kind));
        }
        assert_eq!(lost(ANY_KIND), PacketKinds::ALL);
        for (place, (name, kind)) in PacketKinds::NAMES.iter().enumerate() {
            let word = 1 + place as u64;
            assert_eq!((LOST[1 + place], lost(word)), (*name, PacketKinds::NONE.with(*kind)));
            assert_eq!(of_lost(lost(word)), word);
        }
        for (name, packet) in ControlPacket::NAMES {
            let word = of_target(Target::Control { packet: *packet, nth: 1 });
            assert_eq!((PACKETS[word as usize], control_packet(word)), (*name, Some(*packet)));
        }
        assert_eq!(PACKETS.len(), ControlPacket::NAMES.len() + 1);
        for word in 0..VERBS.len() as u64 {
            assert_eq!((of_load(load(word, 5)), load(word, 5).connections()), (word, 5));
        }
    }
}
