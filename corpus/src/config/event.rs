//! Events: the packets that the injector matches, and its actions on them.

use std::collections::BTreeSet;

use super::SetField;
use super::fields::{self, IntField};
use dumper::ActionKind;
use serde::{Deserialize, Serialize};

/// One `[[event]]`: an action on the packets that it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The connections (`qpn`).
    pub connections: ConnectionSet,
    /// The first packet on each of them.
    pub target: Target,
    /// Further packets at a fixed distance (`every`, `count`).
    pub progression: Option<Progression>,
    /// Action on them.
    pub action: Action,
}

/// A set of connections, by relative QPN (from 1).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConnectionSet {
    /// `qpn = 3`
    One(u32),
    /// `qpn = [1, 4, 5]`, at least one, each once.
    List(Vec<u32>),
    /// `qpn = { first = 8 }`: connections 1 to 8.
    First(u32),
    /// `qpn = "all"`
    All,
}

impl ConnectionSet {
    /// Returns true if the set contains a connection.
    #[must_use]
    pub fn contains(&self, qpn: u32) -> bool {
        match self {
            Self::One(one) => *one == qpn,
            Self::List(list) => list.contains(&qpn),
            Self::First(n) => (1..=*n).contains(&qpn),
            Self::All => qpn >= 1,
        }
    }

    /// The members, given the number of connections of the test.
    pub fn members(&self, connections: u32) -> impl Iterator<Item = u32> + '_ {
        let (listed, range) = match self {
            Self::One(one) => (std::slice::from_ref(one), 1..1),
            Self::List(list) => (list.as_slice(), 1..1),
            Self::First(n) => (&[][..], 1..n.saturating_add(1)),
            Self::All => (&[][..], 1..connections.saturating_add(1)),
        };
        listed.iter().copied().chain(range)
    }

    /// Returns true if two sets share a connection.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(one), set) | (set, Self::One(one)) => set.contains(*one),
            (Self::List(list), set) | (set, Self::List(list)) => list.iter().any(|qpn| set.contains(*qpn)),
            (Self::First(_) | Self::All, Self::First(_) | Self::All) => true,
        }
    }
}

/// First packet of an event, by number or by progression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// A data packet (`packet = "data"`, the default): Sends and Writes of the requester, Read
    /// responses of the responder.
    Data {
        /// Relative PSN, from 1 over the connection in posting order.
        psn: u32,
        /// Round of transmission, from 1.
        iter: u32,
    },
    /// A control packet, by its n-th occurrence on the connection.
    Control {
        /// Kind of control packet.
        packet: ControlPacket,
        /// Occurrence, from 1.
        nth: u32,
    },
}

/// Kinds of control packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ControlPacket {
    /// A positive acknowledgement.
    Ack,
    /// A negative one (sequence error or RNR).
    Nak,
    /// A congestion notification packet.
    Cnp,
    /// A Read request.
    ReadRequest,
}

impl ControlPacket {
    /// Names in files.
    pub const NAMES: &[(&str, Self)] =
        &[("ack", Self::Ack), ("nak", Self::Nak), ("cnp", Self::Cnp), ("read-request", Self::ReadRequest)];

    /// Name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::Nak => "nak",
            Self::Cnp => "cnp",
            Self::ReadRequest => "read-request",
        }
    }
}

/// An arithmetic progression of packets: the first, and then every k-th.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Progression {
    /// Distance; see [`fields::EVERY`].
    pub every: u32,
    /// Number of packets, the first included; to the end of the connection if absent.
    pub count: Option<u32>,
}

/// Action of the injector on a packet, with its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // Those of `ActionKind` say what they mean.
pub enum Action {
    Drop(Copies),
    Ecn,
    Corrupt,
    Delay {
        /// Nanoseconds.
        ns: u64,
    },
    Reorder {
        /// Packets that overtake it.
        by: u16,
    },
    Duplicate {
        /// Extra copies.
        copies: u8,
    },
    SetField(SetField),
    Hold {
        /// Nanoseconds.
        ns: u64,
    },
}

/// The packets that a drop is of, where `[network.repeat]` makes copies: a copy is lost or not for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Copies {
    /// The packet itself, not its copies.
    #[default]
    Original,
    /// The packet and its copies.
    All,
    /// One of its copies, from 1; see [`fields::COPY`].
    One(u8),
}

