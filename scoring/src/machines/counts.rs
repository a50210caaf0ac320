//! Transitions that the machines of a test's connections made, and how often: what a test has gone through.

/// Orders of magnitude of a transition's count.
const MAGNITUDES: u16 = u32::BITS as u16;

/// Most transitions of all machines together: a situation's number has 16 bits.
pub(crate) const MOST_TRANSITIONS: usize = (1 << u16::BITS) / MAGNITUDES as usize;

/// How often each transition was made, by all connections of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transitions(Box<[u32]>);

impl Default for Transitions {
    fn default() -> Self {
        Self(vec![0; MOST_TRANSITIONS].into())
    }
}

impl Transitions {
    #[inline]
    pub(crate) fn count(&mut self, transition: usize) {
        let times = &mut self.0[transition];
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

impl Situation {
    /// Its number. Those of another version of this program may mean others.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.transition * MAGNITUDES + self.magnitude as u16
    }

    /// The number of the transition of a situation with a number, by which [`transitions`](crate::tables::transitions) has it.
    #[must_use]
    pub const fn transition_of(number: u16) -> u16 {
        number / MAGNITUDES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_situation_is_a_transition_and_an_order_of_magnitude() {
        let mut made = Transitions::default();
        assert_eq!(made.situations().count(), 0);
        let mut magnitudes = Vec::new();
        for _ in 0..9 {
            made.count(17);
            let [situation] = made.situations().collect::<Vec<_>>()[..] else { panic!("one is made") };
            assert_eq!(Situation::transition_of(situation.number()), 17);
            magnitudes.push(situation.number() % MAGNITUDES);
        }
        assert_eq!(magnitudes, [0, 1, 1, 2, 2, 2, 2, 3, 3]);
    }
}
