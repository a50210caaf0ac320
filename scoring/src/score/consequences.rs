//! Further symptoms of a fault in a trace, by its mechanism, and no more: a second fault that is none of
//! these symptoms is found in the same test, and one that is, in every test in which it comes first or alone.

use crate::counters::{Cause, names};
use crate::rules::Rule;
use crate::rules::Rule::{
    AckBeyondData, AckMissing, AckPassesRead, AckRegresses, CnpTooEarly, CnpWithheld, CnpWithoutEcn,
    CompletionMissing, DeliveredNotOnce, DeliveredWrong, DeliveredYetMissing, DiscardsUnexplained,
    FailureWithoutCause, InnocentSuffers, MsnWrong, NakAgain, NakIgnored, NakMissing, NakWithoutCause,
    NakWrongPsn, PairDiscards, PsnSkipped, ReackMissing, ReissueAddress, RequestNeverAnswered,
    RequestPosition, RereadMissing, ResponseGap, ResponseLength, ResponsePosition, ResponseUnrequested,
    ResumeEarly, ResumeLate, RetransmissionDiffers, RetransmissionOnDuplicateAck, RetransmissionWithoutCause,
    RetriesBelowBudget, RetriesBeyondBudget, RetryAfterFatalNak, RnrRetriesBelowBudget,
    RnrRetriesBeyondBudget, RnrUndelivered, RnrWaitShort, RtoAboveMaximum, RtoBelowMinimum, SlowNack,
    SuccessUnacknowledged, WrongKeyAccepted, WrongLengthAccepted, WrongPartitionAccepted,
};

/// Further symptoms of a broken rule in a test.
#[derive(Debug)]
pub struct Consequence {
    /// The rule that the fault breaks.
    pub cause: Rule,
    /// Rules that seem broken from then on, on the same connection.
    pub symptoms: &'static [Rule],
    /// Its symptoms may come before anything shows it for certain.
    pub shows_late: bool,
    /// The same, on any connection.
    pub elsewhere: &'static [Rule],
    /// Causes of the counters, of either host, that then differ from the trace.
    pub(crate) counters: &'static [Cause],
    /// Mechanism from the cause to its symptoms.
    pub reason: &'static str,
}

impl Consequence {
    /// Counters that then differ from the trace.
    pub fn counters(&self) -> impl Iterator<Item = &'static str> {
        names(self.counters)
    }
}

const fn row(
    cause: Rule,
    symptoms: &'static [Rule],
    counters: &'static [Cause],
    reason: &'static str,
) -> Consequence {
    Consequence { cause, symptoms, shows_late: false, elsewhere: &[], counters, reason }
}

/// A consequence whose symptoms may come before anything shows the cause for certain.
const fn late(
    cause: Rule,
    symptoms: &'static [Rule],
    counters: &'static [Cause],
    reason: &'static str,
) -> Consequence {
    Consequence { shows_late: true, ..row(cause, symptoms, counters, reason) }
}

/// A consequence on any connection.
const fn shared(
    cause: Rule,
    elsewhere: &'static [Rule],
    counters: &'static [Cause],
    reason: &'static str,
) -> Consequence {
    Consequence { elsewhere, ..row(cause, &[], counters, reason) }
}

/// Consequences of a receiver that stalls or discards packets that no event names, on any connection.
const fn stalled(cause: Rule, elsewhere: &'static [Rule]) -> Consequence {
    let reason =
        "packets that wait in the receiver, or that it discards, are late or missing on every connection";
    Consequence { shows_late: true, ..shared(cause, elsewhere, &[], reason) }
}

