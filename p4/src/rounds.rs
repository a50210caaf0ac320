//! ITER, the round of transmission that a data packet belongs to (Lumina §3.3).

use corpus::{IterMode, Traffic};
use dumper::Psn;

/// Largest round that events can name (`corpus::config::fields::ITER`). The register stops one above it, so that
/// an event on round 255 hits that round and none of the later ones.
pub const MAX_ITER: u16 = corpus::config::fields::ITER.max as u16;

/// The register that counts the rounds of one direction of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// PSN of the last data packet.
    last: Psn,
    /// Round of transmission, 1 to [`MAX_ITER`] + 1.
    iter: u16,
    mode: IterMode,
    /// True if data of the other direction takes PSNs between the messages of this one.
    shares_psns: bool,
}

impl Rounds {
    /// Round 1 of a connection (from 1) of a test, before the packet with the requester's initial PSN, from which Read
    /// responses count as well.
    #[must_use]
    pub fn new(traffic: &Traffic, connection: u32, initial: Psn) -> Self {
        Self::start(initial, traffic.iter_mode, traffic.has_data_both_ways(connection))
    }

    /// Round 1 before the packet with the initial PSN, by a way of counting, where data of the other direction takes
    /// PSNs between the messages or does not.
    pub(crate) const fn start(initial: Psn, mode: IterMode, shares_psns: bool) -> Self {
        Self { last: initial.sub(1), iter: 1, mode, shares_psns }
    }

    /// Arguments of [`start`](Self::start), before the first packet.
    pub(crate) const fn started(&self) -> (Psn, IterMode, bool) {
        (self.last.add(1), self.mode, self.shares_psns)
    }

    /// The same in a round that is known, after a packet that is known.
    #[must_use]
    pub const fn known(self, last: Psn, iter: u16) -> Self {
        Self { last, iter, ..self }
    }

    /// Takes the next data packet and returns its round; `starts` is true if a message or response starts
    /// with it. [`IterMode::Paper`] is Lumina §3.3, [`IterMode::PerMessage`] the published switch program.
    /// That program never has Sends and Reads on one connection; there, a message that starts after the last
    /// PSN counts as the expected one too.
    #[inline]
    pub fn take(&mut self, psn: Psn, starts: bool) -> u16 {
        let again = match self.mode {
            IterMode::Paper => !psn.is_after(self.last),
            IterMode::PerMessage => {
                psn != self.last.add(1) && !(self.shares_psns && starts && psn.is_after(self.last))
            }
        };
        if again {
            self.iter = (self.iter + 1).min(MAX_ITER + 1);
        } else if starts && self.mode == IterMode::PerMessage {
            self.iter = 1;
        }
        self.last = psn;
        self.iter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(iter_mode: IterMode, packets: &[(u32, bool)]) -> Vec<u16> {
        let traffic = Traffic { iter_mode, ..Traffic::default() };
        let mut rounds = Rounds::new(&traffic, 1, Psn::MAX);
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
