//! The paper's formulas, as it prints them.

use super::links::Links;
use super::protection::Protection;
use super::time_outs::TimeOuts;

/// Loss of an ACK, a NAK or a dummy over that of a full packet, as the paper has it: γ and δ over β. (A real ACK of 66 bytes has 0.0608, and a
/// dummy of 78 bytes 0.0718.)
pub const PRINTED_ANSWER: f64 = 0.06;

/// Time-outs of a packet, by theorems 4 to 12: for losses so seldom that products of them matter nowhere but where they are the first
/// term. `tails` is the expected value of one over the packets of a message, E(1/S).
///
/// Dummies count as the paper counts them, one by one beside the tail; for tails repeated by the switch, theorem 12.
#[must_use]
pub fn printed(links: &Links, tails: f64, protection: &Protection) -> TimeOuts {
    let Links { loss, corrupted, .. } = *links;
    let paths = f64::from(links.links);
    let Protection { repeat, dummies } = *protection;
    // Besides the tail itself; a copy of it is lost as it is, a dummy as an answer is.
    let behind =
        loss.powi(i32::from(repeat.tails) - 1 + i32::from(dummies)) * PRINTED_ANSWER.powi(dummies.into());
    let tail_lost = tails * paths * loss * corrupted * behind;
    let naks = i32::from(repeat.naks);
    TimeOuts {
        tail_lost,
        lost_again: paths * loss.powi(1 + i32::from(repeat.retransmissions)) * corrupted,
        nak_lost: PRINTED_ANSWER.powi(naks) * (paths * corrupted).powi(2) * loss.powi(naks + 1),
        ack_lost: tail_lost * PRINTED_ANSWER,
        faults: 0.0,
    }
}