/// Every consequence that is known.
#[rustfmt::skip]
pub const CONSEQUENCES: &[Consequence] = &[
    Consequence {
        elsewhere: &[NakAgain, NakWrongPsn, AckBeyondData, AckPassesRead, InnocentSuffers],
        ..late(
            NakWithoutCause,
            &[
                NakWrongPsn, NakAgain, NakMissing, AckBeyondData, AckMissing, MsnWrong, RnrUndelivered, ResponseGap,
                ResponseUnrequested, ResponsePosition, ResumeEarly, ResumeLate, RetransmissionWithoutCause, RtoBelowMinimum,
            ],
            &[Cause::SequenceNaksHeard, Cause::SequenceNaksWithProgress, Cause::DuplicateRequests],
            "the trace no longer shows the responder's expected PSN, nor the cause of each retransmission",
    )
    },
    row(
        NakWrongPsn,
        &[
            DeliveredNotOnce, MsnWrong, ResponseUnrequested, ResponsePosition, NakAgain, NakMissing, NakWithoutCause,
            AckPassesRead, AckRegresses, RnrUndelivered,
        ],
        &[Cause::DuplicateRequests],
        "the requester retransmits from the NAKed PSN: lost packets before it are never retransmitted, or many packets are duplicates",
    ),
    Consequence {
        elsewhere: &[AckPassesRead, AckRegresses, RnrUndelivered, NakWrongPsn, AckMissing, MsnWrong, NakMissing],
        ..late(
            AckBeyondData,
            &[
                AckMissing, AckPassesRead, AckRegresses, NakWrongPsn, NakMissing, MsnWrong, RnrUndelivered,
                DeliveredNotOnce, ResumeLate, RequestNeverAnswered, RetransmissionWithoutCause, RtoBelowMinimum,
            ],
            &[Cause::DuplicateRequests, Cause::ImpliedNaks, Cause::Timeouts],
            "the requester takes lost packets as acknowledged and continues after them",
    )
    },
    row(
        AckPassesRead,
        &[AckRegresses, AckBeyondData, NakWrongPsn, RnrUndelivered],
        &[Cause::DuplicateRequests],
        "earlier acknowledgements follow the ACK that overtook them, with lower PSNs",
    ),
    late(
        RetransmissionOnDuplicateAck,
        &[RtoBelowMinimum, RetransmissionWithoutCause, ResumeEarly, RetriesBeyondBudget],
        &[Cause::Timeouts],
        "each retransmission by itself looks like an early expiry of the ACK timer",
    ),
    row(
        WrongLengthAccepted,
        &[DeliveredNotOnce, DeliveredWrong, MsnWrong],
        &[],
        "the responder writes the wrong number of bytes to memory",
    ),
    row(
        WrongKeyAccepted,
        &[DeliveredNotOnce, DeliveredWrong],
        &[],
        "the responder writes to other memory than the Write names",
    ),
    row(
        WrongPartitionAccepted,
        &[DeliveredNotOnce, DeliveredWrong],
        &[],
        "the responder writes the packet and its retransmission",
    ),
    row(
        FailureWithoutCause,
        &[RnrRetriesBelowBudget],
        &[],
        "a requester without any RNR NAK has made no RNR retries",
    ),
    row(RequestPosition, &[RetransmissionDiffers], &[], "a retransmission with the right opcode differs from the first copy"),
    row(DeliveredNotOnce, &[MsnWrong], &[], "the responder counts a message again that it executes again"),
    row(
        ResponseGap,
        &[AckPassesRead, ResponsePosition, ResponseUnrequested, RereadMissing, FailureWithoutCause],
        &[],
        "the responses after the gap do not match the outstanding Reads",
    ),
    late(
        ResponsePosition,
        &[
            ResponseUnrequested, ResponseGap, ResponseLength, MsnWrong, RequestNeverAnswered,
            RetransmissionWithoutCause, RtoBelowMinimum, NakWrongPsn, AckRegresses, FailureWithoutCause,
        ],
        &[Cause::ImpliedNaks, Cause::Timeouts],
        "a response without its LAST packet runs into the next response",
    ),
    row(
        ResponseLength,
        &[DeliveredNotOnce, DeliveredWrong, FailureWithoutCause],
        &[],
        "the requester writes the wrong number of bytes to memory",
    ),
    row(
        ResponseUnrequested,
        &[
            DeliveredNotOnce, DeliveredWrong, ResponsePosition, ResponseGap, MsnWrong, RnrUndelivered, AckMissing,
            ResumeEarly, FailureWithoutCause, SuccessUnacknowledged,
        ],
        &[Cause::DuplicateRequests],
        "the requester takes an unrequested response as the response to its next Read",
    ),
    row(
        ResumeLate,
        &[NakIgnored, ResumeEarly],
        &[],
        "the NAKed PSN is retransmitted only when the ACK timer expires, and later packets may be acknowledged by then",
    ),
    row(
        RetransmissionWithoutCause,
        &[RtoBelowMinimum],
        &[Cause::Timeouts],
        "a retransmission later than the shortest time-out looks like an expiry",
    ),
    row(
        RtoBelowMinimum,
        &[RetransmissionWithoutCause],
        &[Cause::Timeouts],
        "a retransmission sooner than the shortest time-out does not look like an expiry",
    ),
    late(RtoBelowMinimum, &[SlowNack], &[], "an early expiry after a NACK looks like a slow reaction to it"),
    row(
        PsnSkipped,
        &[
            ResumeLate, RetransmissionWithoutCause, AckPassesRead, NakWrongPsn, ReissueAddress, MsnWrong,
            ResponseGap, ResponsePosition,
        ],
        &[Cause::Timeouts, Cause::DuplicateRequests],
        "skipped PSNs are NAKed and never sent, and Reads take other PSNs than their responses need",
    ),
    row(
        ReissueAddress,
        &[
            DeliveredWrong, PsnSkipped, ResumeLate, AckBeyondData, NakMissing, NakWrongPsn, MsnWrong,
            ResponsePosition, ResponseUnrequested, RequestNeverAnswered,
        ],
        &[Cause::ImpliedNaks, Cause::Timeouts, Cause::DuplicateRequests],
        "the Read requests other bytes than the missing ones",
    ),
    row(RetryAfterFatalNak, &[], &[Cause::Timeouts], "the requester retransmits the refused request until its retries are exhausted"),
    row(RequestNeverAnswered, &[CompletionMissing], &[], "a request that neither is retransmitted nor fails never completes"),
    row(RetriesBeyondBudget, &[CompletionMissing], &[], "a request that is retransmitted for ever never completes"),
    row(RnrRetriesBeyondBudget, &[CompletionMissing], &[], "a request that is retransmitted for ever never completes"),
    row(RnrWaitShort, &[], &[Cause::Timeouts], "an early retry may look like an expiry of the ACK timer"),
    shared(
        DeliveredYetMissing,
        &[SlowNack, InnocentSuffers, CnpWithheld, RereadMissing, ReackMissing, RetriesBelowBudget, RtoAboveMaximum],
        &[Cause::DuplicateRequests, Cause::RnrNaksHeard, Cause::SequenceNaksHeard, Cause::ImpliedNaks, Cause::Timeouts],
        "packets that a NIC discards are missing on any connection",
    ),
    stalled(PairDiscards, &[InnocentSuffers, SlowNack, RtoAboveMaximum, RetriesBelowBudget]),
    stalled(DiscardsUnexplained, &[InnocentSuffers, SlowNack, RtoAboveMaximum, RetriesBelowBudget]),
    stalled(InnocentSuffers, &[SlowNack, RtoAboveMaximum, RetriesBelowBudget]),
    Consequence {
        shows_late: true,
        ..shared(
            CnpWithoutEcn,
            &[CnpTooEarly, CnpWithheld],
            &[],
            "all connections share the notification point: a CNP without a mark breaks the interval or delays the next CNP",
        )
    },
];

/// The rule that a fault is reported as, where two rules look at one thing from two sides.
pub(super) const fn one_fault(rule: Rule) -> Rule {
    match rule {
        // The responder has one count of messages, which its ACKs and its responses carry.
        Rule::ResponseMsn => MsnWrong,
        other => other,
    }
}
