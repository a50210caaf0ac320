//! Further symptoms of a fault in a trace, by its mechanism, and no more: a second fault that is none of
//! these symptoms is found in the same test, and one that is, in every test in which it comes first or alone.

use crate::counters::{Cause, names};
use crate::rules::Rule;
use crate::rules::Rule::{
    AckBeyondData, AckMissing, AckPassesRead, AckRegresses, CnpTooEarly, CnpWithheld, CnpWithoutEcn,
    CompletionMissing, DeliveredNotOnce, DeliveredWrong, DeliveredYetMissing, DiscardsUnexplained,
    InnocentSuffers, MsnWrong, NakAgain, NakIgnored, NakMissing, NakWithoutCause, NakWrongPsn, PairDiscards,
    PsnSkipped, ReissueAddress, RequestNeverAnswered, ResponseGap, ResponseLength, ResponsePosition,
    ResponseUnrequested, ResumeEarly, ResumeLate, RetransmissionWithoutCause, RetriesBeyondBudget,
    RetryAfterFatalNak, RnrRetriesBeyondBudget, RnrUndelivered, RnrWaitShort, RtoBelowMinimum, SlowNack,
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

/// Every consequence that is known.
#[rustfmt::skip]
pub const CONSEQUENCES: &[Consequence] = &[
    late(
        NakWithoutCause,
        &[
            NakWrongPsn, NakAgain, NakMissing, AckBeyondData, AckMissing, MsnWrong, RnrUndelivered, ResponseGap,
            ResponseUnrequested, ResponsePosition, ResumeEarly, ResumeLate, RetransmissionWithoutCause, RtoBelowMinimum,
        ],
        &[Cause::SequenceNaksHeard, Cause::DuplicateRequests],
        "who says that it misses what it has leaves nobody able to tell what it has taken, nor what is repeated for what",
    ),
    row(
        NakWrongPsn,
        &[
            DeliveredNotOnce, MsnWrong, ResponseUnrequested, ResponsePosition, NakAgain, NakMissing, NakWithoutCause,
            AckPassesRead, AckRegresses, RnrUndelivered,
        ],
        &[Cause::DuplicateRequests],
        "the requester goes back to where the NAK says: what is missing before is never sent again, or repeats are many",
    ),
    late(
        AckBeyondData,
        &[
            AckMissing, AckPassesRead, AckRegresses, NakWrongPsn, NakMissing, MsnWrong, RnrUndelivered,
            DeliveredNotOnce, ResumeLate, RequestNeverAnswered,
        ],
        &[Cause::DuplicateRequests, Cause::ImpliedNaks, Cause::Timeouts],
        "the requester takes for acknowledged what has not arrived, and goes on behind it",
    ),
    row(
        AckPassesRead,
        &[AckRegresses, AckBeyondData, NakWrongPsn, RnrUndelivered],
        &[Cause::DuplicateRequests],
        "an ACK that overtakes others leaves them behind, and what they acknowledge looks older than it is",
    ),
    row(DeliveredNotOnce, &[MsnWrong], &[], "a message that is executed again is counted again"),
    row(
        ResponseGap,
        &[AckPassesRead, ResponsePosition, ResponseUnrequested],
        &[],
        "what comes behind the gap does not fit what was asked for",
    ),
    row(
        ResponsePosition,
        &[ResponseUnrequested, ResponseGap, ResponseLength, MsnWrong, RequestNeverAnswered],
        &[],
        "a response that does not end where it should runs into the next one",
    ),
    row(
        ResponseLength,
        &[DeliveredNotOnce, DeliveredWrong],
        &[],
        "what is too short or too long in a response is so in memory",
    ),
    row(
        ResponseUnrequested,
        &[
            DeliveredNotOnce, DeliveredWrong, ResponsePosition, ResponseGap, MsnWrong, RnrUndelivered, AckMissing,
            ResumeEarly,
        ],
        &[Cause::DuplicateRequests],
        "the requester takes a response that it did not ask for as that to its next request",
    ),
    row(
        ResumeLate,
        &[NakIgnored, ResumeEarly],
        &[],
        "the NAKed PSN itself is not repeated until the timer expires, and what is repeated behind it may be acknowledged by then",
    ),
    row(
        RetransmissionWithoutCause,
        &[RtoBelowMinimum],
        &[Cause::Timeouts],
        "one that comes later than the shortest time-out looks like an expiry",
    ),
    row(
        RtoBelowMinimum,
        &[RetransmissionWithoutCause],
        &[Cause::Timeouts],
        "one that comes sooner than the shortest time-out does not look like an expiry",
    ),
    row(
        PsnSkipped,
        &[
            ResumeLate, RetransmissionWithoutCause, AckPassesRead, NakWrongPsn, ReissueAddress, MsnWrong,
            ResponseGap, ResponsePosition,
        ],
        &[Cause::Timeouts, Cause::DuplicateRequests],
        "what was left out is NAKed and never sent, and Reads take other PSNs than they ask for",
    ),
    row(
        ReissueAddress,
        &[
            DeliveredWrong, PsnSkipped, ResumeLate, AckBeyondData, NakMissing, NakWrongPsn, MsnWrong,
            ResponsePosition, ResponseUnrequested, RequestNeverAnswered,
        ],
        &[Cause::ImpliedNaks, Cause::Timeouts, Cause::DuplicateRequests],
        "other data is asked for than is missing, in another place or of another length",
    ),
    row(RetryAfterFatalNak, &[], &[Cause::Timeouts], "what is refused for good is repeated until retries are spent"),
    row(RequestNeverAnswered, &[CompletionMissing], &[], "what is neither repeated nor reported to have failed never completes"),
    row(RetriesBeyondBudget, &[CompletionMissing], &[], "what is repeated without end never completes"),
    row(RnrRetriesBeyondBudget, &[CompletionMissing], &[], "what is repeated without end never completes"),
    row(RnrWaitShort, &[], &[Cause::Timeouts], "a retry that is too soon may look like an expiry"),
    shared(
        DeliveredYetMissing,
        &[SlowNack, InnocentSuffers, CnpWithheld],
        &[Cause::DuplicateRequests, Cause::RnrNaksHeard],
        "what is lost behind the switch is missed wherever it was going",
    ),
    shared(
        PairDiscards,
        &[InnocentSuffers],
        &[],
        "what a NIC throws away of the other's without any event is missed on every connection",
    ),
    shared(DiscardsUnexplained, &[InnocentSuffers], &[], "what is thrown away without any event is missed on every connection"),
    Consequence {
        shows_late: true,
        ..shared(
            CnpWithoutEcn,
            &[CnpTooEarly, CnpWithheld],
            &[],
            "the notification point is one for all connections, and CNPs that it should not send keep no interval, or the next from being sent",
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
