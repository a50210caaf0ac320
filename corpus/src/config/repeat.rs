//! Copies that the network makes of packets whose loss costs a time-out.

use serde::{Deserialize, Serialize};

use super::ControlPacket;
use super::fields::{self, NumberOf};
use super::words::words;

/// `[network.repeat]`: the event injector sends packets more than once, so that the loss of one copy has no effect. Numbers count the
/// packet itself: 1 copies nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Repeat {
    /// Sequence NAKs; see [`fields::NAKS`].
    pub naks: u8,
    /// The packet that such a NAK asks for, when it comes; see [`fields::RETRANSMISSIONS`].
    pub retransmissions: u8,
    /// Packets that end a message or a Read response; see [`fields::TAILS`].
    pub tails: u8,
    /// How the packet that a NAK asks for is known (`match`).
    pub matching: RepeatMatch,
}

impl Default for Repeat {
    fn default() -> Self {
        Self { naks: 1, retransmissions: 1, tails: 1, matching: RepeatMatch::Psn }
    }
}

impl Repeat {
    /// Its numbers, in the order of the canonical text.
    pub const NUMBERS: &[NumberOf<Self>] = &[
        NumberOf {
            field: &fields::NAKS,
            get: |repeat| repeat.naks.into(),
            set: |repeat, packets| repeat.naks = packets as u8,
        },
        NumberOf {
            field: &fields::RETRANSMISSIONS,
            get: |repeat| repeat.retransmissions.into(),
            set: |repeat, packets| repeat.retransmissions = packets as u8,
        },
        NumberOf {
            field: &fields::TAILS,
            get: |repeat| repeat.tails.into(),
            set: |repeat, packets| repeat.tails = packets as u8,
        },
    ];

    /// Keys in files.
    pub const KEYS: &[&str] = &[fields::NAKS.key, fields::RETRANSMISSIONS.key, fields::TAILS.key, "match"];

    /// Returns true if packets are copied.
    #[must_use]
    pub fn is_on(&self) -> bool {
        Self::NUMBERS.iter().any(|number| (number.get)(self) > 1)
    }

    /// Most copies of a packet of a kind (none stands for data), the original not included.
    #[must_use]
    pub fn copies_of(&self, kind: Option<ControlPacket>) -> u8 {
        let packets = match kind {
            None => self.retransmissions.max(self.tails),
            Some(ControlPacket::Nak) => self.naks,
            Some(ControlPacket::Ack | ControlPacket::Cnp | ControlPacket::ReadRequest) => 1,
        };
        packets.saturating_sub(1)
    }
}

words! {
    /// How the packet that a NAK asks for is known.
    RepeatMatch:
        /// By its PSN alone, as the published switch program does: the packet of another connection may have it too.
        Psn "psn",
        /// By its connection and its PSN.
        Connection "connection";
}
