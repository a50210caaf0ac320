//! Losses of a run and what came of them: how often an end asked for what was missing, how often it did not and the ACK timer had to
//! expire, and how long that took. Sums over runs of one pair of NICs say what losses these stand.

mod connection;
mod count;
mod hunt;
mod share;
mod unanswered;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use count::of;
pub use share::{ByMagnitude, ByPackets, Confidence, Share, Waits};

/// Kind of a loss, by what it takes to repair it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// Packets behind it arrived, and its first NAK left the switch if there was one.
    Shown,
    /// Nothing behind it arrived.
    TailLost,
    /// Its first NAK was lost.
    NakLost,
    /// It was lost again after a NAK.
    LostAgain,
    /// The ACK of everything that was sent was lost.
    AckLost,
    /// [`Self::Shown`] of a Read response.
    ResponseShown,
    /// [`Self::TailLost`] of a Read response.
    ResponseTailLost,
    /// A Read that was issued again for a missing response, and that request was lost.
    ReissueLost,
    /// A Read response was lost again after that.
    ResponseLostAgain,
}

impl LossKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Shown,
        Self::TailLost,
        Self::NakLost,
        Self::LostAgain,
        Self::AckLost,
        Self::ResponseShown,
        Self::ResponseTailLost,
        Self::ReissueLost,
        Self::ResponseLostAgain,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::TailLost => "tail-lost",
            Self::NakLost => "nak-lost",
            Self::LostAgain => "lost-again",
            Self::AckLost => "ack-lost",
            Self::ResponseShown => "response-shown",
            Self::ResponseTailLost => "response-tail-lost",
            Self::ReissueLost => "reissue-lost",
            Self::ResponseLostAgain => "response-lost-again",
        }
    }

    /// Meaning, in a line.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Shown => "a packet was lost, packets behind it arrived, and no NAK was lost",
            Self::TailLost => "a packet was lost, and nothing behind it arrived",
            Self::NakLost => "the NAK of a lost packet was lost",
            Self::LostAgain => "a packet was lost again after its NAK",
            Self::AckLost => "the ACK of everything that was sent was lost",
            Self::ResponseShown => "a Read response was lost, and responses behind it arrived",
            Self::ResponseTailLost => "a Read response was lost, and nothing behind it arrived",
            Self::ReissueLost => "a Read was issued again, and that request was lost",
            Self::ResponseLostAgain => "a Read response was lost again",
        }
    }

    /// Probability of a time-out by the standard (IBA vol. 1, 9.7.5.1.1: one NAK for an expected PSN).
    #[must_use]
    pub const fn by_standard(self) -> f64 {
        match self {
            Self::Shown | Self::ResponseShown => 0.0,
            _ => 1.0,
        }
    }
}

/// How often an end asked for a packet that was missing, of those that arrived behind it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Asked {
    /// It asked at all.
    pub first: ByPackets,
    /// It asked once more, where its first NAK was lost.
    pub repeated: ByPackets,
    /// It asked once more, where the packet was lost again, or had done so before: by the packets behind all transmissions.
    pub again: ByPackets,
    /// The packet was sent again although nobody had asked for it, by the packets that had been sent behind it; where one packet before it
    /// was lost and repaired after it was first sent, and where more were. Where there is one NAK for a packet, it never is.
    pub in_passing: [ByPackets; 2],
    /// What a NAK that left the switch asked for was sent.
    pub obeyed: Share,
}

impl Asked {
    fn add(&mut self, other: &Self) {
        self.first.add(&other.first);
        self.repeated.add(&other.repeated);
        self.again.add(&other.again);
        self.in_passing.iter_mut().zip(&other.in_passing).for_each(|(all, one)| all.add(one));
        self.obeyed += other.obeyed;
    }
}

/// Losses of one run or of several, and what came of them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Losses {
    /// By kind: occasions, and those that ended in a time-out.
    pub kinds: BTreeMap<LossKind, Share>,
    /// NAKs for packets of Sends and Writes, and for Read requests.
    pub naks: Asked,
    /// Reads that are issued again for missing responses: implied NAKs (IBA vol. 1, 9.7.5.2.8).
    pub implied_naks: Asked,
    /// ACKs that were due for everything that had arrived, and those that were sent.
    pub acks: Share,
    /// Messages and dummies right behind which a dummy arrived, and those with an ACK of their own.
    pub own_acks: Share,
    /// Waits for the first expiry of the ACK timer and for further ones without progress, by `min-retransmit-timeout`.
    pub waits: BTreeMap<u8, [Waits; 2]>,
    /// Times from a loss to its repair, where the timer did not expire.
    pub repairs: ByMagnitude,
    /// Completion times of messages.
    pub messages: Waits,
}

impl Losses {
    /// Returns true if nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Occasions of a kind, and those that ended in a time-out.
    #[must_use]
    pub fn of(&self, kind: LossKind) -> Share {
        self.kinds.get(&kind).copied().unwrap_or_default()
    }

    /// Adds those of other runs on the same NICs.
    pub fn add(&mut self, other: &Self) {
        for (kind, share) in &other.kinds {
            *self.kinds.entry(*kind).or_default() += *share;
        }
        self.naks.add(&other.naks);
        self.implied_naks.add(&other.implied_naks);
        self.acks += other.acks;
        self.own_acks += other.own_acks;
        for (timeout, waits) in &other.waits {
            let all = self.waits.entry(*timeout).or_default();
            all.iter_mut().zip(waits).for_each(|(all, waits)| all.add(waits));
        }
        self.repairs.add(&other.repairs);
        self.messages.add(&other.messages);
    }
}
