//! Combinations of the levels of a test's parameters: what a search has tried, two and three parameters at a time (covering
//! arrays; Kuhn, Wallace and Gallo 2004 find that nearly all faults take at most that many at once).

use corpus::{Host, Load, TestConfig, Traffic, Verb};

/// Parameters whose levels are combined: those of which a test has one value. Of connections and messages a test has many,
/// and the more it has, the more situations it goes through.
const FACTORS: usize = 18;

/// Most levels of a parameter.
const LEVELS: usize = 5;

/// Combinations of two and of three parameters.
const PAIRS: usize = FACTORS * (FACTORS - 1) / 2;
const TRIPLES: usize = FACTORS * (FACTORS - 1) * (FACTORS - 2) / 6;

/// Most values of each combination.
const OF_PAIR: usize = LEVELS * LEVELS;
const OF_TRIPLE: usize = OF_PAIR * LEVELS;

/// Worth of a combination that was never tried; one that was tried n times is worth 1 / (n + 1) of it.
const NEW: usize = 4_096;

/// Worth of a combination by how often it was tried: a test has nearly a thousand, and divisions take long. Of more it is 0.
static WORTH: [u16; NEW] = {
    let mut worth = [0; NEW];
    let mut tried = 0;
    while tried < NEW {
        worth[tried] = (NEW / (tried + 1)) as u16;
        tried += 1;
    }
    worth
};

/// The level of each parameter of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels([u8; FACTORS]);

/// A level by the thresholds at which the next ones begin.
fn level(value: u64, next: &[u64]) -> u8 {
    next.iter().take_while(|threshold| value >= **threshold).count() as u8
}

impl Levels {
    /// The levels of a test.
    #[must_use]
    pub fn of(test: &TestConfig) -> Self {
        let traffic = &test.traffic;
        let shape = traffic.shape();
        let rest = traffic.message_size % traffic.mtu.bytes();
        let [requester, responder] = [&test.requester, &test.responder];
        let flag = |host: &Host, of: fn(&Host) -> bool| u8::from(of(host));
        Self([
            verb(traffic),
            level(shape.own_packets().into(), &[2, 3, 9]),
            // The last packet: full, empty, anything between.
            if rest != 0 { 0 } else { 1 + u8::from(traffic.message_size == 0) },
            level(traffic.mtu.bytes().into(), &[512, 1_024, 2_048, 4_096]),
            level(traffic.min_retransmit_timeout.into(), &[8, 13, 17]),
            level(traffic.max_retransmit_retry.into(), &[1, 4, 7]),
            level(traffic.recv_depth.into(), &[2, traffic.tx_depth.max(2).into()]),
            level(traffic.rnr_retry.into(), &[1, 7]),
            level(traffic.max_rd_atomic.into(), &[2, 8]),
            u8::from(traffic.multi_gid),
            u8::from(traffic.barrier_sync),
            classes(requester),
            level(requester.roce.min_time_between_cnps.into(), &[1, 10]),
            level(responder.roce.min_time_between_cnps.into(), &[1, 10]),
            flag(requester, |host| host.roce.dcqcn_np_enable) << 1
                | flag(requester, |host| host.roce.dcqcn_rp_enable),
            flag(responder, |host| host.roce.dcqcn_np_enable) << 1
                | flag(responder, |host| host.roce.dcqcn_rp_enable),
            flag(requester, |host| host.roce.adaptive_retrans) << 1
                | flag(requester, |host| host.roce.slow_restart),
            flag(responder, |host| host.roce.adaptive_retrans) << 1
                | flag(responder, |host| host.roce.slow_restart),
        ])
    }
}

const fn verb(traffic: &Traffic) -> u8 {
    match traffic.load {
        Load::Same { verb: Verb::Write, .. } => 0,
        Load::Same { verb: Verb::Read, .. } => 1,
        Load::Same { verb: Verb::Send, .. } => 2,
        Load::Alternating { .. } => 3,
        Load::Split { .. } => 4,
    }
}

fn classes(host: &Host) -> u8 {
    host.ets.as_ref().map_or(0, |ets| {
        let weighted = ets.weights.iter().filter(|weight| **weight > 0).count();
        let all = weighted + ets.strict.len();
        level(all as u64, &[1, 3]) + u8::from(!ets.strict.is_empty()) * 2
    })
}

/// How often each combination of two and of three levels was tried.
#[derive(Clone)]
pub struct Covered {
    pairs: Vec<u32>,
    triples: Vec<u32>,
}

impl std::fmt::Debug for Covered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [pairs, triples] = self.tried();
        f.debug_struct("Covered").field("pairs", &pairs).field("triples", &triples).finish()
    }
}

impl Default for Covered {
    fn default() -> Self {
        Self { pairs: vec![0; PAIRS * OF_PAIR], triples: vec![0; TRIPLES * OF_TRIPLE] }
    }
}

