//! Transitions that the machines of a test's connections made, and how often: what a test has gone through.

use super::table::Next;
use super::tables::{answers, requester, responder};

/// A machine of the go-back-N tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Machine {
    /// What the requester sends.
    Requester,
    /// What the responder acknowledges.
    Responder,
    /// How the responder answers Reads and atomics.
    Answers,
}

impl Machine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Requester, Self::Responder, Self::Answers];

    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Responder => "responder",
            Self::Answers => "responder of Reads",
        }
    }

    /// Number of the first of its transitions.
    const fn first(self) -> usize {
        match self {
            Self::Requester => 0,
            Self::Responder => requester::TRANSITIONS,
            Self::Answers => requester::TRANSITIONS + responder::TRANSITIONS,
        }
    }
}

/// Transitions of all machines.
const ALL: usize = requester::TRANSITIONS + responder::TRANSITIONS + answers::TRANSITIONS;

/// How often each transition was made, by all connections of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transitions(Box<[u32]>);

impl Default for Transitions {
    fn default() -> Self {
        Self(vec![0; ALL].into())
    }
}

impl Transitions {
    #[inline]
    pub(super) fn count(&mut self, machine: Machine, transition: usize) {
        let times = &mut self.0[machine.first() + transition];
        *times = times.saturating_add(1);
    }

    /// The situations that the test has gone through, in order.
    pub fn situations(&self) -> impl Iterator<Item = Situation> + '_ {
        let made = (0..).zip(&self.0).filter(|(_, times)| **times > 0);
        made.map(|(transition, times)| Situation { transition, magnitude: times.ilog2() as u8 })
    }
}

/// A transition that the connections of a test make so often: an order of magnitude, of powers of two (the counts of edges that
/// fuzzers of programs distinguish; Zalewski, American fuzzy lop). A loss that one packet recovers from is another situation than a
/// hundred of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Situation {
    transition: u16,
    magnitude: u8,
}

/// Orders of magnitude of a transition's count.
const MAGNITUDES: u16 = u32::BITS as u16;

impl Situation {
    /// Its number. Those of another version of this program may mean others.
    #[must_use]
    pub const fn number(self) -> u16 {
        const { assert!(ALL * MAGNITUDES as usize <= 1 << u16::BITS, "each has a number") };
        self.transition * MAGNITUDES + self.magnitude as u16
    }

    /// The number of the transition of a situation with a number, by which [`transitions`] has it.
    #[must_use]
    pub const fn transition_of(number: u16) -> u16 {
        number / MAGNITUDES
    }
}

/// A transition of the tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transition {
    /// Its number.
    pub number: u16,
    /// Its machine.
    pub machine: Machine,
    /// State before it, and the event.
    pub name: String,
    /// True if it breaks a rule: a NIC that conforms does not make it.
    pub breaks_rule: bool,
}

/// Every transition that can be made.
#[must_use]
pub fn transitions() -> Vec<Transition> {
    let mut all = Vec::new();
    macro_rules! list {
        ($machine:expr, $tables:ident) => {
            for state in $tables::State::ALL {
                for event in $tables::Event::ALL {
                    let next = state.on(*event);
                    if !matches!(next, Next::Never) {
                        all.push(Transition {
                            number: ($machine.first() + state.transition(*event)) as u16,
                            machine: $machine,
                            name: format!("{}: {event:?}", state.name()),
                            breaks_rule: next.broken().is_some(),
                        });
                    }
                }
            }
        };
    }
    list!(Machine::Requester, requester);
    list!(Machine::Responder, responder);
    list!(Machine::Answers, answers);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_transition_has_a_number_of_its_own() {
        let all = transitions();
        assert!(all.is_sorted_by_key(|transition| transition.number));
        assert!(all.iter().zip(&all[1..]).all(|(one, next)| one.number < next.number));
        assert!(usize::from(all[all.len() - 1].number) < ALL);
        assert!(all.iter().any(|transition| transition.breaks_rule));
    }

    #[test]
    fn a_situation_is_a_transition_and_an_order_of_magnitude() {
        let mut made = Transitions::default();
        assert_eq!(made.situations().count(), 0);
        let transition = responder::State::InOrder.transition(responder::Event::TakeExpected);
        let mut magnitudes = Vec::new();
        for _ in 0..9 {
            made.count(Machine::Responder, transition);
            let [situation] = made.situations().collect::<Vec<_>>()[..] else { panic!("one is made") };
            let number = Situation::transition_of(situation.number());
            let named = transitions().into_iter().find(|transition| transition.number == number).unwrap();
            assert_eq!((named.machine, &*named.name), (Machine::Responder, "in-order: TakeExpected"));
            magnitudes.push(situation.number() % MAGNITUDES);
        }
        assert_eq!(magnitudes, [0, 1, 1, 2, 2, 2, 2, 3, 3]);
    }
}
