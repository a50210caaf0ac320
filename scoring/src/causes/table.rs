//! Causes of expiries, as a table: rows are exclusive, and one of them holds whatever was seen.

use serde::{Deserialize, Serialize};

use crate::see::sides::Side;

/// Cause of an expiry of the ACK timer, as the trace shows it (Gao et al., "Analyzing and Optimizing Packet Corruption in RDMA
/// Network", JCST 2022, §3.1, has the first four; the others are faults of an end).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpiryCause {
    /// The packet was lost, and nothing behind it could show that.
    TailLost,
    /// It was lost once more, after a NAK of it or an earlier expiry: a responder sends one NAK for an expected PSN.
    LostAgain,
    /// The NAK of it was sent, and no copy of that left the switch.
    NakLost,
    /// The NAK left the switch, and the packet was not sent again for it.
    NakIgnored,
    /// Packets behind it left the switch, and no NAK was sent.
    NakMissing,
    /// Read responses behind it left the switch, and the Read was not issued again for that (IBA vol. 1, 9.7.5.2.8).
    ImpliedNakMissing,
    /// Everything arrived; an answer was sent, and none left the switch.
    AckLost,
    /// Everything arrived, and no answer was sent.
    AckMissing,
    /// A Read request was lost, and nothing behind it could show that.
    RequestLost,
    /// A Read request that was issued again was lost.
    RequestLostAgain,
    /// Everything left the switch, answers as well.
    Unexplained,
    /// A host that had to have a packet counts packets that it threw away: nobody can tell.
    Discarded,
}

impl ExpiryCause {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::TailLost,
        Self::LostAgain,
        Self::NakLost,
        Self::NakIgnored,
        Self::NakMissing,
        Self::ImpliedNakMissing,
        Self::AckLost,
        Self::AckMissing,
        Self::RequestLost,
        Self::RequestLostAgain,
        Self::Unexplained,
        Self::Discarded,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TailLost => "tail-lost",
            Self::LostAgain => "lost-again",
            Self::NakLost => "nak-lost",
            Self::NakIgnored => "nak-ignored",
            Self::NakMissing => "nak-missing",
            Self::ImpliedNakMissing => "implied-nak-missing",
            Self::AckLost => "ack-lost",
            Self::AckMissing => "ack-missing",
            Self::RequestLost => "request-lost",
            Self::RequestLostAgain => "request-lost-again",
            Self::Unexplained => "unexplained",
            Self::Discarded => "discarded",
        }
    }

    /// Returns true if an end did not do its part.
    #[must_use]
    pub fn is_fault(self) -> bool {
        ROWS.iter().any(|row| row.cause == self && row.at_fault.is_some())
    }

    /// Meaning, in a line.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::TailLost => "lost, and nothing behind it could show that",
            Self::LostAgain => "lost again after a NAK or an expiry",
            Self::NakLost => "lost, and so was its NAK",
            Self::NakIgnored => "lost, and not sent again for the NAK that left the switch",
            Self::NakMissing => "lost, and no NAK was sent for it",
            Self::ImpliedNakMissing => {
                "a lost Read response, and the Read was not issued again for those behind it"
            }
            Self::AckLost => "the answer was lost",
            Self::AckMissing => "no answer was sent",
            Self::RequestLost => "the Read request was lost, and nothing behind it could show that",
            Self::RequestLostAgain => "the Read request was lost again",
            Self::Unexplained => "nothing was lost",
            Self::Discarded => "a host discarded packets",
        }
    }
}

/// The first thing that did not reach its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Missing {
    /// A packet of a Send or Write, or an atomic.
    Data,
    /// A Read request.
    Request,
    /// A Read response.
    Response,
    /// Everything left the switch.
    Nothing,
}

/// An answer, or a NAK, on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Answer {
    /// It was not sent.
    Unsent,
    /// It was sent, and has not left the switch.
    Lost,
    /// It has left the switch.
    Left,
}

/// What the trace shows at an expiry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) missing: Missing,
    /// It was sent again after a NAK of it or an expiry, and that transmission has not left the switch either.
    pub(super) again: bool,
    /// Something behind it has left the switch since it was last sent.
    pub(super) beyond: bool,
    /// Its NAK.
    pub(super) nak: Answer,
    /// The answer, where nothing is missing.
    pub(super) answer: Answer,
    /// The host of the requester, and that of the responder, counts packets that it discarded.
    pub(super) discards: [bool; 2],
}

impl Facts {
    /// Nothing but what is missing.
    pub(super) const fn of(missing: Missing) -> Self {
        Self {
            missing,
            again: false,
            beyond: false,
            nak: Answer::Unsent,
            answer: Answer::Unsent,
            discards: [false; 2],
        }
    }
}

