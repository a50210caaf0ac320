//! Rounds of transmission, counted as the injector counts them: in what was seen, and in what a script says.

use corpus::IterMode;
use dumper::Psn;

/// The counter of one connection and direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    mode: IterMode,
    last: Psn,
    round: u32,
}

impl Rounds {
    /// Round 1, before the packet with the initial PSN (001 §3.3).
    pub(super) const fn new(mode: IterMode, initial: Psn) -> Self {
        Self { mode, last: initial.sub(1), round: 1 }
    }

    /// In a round that is known, after a packet that is known.
    pub(super) const fn known(mode: IterMode, last: Psn, round: u32) -> Self {
        Self { mode, last, round }
    }

    /// Takes the next data packet and says which round it is of; `starts` tells whether a message starts with it.
    pub(super) const fn take(&mut self, psn: Psn, starts: bool) -> u32 {
        let in_order = psn.since(self.last) == 1;
        match self.mode {
            IterMode::Paper if !psn.is_after(self.last) => self.round += 1,
            IterMode::PerMessage if !in_order => self.round += 1,
            IterMode::PerMessage if starts => self.round = 1,
            IterMode::Paper | IterMode::PerMessage => {}
        }
        self.last = psn;
        self.round
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(mode: IterMode, packets: &[(u32, bool)]) -> Vec<u32> {
        let mut rounds = Rounds::new(mode, Psn::new(0xff_ffff));
        packets.iter().map(|(psn, starts)| rounds.take(Psn::from_relative(*psn, Psn::MAX), *starts)).collect()
    }

    /// Across the wrap: PSN 1 is the largest number, PSN 2 is 0.
    #[test]
    fn the_paper_counts_every_step_back() {
        let packets = [(1, true), (2, false), (4, false), (2, false), (3, false), (5, true), (5, true)];
        assert_eq!(rounds(IterMode::Paper, &packets), [1, 1, 1, 2, 2, 2, 3]);
    }

    #[test]
    fn the_published_switch_counts_every_jump_and_begins_again() {
        let packets = [(1, true), (2, false), (4, false), (2, false), (3, false), (4, false), (5, true)];
        assert_eq!(rounds(IterMode::PerMessage, &packets), [1, 1, 2, 3, 3, 3, 1]);
    }
}