impl Covered {
    /// Calls `each_pair` and `each_triple` with the place of each combination of a test.
    #[inline]
    fn visit(Levels(levels): &Levels, mut each_pair: impl FnMut(usize), mut each_triple: impl FnMut(usize)) {
        let (mut pair, mut triple) = (0, 0);
        for a in 0..FACTORS {
            for b in a + 1..FACTORS {
                let both = usize::from(levels[a]) * LEVELS + usize::from(levels[b]);
                each_pair(pair * OF_PAIR + both);
                pair += 1;
                for third in &levels[b + 1..] {
                    each_triple(triple * OF_TRIPLE + both * LEVELS + usize::from(*third));
                    triple += 1;
                }
            }
        }
    }

    /// A test was tried.
    pub fn add(&mut self, levels: &Levels) {
        let Self { pairs, triples } = self;
        Self::visit(
            levels,
            |at| pairs[at] = pairs[at].saturating_add(1),
            |at| triples[at] = triples[at].saturating_add(1),
        );
    }

    /// Adds a test; returns true if it has a combination that no test before it has.
    pub fn adds_new(&mut self, levels: &Levels) -> bool {
        let mut is_new = false;
        // A new pair is in a new triple.
        Self::visit(levels, |_| {}, |at| is_new |= self.triples[at] == 0);
        self.add(levels);
        is_new
    }

    /// How often each pair and each triple was tried, in an order that does not change.
    #[must_use]
    pub fn counts(&self) -> [&[u32]; 2] {
        [&self.pairs, &self.triples]
    }

    /// From [`Self::counts`]; none where they are of another version of this program, which has other parameters.
    #[must_use]
    pub fn from_counts([pairs, triples]: [Vec<u32>; 2]) -> Option<Self> {
        let new = Self::default();
        let fits = pairs.len() == new.pairs.len() && triples.len() == new.triples.len();
        fits.then_some(Self { pairs, triples })
    }

    /// Takes back a test that was added and is not tried.
    pub fn remove(&mut self, levels: &Levels) {
        let Self { pairs, triples } = self;
        Self::visit(
            levels,
            |at| pairs[at] = pairs[at].saturating_sub(1),
            |at| triples[at] = triples[at].saturating_sub(1),
        );
    }

    /// Worth of a test: more, the more of its combinations were not tried, or seldom.
    #[must_use]
    pub fn worth(&self, levels: &Levels) -> u64 {
        let of = |counts: &[u32], at: usize| u64::from(WORTH.get(counts[at] as usize).copied().unwrap_or(0));
        let (mut worth_of_pairs, mut worth_of_triples) = (0, 0);
        Self::visit(
            levels,
            |at| worth_of_pairs += of(&self.pairs, at),
            |at| worth_of_triples += of(&self.triples, at),
        );
        worth_of_pairs + worth_of_triples
    }

    /// Combinations of two and of three levels that were tried.
    #[must_use]
    pub fn tried(&self) -> [usize; 2] {
        [&self.pairs, &self.triples].map(|counts| counts.iter().filter(|count| **count > 0).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_combination_has_a_place_of_its_own() {
        let (mut pairs, mut triples) = (BTreeSet::new(), BTreeSet::new());
        Covered::visit(
            &Levels([4; FACTORS]),
            |at| assert!(pairs.insert(at)),
            |at| assert!(triples.insert(at)),
        );
        assert_eq!((pairs.len(), triples.len()), (PAIRS, TRIPLES));
        let covered = Covered::default();
        assert!(pairs.iter().all(|at| *at < covered.pairs.len()));
        assert!(triples.iter().all(|at| *at < covered.triples.len()));
        let (mut others, mut other_triples) = (BTreeSet::new(), BTreeSet::new());
        Covered::visit(
            &Levels([3; FACTORS]),
            |at| assert!(others.insert(at)),
            |at| assert!(other_triples.insert(at)),
        );
        assert!(pairs.is_disjoint(&others) && triples.is_disjoint(&other_triples));
    }

    #[test]
    fn a_test_adds_what_no_other_has() {
        let mut covered = Covered::default();
        let (one, mut other) = (Levels([0; FACTORS]), Levels([0; FACTORS]));
        assert!(covered.adds_new(&one) && !covered.adds_new(&one));
        other.0[0] = 1;
        assert!(covered.adds_new(&other));
        other.0[1] = 1;
        let mut third = other;
        third.0[2] = 1;
        assert!(covered.adds_new(&third) && covered.adds_new(&other) && !covered.adds_new(&other));
        let counts = covered.counts().map(<[u32]>::to_vec);
        assert_eq!(Covered::from_counts(counts.clone()).unwrap().worth(&third), covered.worth(&third));
        assert!(Covered::from_counts([counts[1].clone(), counts[0].clone()]).is_none());
    }

    #[test]
    fn what_was_tried_is_worth_less() {
        let mut covered = Covered::default();
        let (one, mut other) = (Levels([0; FACTORS]), Levels([0; FACTORS]));
        let new = covered.worth(&one);
        assert_eq!(new, (PAIRS + TRIPLES) as u64 * NEW as u64);
        covered.add(&one);
        assert_eq!(covered.worth(&one), new / 2);
        other.0[0] = 1;
        let changed = (FACTORS - 1) + (FACTORS - 1) * (FACTORS - 2) / 2;
        assert_eq!(covered.worth(&other), new / 2 + changed as u64 * NEW as u64 / 2);
        assert_eq!(covered.tried(), [PAIRS, TRIPLES]);
    }
}
