//! Bytes that protection adds.

use serde::Serialize;

use super::exact::Conditions;
use super::frames::Frames;

/// Bytes added, as parts of those of the messages' packets.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Cost {
    /// Copies of NAKs.
    pub naks: f64,
    /// Copies of the packets that NAKs ask for.
    pub retransmissions: f64,
    /// Copies of tails.
    pub tails: f64,
    /// Dummies.
    pub dummies: f64,
}

impl Cost {
    /// Of messages with `tails` of one over their number of packets in the mean, E(1/S) (equation 1 of the paper).
    #[must_use]
    pub fn of(frames: &Frames, tails: f64, conditions: &Conditions) -> Self {
        let Conditions { links, protection, .. } = conditions;
        let lost = links.mean_loss_of(frames.middle);
        let of_full = |bytes: u32| f64::from(bytes) / f64::from(frames.middle);
        let copies = |packets: u8| f64::from(packets.saturating_sub(1));
        Self {
            naks: lost * copies(protection.repeat.naks) * of_full(frames.answer),
            retransmissions: lost * copies(protection.repeat.retransmissions),
            tails: tails * copies(protection.repeat.tails),
            dummies: tails * f64::from(protection.dummies) * of_full(frames.dummy),
        }
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.naks + self.retransmissions + self.tails + self.dummies
    }
}
