//! What a fault makes of a trace besides, by its mechanism, and no more: a second fault that is none of these symptoms is
//! found in the same test, and one that is, in every test in which it comes first or alone.

use crate::counters::Cause;
use crate::rules::Rule;
use crate::rules::Rule::{
    AckBeyondData, AckMissing, AckPassesRead, AckRegresses, CnpTooEarly, CnpWithoutEcn, DeliveredNotOnce,
    DeliveredWrong, DeliveredYetMissing, InnocentSuffers, MsnWrong, NakAgain, NakIgnored, NakMissing,
    NakWithoutCause, NakWrongPsn, PsnSkipped, ReissueAddress, RequestNeverAnswered, ResponseGap,
    ResponsePosition, ResponseUnrequested, ResumeEarly, ResumeLate, RetransmissionWithoutCause,
    RetriesBeyondBudget, RetryAfterFatalNak, RnrUndelivered, RnrWaitShort, RtoBelowMinimum, SlowNack,
};

/// What a broken rule makes of a test besides.
pub(super) struct Consequence {
    /// The rule that the fault breaks.
    pub(super) cause: Rule,
    /// Rules that seem broken on the same connection from then on.
    pub(super) symptoms: &'static [Rule],
    /// The same, on any connection: of what connections share.
    pub(super) elsewhere: &'static [Rule],
    /// What moves the counters of either host that then differ from what the trace shows.
    pub(super) counters: &'static [Cause],
}

const fn row(cause: Rule, symptoms: &'static [Rule], counters: &'static [Cause]) -> Consequence {
    Consequence { cause, symptoms, elsewhere: &[], counters }
}

/// A consequence on any connection.
const fn shared(cause: Rule, elsewhere: &'static [Rule], counters: &'static [Cause]) -> Consequence {
    Consequence { cause, symptoms: &[], elsewhere, counters }
}

/// Every consequence that is known.
pub(super) const CONSEQUENCES: &[Consequence] = &[
    // Who is told that something is missing that is not can no longer tell what the responder has taken, nor what the
    // requester goes back for.
    row(
        NakWithoutCause,
        &[
            NakWrongPsn,
            NakAgain,
            NakMissing,
            AckBeyondData,
            AckMissing,
            MsnWrong,
            RnrUndelivered,
            ResponseGap,
            ResponseUnrequested,
            ResponsePosition,
            ResumeEarly,
            ResumeLate,
            RetransmissionWithoutCause,
        ],
        &[Cause::SequenceNaksHeard, Cause::DuplicateRequests],
    ),
    // The requester goes back to where the NAK says: what lies before is taken for acknowledged, or repeated.
    row(
        NakWrongPsn,
        &[
            DeliveredNotOnce,
            MsnWrong,
            ResponseUnrequested,
            ResponsePosition,
            NakAgain,
            NakMissing,
            NakWithoutCause,
            AckPassesRead,
            AckRegresses,
        ],
        &[Cause::DuplicateRequests],
    ),
    // The requester takes for acknowledged what has not arrived, and goes on behind it.
    row(
        AckBeyondData,
        &[
            AckMissing,
            AckPassesRead,
            AckRegresses,
            NakWrongPsn,
            NakMissing,
            MsnWrong,
            RnrUndelivered,
            DeliveredNotOnce,
            ResumeLate,
            RequestNeverAnswered,
        ],
        &[Cause::DuplicateRequests, Cause::ImpliedNaks, Cause::Timeouts],
    ),
    row(
        AckPassesRead,
        &[AckRegresses, AckBeyondData, NakWrongPsn, RnrUndelivered],
        &[Cause::DuplicateRequests],
    ),
    // A duplicate that is executed again is counted again.
    row(DeliveredNotOnce, &[MsnWrong], &[]),
    row(ResponseGap, &[AckPassesRead, ResponsePosition, ResponseUnrequested], &[]),
    row(ResponsePosition, &[ResponseUnrequested, ResponseGap, MsnWrong, RequestNeverAnswered], &[]),
    row(
        ResponseUnrequested,
        &[
            DeliveredNotOnce,
            DeliveredWrong,
            ResponsePosition,
            ResponseGap,
            MsnWrong,
            RnrUndelivered,
            AckMissing,
            ResumeEarly,
        ],
        &[Cause::DuplicateRequests],
    ),
    row(ResumeLate, &[NakIgnored], &[]),
    row(RetransmissionWithoutCause, &[RtoBelowMinimum, RetriesBeyondBudget], &[Cause::Timeouts]),
    row(RtoBelowMinimum, &[RetransmissionWithoutCause, RetriesBeyondBudget], &[Cause::Timeouts]),
    row(
        PsnSkipped,
        &[
            ResumeLate,
            RetransmissionWithoutCause,
            AckPassesRead,
            NakWrongPsn,
            ReissueAddress,
            MsnWrong,
            ResponseGap,
            ResponsePosition,
        ],
        &[Cause::Timeouts, Cause::DuplicateRequests],
    ),
    row(
        ReissueAddress,
        &[
            DeliveredWrong,
            PsnSkipped,
            ResumeLate,
            AckBeyondData,
            NakMissing,
            NakWrongPsn,
            MsnWrong,
            ResponsePosition,
            ResponseUnrequested,
            RequestNeverAnswered,
        ],
        &[Cause::ImpliedNaks, Cause::Timeouts, Cause::DuplicateRequests],
    ),
    row(RetryAfterFatalNak, &[], &[Cause::Timeouts]),
    row(RnrWaitShort, &[], &[Cause::Timeouts]),
    // What is lost behind the switch is missed wherever it was going.
    shared(
        DeliveredYetMissing,
        &[SlowNack, InnocentSuffers],
        &[Cause::DuplicateRequests, Cause::RnrNaksHeard],
    ),
    // The notification point is one for all connections.
    shared(CnpWithoutEcn, &[CnpTooEarly], &[]),
];

/// The rule that a fault is reported as, where two rules look at one thing from two sides.
pub(super) const fn one_fault(rule: Rule) -> Rule {
    match rule {
        // The responder has one count of messages, which its ACKs and its responses carry.
        Rule::ResponseMsn => MsnWrong,
        other => other,
    }
}