impl Copies {
    /// Key in files.
    pub const KEY: &str = "copies";
    /// Names in files; one copy is its number.
    pub const NAMES: &[(&str, Self)] = &[("original", Self::Original), ("all", Self::All)];

    /// Returns true if both have a packet in common.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self == other || self == Self::All || other == Self::All
    }
}

/// The number that an action has for an operand.
#[derive(Debug, Clone, Copy)]
pub struct Operand {
    /// Its key and bounds in test files.
    pub field: &'static IntField,
    /// Request for it, where it is missing.
    pub ask: &'static str,
    /// The same in another unit, and how many of the first go into one of these.
    pub coarse: Option<(&'static IntField, u64)>,
}

const DELAY: Operand = Operand {
    field: &fields::DELAY_NS,
    ask: "say how long, for example `delay-us = 20`",
    coarse: Some((&fields::DELAY_US, 1000)),
};
const HOLD: Operand = Operand {
    field: &fields::HOLD_NS,
    ask: "say how long, for example `hold-us = 20`",
    coarse: Some((&fields::HOLD_US, 1000)),
};
const BY: Operand = Operand {
    field: &fields::BY,
    ask: "say how many packets overtake it, for example `by = 3`",
    coarse: None,
};
const COPIES: Operand = Operand {
    field: &fields::COPIES,
    ask: "say how many extra copies, for example `copies = 1`",
    coarse: None,
};

impl Action {
    /// A drop of a packet, not of its copies.
    pub const DROP: Self = Self::Drop(Copies::Original);

    /// It without its operand.
    #[must_use]
    pub const fn kind(self) -> ActionKind {
        match self {
            Self::Drop(_) => ActionKind::Drop,
            Self::Ecn => ActionKind::Ecn,
            Self::Corrupt => ActionKind::Corrupt,
            Self::Delay { .. } => ActionKind::Delay,
            Self::Reorder { .. } => ActionKind::Reorder,
            Self::Duplicate { .. } => ActionKind::Duplicate,
            Self::SetField(_) => ActionKind::SetField,
            Self::Hold { .. } => ActionKind::Hold,
        }
    }

    /// The number that an action of a kind has for an operand; none of those without, and of `set-field`, which has two.
    #[must_use]
    pub const fn operand_of(kind: ActionKind) -> Option<&'static Operand> {
        match kind {
            ActionKind::Delay => Some(&DELAY),
            ActionKind::Reorder => Some(&BY),
            ActionKind::Duplicate => Some(&COPIES),
            ActionKind::Hold => Some(&HOLD),
            ActionKind::Drop | ActionKind::Ecn | ActionKind::Corrupt | ActionKind::SetField => None,
        }
    }

    /// The number that it has for an operand, with its key and bounds.
    #[must_use]
    pub fn operand(self) -> Option<(&'static Operand, u64)> {
        let number = match self {
            Self::Delay { ns } | Self::Hold { ns } => ns,
            Self::Reorder { by } => by.into(),
            Self::Duplicate { copies } => copies.into(),
            Self::Drop(_) | Self::Ecn | Self::Corrupt | Self::SetField(_) => return None,
        };
        Some((Self::operand_of(self.kind())?, number))
    }

    /// The action of a kind, with a number for an operand if it has one, which must be inside its bounds; none for
    /// `set-field`, which needs a field as well.
    #[must_use]
    pub const fn with_operand(kind: ActionKind, number: u64) -> Option<Self> {
        Some(match kind {
            ActionKind::Drop => Self::DROP,
            ActionKind::Ecn => Self::Ecn,
            ActionKind::Corrupt => Self::Corrupt,
            ActionKind::Delay => Self::Delay { ns: number },
            ActionKind::Reorder => Self::Reorder { by: number as u16 },
            ActionKind::Duplicate => Self::Duplicate { copies: number as u8 },
            ActionKind::Hold => Self::Hold { ns: number },
            ActionKind::SetField => return None,
        })
    }

    /// It with another number for an operand, if it has one.
    #[must_use]
    pub fn with(self, number: u64) -> Self {
        Self::with_operand(self.kind(), number).unwrap_or(self)
    }

    /// Returns true if the packet does not arrive.
    #[must_use]
    pub const fn loses(self) -> bool {
        matches!(self, Self::Drop(_) | Self::Corrupt)
    }