/// A line of the table.
pub(super) struct Row {
    pub(super) cause: ExpiryCause,
    pub(super) holds: fn(&Facts) -> bool,
    /// The host that has not done its part. If it counts discards, the packet that it had to act on may be one of them.
    pub(super) at_fault: Option<Side>,
}

/// A packet that is missing at the responder, and was sent once as far as that matters.
fn is_gap(facts: &Facts) -> bool {
    matches!(facts.missing, Missing::Data | Missing::Request) && !facts.again
}

/// The table.
pub(super) const ROWS: &[Row] = &[
    Row {
        cause: ExpiryCause::LostAgain,
        holds: |facts| matches!(facts.missing, Missing::Data | Missing::Response) && facts.again,
        at_fault: None,
    },
    Row {
        cause: ExpiryCause::RequestLostAgain,
        holds: |facts| facts.missing == Missing::Request && facts.again,
        at_fault: None,
    },
    Row {
        cause: ExpiryCause::TailLost,
        holds: |facts| match facts.missing {
            Missing::Data => !facts.again && !facts.beyond && facts.nak == Answer::Unsent,
            Missing::Response => !facts.again && !facts.beyond,
            Missing::Request | Missing::Nothing => false,
        },
        at_fault: None,
    },
    Row {
        cause: ExpiryCause::RequestLost,
        holds: |facts| {
            facts.missing == Missing::Request && !facts.again && !facts.beyond && facts.nak == Answer::Unsent
        },
        at_fault: None,
    },
    Row {
        cause: ExpiryCause::NakLost,
        holds: |facts| is_gap(facts) && facts.nak == Answer::Lost,
        at_fault: None,
    },
    Row {
        cause: ExpiryCause::NakIgnored,
        holds: |facts| is_gap(facts) && facts.nak == Answer::Left,
        at_fault: Some(Side::Requester),
    },
    Row {
        cause: ExpiryCause::NakMissing,
        holds: |facts| is_gap(facts) && facts.nak == Answer::Unsent && facts.beyond,
        at_fault: Some(Side::Responder),
    },
    Row {
        cause: ExpiryCause::ImpliedNakMissing,
        holds: |facts| facts.missing == Missing::Response && !facts.again && facts.beyond,
        at_fault: Some(Side::Requester),
    },
    Row {
        cause: ExpiryCause::AckLost,
        holds: |facts| facts.missing == Missing::Nothing && facts.answer == Answer::Lost,
        at_fault: None,
    },
    Row {
        cause: ExpiryCause::AckMissing,
        holds: |facts| facts.missing == Missing::Nothing && facts.answer == Answer::Unsent,
        at_fault: Some(Side::Responder),
    },
    Row {
        cause: ExpiryCause::Unexplained,
        holds: |facts| facts.missing == Missing::Nothing && facts.answer == Answer::Left,
        at_fault: Some(Side::Requester),
    },
];

/// The cause of an expiry.
pub(super) fn cause(facts: &Facts) -> ExpiryCause {
    let row =
        ROWS.iter().find(|row| (row.holds)(facts)).expect("one row of the table holds whatever was seen");
    match row.at_fault {
        Some(side) if facts.discards[side.index()] => ExpiryCause::Discarded,
        _ => row.cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of facts.
    fn all() -> Vec<Facts> {
        let mut all = Vec::new();
        let answers = [Answer::Unsent, Answer::Lost, Answer::Left];
        for missing in [Missing::Data, Missing::Request, Missing::Response, Missing::Nothing] {
            for nak in answers {
                for answer in answers {
                    for bits in 0..16 {
                        let [again, beyond, discards @ ..] =
                            std::array::from_fn::<_, 4, _>(|bit| bits >> bit & 1 == 1);
                        all.push(Facts { missing, again, beyond, nak, answer, discards });
                    }
                }
            }
        }
        all
    }

    #[test]
    fn rows_are_exclusive_and_exhaustive() {
        for facts in all() {
            let holding: Vec<_> = ROWS.iter().filter(|row| (row.holds)(&facts)).collect();
            assert_eq!(holding.len(), 1, "{facts:?}");
        }
        for cause in ExpiryCause::ALL {
            // No row has what is known of none.
            let rows = usize::from(cause != ExpiryCause::Discarded);
            assert_eq!(ROWS.iter().filter(|row| row.cause == cause).count(), rows, "{}", cause.name());
            assert!(all().iter().any(|facts| super::cause(facts) == cause), "{}", cause.name());
        }
    }
}