    /// Name in files (`type`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.kind().name()
    }

    /// Reason why both cannot be done to one packet, if so.
    #[must_use]
    pub fn conflict(self, other: Self) -> Option<&'static str> {
        use Action::{Corrupt, Delay, Drop, Hold, Reorder, SetField};
        match (self, other) {
            (a, b) if a == b => Some("once is enough"),
            (Drop(copies), Drop(others)) => copies.meets(others).then_some("once is enough"),
            (Drop(Copies::One(_)), _) | (_, Drop(Copies::One(_))) => None,
            (Drop(_), _) | (_, Drop(_)) => Some("a dropped packet cannot be changed or sent as well"),
            (Delay { .. } | Reorder { .. } | Hold { .. }, Delay { .. } | Reorder { .. } | Hold { .. })
                if self.kind() != other.kind() =>
            {
                Some("both say when the packet leaves")
            }
            (Corrupt, SetField(_)) | (SetField(_), Corrupt) => {
                Some("set-field makes the ICRC right and corrupt makes it wrong")
            }
            (SetField(_), SetField(_)) => Some("one header field of a packet can be changed"),
            (a, b) if a.kind() == b.kind() => Some("the operands differ"),
            _ => None,
        }
    }
}

impl Event {
    /// First, step and last of the numbers (PSNs, occurrences) that the event names, where `end`
    /// is the largest number that exists. None if it names nothing up to `end`.
    #[must_use]
    pub fn points(&self, end: u32) -> Option<Points> {
        let first = match self.target {
            Target::Data { psn, .. } => psn,
            Target::Control { nth, .. } => nth,
        };
        if first == 0 || first > end {
            return None;
        }
        let (step, last) = match self.progression {
            None => (1, first),
            Some(Progression { every, count }) => {
                let step = every.max(1);
                let room = (end - first) / step;
                let steps = count.map_or(room, |count| count.saturating_sub(1).min(room));
                (step, first + steps * step)
            }
        };
        Some(Points { first, step, last })
    }
}

/// A finite arithmetic progression, all ends inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Points {
    /// The first number, at least 1.
    pub first: u32,
    /// The distance, at least 1.
    pub step: u32,
    /// The last number: `first` plus a multiple of `step`.
    pub last: u32,
}

/// Distances that are tried, from one number to those after it.
const NEXT: usize = 8;

impl Points {
    /// All numbers, ascending.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (self.first..=self.last).step_by(self.step as usize)
    }

    /// Number of members.
    #[must_use]
    pub const fn count(self) -> u32 {
        (self.last - self.first) / self.step + 1
    }

    /// Ascending numbers as progressions, the longest from each first number on.
    #[must_use]
    pub fn of(numbers: &[u32]) -> Vec<Self> {
        let mut left: BTreeSet<u32> = numbers.iter().copied().collect();
        let mut all = Vec::new();
        while let Some(first) = left.pop_first() {
            let at = |n: u32, step: u32| n.checked_mul(step).and_then(|more| first.checked_add(more));
            let is_left = |number: Option<u32>| number.is_some_and(|number| left.contains(&number));
            let run = |step: u32| (1..).take_while(|n| is_left(at(*n, step))).count() as u32;
            let longest = left
                .iter()
                .take(NEXT)
                .map(|next| next - first)
                .max_by_key(|step| (run(*step), u32::MAX - step));
            let points = match longest.map(|step| (step, run(step))) {
                // Two packets are no pattern.
                Some((step, more)) if more > 1 => Self { first, step, last: first + more * step },
                _ => Self { first, step: 1, last: first },
            };
            for number in points.iter() {
                left.remove(&number);
            }
            all.push(points);
        }
        all
    }

    /// Its numbers behind the first one; none of a single number.
    #[must_use]
    pub fn progression(self) -> Option<Progression> {
        let count = self.count();
        (count > 1).then_some(Progression { every: self.step, count: Some(count) })
    }

    /// The smallest number in both progressions.
    #[must_use]
    pub fn meet(self, other: Self) -> Option<u32> {
        // The least common multiple of two 32-bit steps, plus one of them, needs 65 bits.
        let (a, b) = (i128::from(self.first), i128::from(other.first));
        let (p, q) = (i128::from(self.step), i128::from(other.step));
        let (gcd, inverse) = gcd_and_inverse(p, q);
        if (b - a) % gcd != 0 {
            return None;
        }
        // a + k p = b (mod q) has its smallest solution k below q / gcd; all are lcm apart.
        let modulus = q / gcd;
        let k = ((b - a) / gcd * inverse).rem_euclid(modulus);
        let lcm = p * modulus;
        let common = a + k * p;
        let low = a.max(b);
        let common = if common < low { common + (low - common + lcm - 1) / lcm * lcm } else { common };
        let high = self.last.min(other.last);
        u32::try_from(common).ok().filter(|common| *common <= high)
    }
}

/// The greatest common divisor of `p` and `q`, and x with `p x = gcd (mod q)`.
fn gcd_and_inverse(p: i128, q: i128) -> (i128, i128) {
    let (mut r, mut next_r) = (p, q);
    let (mut x, mut next_x) = (1, 0);
    while next_r != 0 {
        let quotient = r / next_r;
        (r, next_r) = (next_r, r - quotient * next_r);
        (x, next_x) = (next_x, x - quotient * next_x);
    }
    (r, x)
}

/// The largest `nth` that an event may name; used where an open progression needs an end.
pub const LAST_OCCURRENCE: u32 = fields::NTH.max as u32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points() -> impl Strategy<Value = Points> {
        (1..60u32, 1..20u32, 0..8u32).prop_map(|(first, step, n)| Points {
            first,
            step,
            last: first + n * step,
        })
    }

    fn named(points: &[Points]) -> Vec<u32> {
        let mut all: Vec<u32> = points.iter().flat_map(|points| points.iter()).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn progressions_are_as_few_as_the_longest_make() {
        let numbers = [1, 3, 5, 7, 8, 20, 30, 40, 41, 99];
        let all = Points::of(&numbers);
        assert_eq!(named(&all), numbers);
        assert_eq!(all.len(), 5, "{all:?}");
        let ends = [1, u32::MAX / 2, u32::MAX - 1, u32::MAX];
        assert_eq!(named(&Points::of(&ends)), ends);
    }

    proptest! {
        #[test]
        fn progressions_name_the_same_numbers(numbers in proptest::collection::btree_set(1..200u32, 0..60)) {
            let numbers: Vec<u32> = numbers.into_iter().collect();
            prop_assert_eq!(named(&Points::of(&numbers)), numbers);
        }

        #[test]
        fn meeting_agrees_with_enumeration(a in points(), b in points()) {
            let expected = a.iter().find(|n| b.iter().any(|m| m == *n));
            prop_assert_eq!(a.meet(b), expected);
            prop_assert_eq!(a.iter().count(), a.count() as usize);
        }
    }

    #[test]
    fn meeting_survives_the_largest_numbers() {
        let all = Points { first: 1, step: u32::MAX, last: 1 };
        let other = Points { first: 1, step: u32::MAX - 1, last: 1 };
        assert_eq!(all.meet(other), Some(1));
        assert_eq!(Points { first: u32::MAX, step: u32::MAX, last: u32::MAX }.meet(all), None);
    }

    #[test]
    fn an_open_progression_ends_with_the_connection() {
        let event = Event {
            connections: ConnectionSet::All,
            target: Target::Data { psn: 5, iter: 1 },
            progression: Some(Progression { every: 10, count: None }),
            action: Action::Ecn,
        };
        assert_eq!(event.points(30).unwrap().iter().collect::<Vec<_>>(), [5, 15, 25]);
        assert_eq!(event.points(4), None);
    }

    #[test]
    fn operands_are_read_back() {
        for kind in ActionKind::ALL {
            let Some(operand) = Action::operand_of(*kind) else { continue };
            for number in [operand.field.min, operand.field.max] {
                let action = Action::with_operand(*kind, number).unwrap();
                let (of, read) = action.operand().unwrap();
                assert_eq!((action.kind(), of.field.key, read), (*kind, operand.field.key, number));
            }
        }
    }

    #[test]
    fn sets_list_their_members() {
        assert_eq!(ConnectionSet::All.members(3).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(ConnectionSet::First(2).members(3).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(ConnectionSet::List(vec![3, 1]).members(3).collect::<Vec<_>>(), [3, 1]);
        assert!(ConnectionSet::List(vec![3, 9]).meets(&ConnectionSet::First(3)));
        assert!(!ConnectionSet::One(4).meets(&ConnectionSet::First(3)));
    }
}
