//! Every rule, in one row each. A row has the consequences of the fault that breaks the rule: its further symptoms in a trace,
//! by its mechanism, and no more. A second fault that is none of these symptoms is found in the same test, and one that is, in
//! every test in which it comes first or alone.

use super::clause::{Clause, gao, iba, ieee_802_1qaz, kernel_log, left, lumina, scalacn};
use super::kind::Kind;
use super::row::{Excuse, rules};
use crate::analyzers::Analyzer;
use crate::cause::Cause;

/// Further symptoms, in a test, of the fault that breaks a rule.
#[derive(Debug)]
pub struct Consequence {
    /// Rules that seem broken from then on, on the same connection.
    pub here: &'static [Rule],
    /// The same, on any connection.
    pub elsewhere: &'static [Rule],
    /// Causes of the counters, of either host, that then differ from the trace.
    pub counters: &'static [Cause],
    /// Its symptoms may come before anything shows it for certain.
    pub shows_late: bool,
    /// Mechanism from the fault to its symptoms.
    pub reason: &'static str,
}

/// A consequence without symptoms yet, and its mechanism.
const fn because(reason: &'static str) -> Consequence {
    Consequence { here: &[], elsewhere: &[], counters: &[], shows_late: false, reason }
}

rules! {
    /// A second sequence NAK for the same expected PSN.
    NakAgain {
        name: "nak-again",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the responder sends one PSN sequence error NAK for an expected PSN, and no other until that PSN arrives",
        clauses: &[iba("9.7.5.2"), iba("9.9.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[AckBeyondData],
                ..because("a NAK of a PSN that has arrived meanwhile looks as if its packet were lost behind the switch")
            },
        ],
    }

    /// A sequence NAK that names a PSN other than the expected one.
    NakWrongPsn {
        name: "nak-wrong-psn",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "a PSN sequence error NAK names the responder's expected PSN",
        clauses: &[iba("9.7.5.2")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[
                    DeliveredNotOnce, MsnWrong, ResponseUnrequested, ResponsePosition, NakAgain, NakMissing,
                    NakWithoutCause, AckPassesRead, AckRegresses, RnrUndelivered,
                ],
                counters: &[Cause::DuplicateRequests],
                ..because("the requester retransmits from the NAKed PSN: lost packets before it are never retransmitted, or many packets are duplicates")
            },
        ],
    }

    /// A sequence NAK although nothing arrived out of order.
    NakWithoutCause {
        name: "nak-without-cause",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the responder sends a PSN sequence error NAK only after a packet beyond its expected PSN has arrived",
        clauses: &[iba("9.7.5.2")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[
                    NakWrongPsn, NakAgain, NakMissing, AckBeyondData, AckMissing, MsnWrong, RnrUndelivered,
                    ResponseGap, ResponseUnrequested, ResponsePosition, ResumeEarly, TimeoutUnexplained, ResumeLate,
                    RetransmissionWithoutCause, RtoBelowMinimum,
                ],
                elsewhere: &[NakAgain, NakWrongPsn, AckBeyondData, AckPassesRead, InnocentSuffers],
                counters: &[Cause::SequenceNaksHeard, Cause::SequenceNaksWithProgress, Cause::DuplicateRequests],
                shows_late: true,
                ..because("the trace no longer shows the responder's expected PSN, nor the cause of each retransmission")
            },
        ],
    }

    /// No sequence NAK although a packet arrived out of order, so that the requester had to time out.
    NakMissing {
        name: "nak-missing",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the responder sends a PSN sequence error NAK when a packet beyond its expected PSN arrives",
        clauses: &[iba("9.7.5.2"), lumina("§4")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[MitigationHarms],
                ..because("a time-out takes the place of a retransmission, where without copies or dummies the NAK may not have been due")
            },
        ],
    }

    /// An acknowledgement of packets that were never delivered.
    AckBeyondData {
        name: "ack-beyond-data",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "an ACK covers only packets that were delivered in order",
        clauses: &[iba("9.7.5.1")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[
                    AckMissing, AckPassesRead, AckRegresses, NakWrongPsn, NakMissing, MsnWrong, RnrUndelivered,
                    DeliveredNotOnce, ResumeLate, RequestNeverAnswered, RetransmissionWithoutCause,
                    RtoBelowMinimum,
                ],
                elsewhere: &[AckPassesRead, AckRegresses, RnrUndelivered, NakWrongPsn, AckMissing, MsnWrong, NakMissing],
                counters: &[Cause::DuplicateRequests, Cause::ImpliedNaks, Cause::Timeouts],
                shows_late: true,
                ..because("the requester takes lost packets as acknowledged and continues after them")
            },
        ],
    }

    /// An acknowledgement of less than was acknowledged before.
    AckRegresses {
        name: "ack-regresses",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "an ACK of a duplicate request carries the latest PSN received in order, so that the PSNs of ACKs never decrease",
        clauses: &[iba("9.7.5.1")],
        excuse: Nothing,
    }

    /// An acknowledgement that overtakes a Read or atomic that has not been answered.
    AckPassesRead {
        name: "ack-passes-read",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "an ACK covers neither a Read or atomic whose response has not been sent, nor any later PSN",
        clauses: &[iba("9.7.5.1.2")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[AckRegresses, AckBeyondData, NakWrongPsn, RnrUndelivered],
                counters: &[Cause::DuplicateRequests],
                ..because("earlier acknowledgements follow the ACK that overtook them, with lower PSNs")
            },
        ],
    }

    /// A request with AckReq that was taken and is never acknowledged, so that the requester had to time out.
    AckMissing {
        name: "ack-missing",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the responder acknowledges a request with AckReq that arrives in order, with an ACK of this or of a later request",
        clauses: &[iba("9.7.5.1")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[MitigationHarms],
                ..because("a request without an acknowledgement times out, where without copies or dummies it is acknowledged")
            },
        ],
    }

    /// A duplicate request with AckReq that is never acknowledged again.
    ReackMissing {
        name: "reack-missing",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the responder again acknowledges a duplicate Send or Write that has AckReq set",
        clauses: &[iba("9.7.5.1")],
        excuse: UnseenPackets,
    }

    /// A duplicate Read request that is never answered.
    RereadMissing {
        name: "reread-missing",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the responder executes a duplicate Read request again and sends the responses from its PSN on",
        clauses: &[iba("9.7.5.1")],
        excuse: UnseenPackets,
    }

    /// A retransmission that neither a NAK nor an expired timer explains.
    RetransmissionWithoutCause {
        name: "retransmission-without-cause",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the requester retransmits only after a NAK, an implied NAK or an expiry of the ACK timer",
        clauses: &[iba("9.7.5.2"), iba("9.7.6.1.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[RtoBelowMinimum],
                counters: &[Cause::Timeouts],
                ..because("a retransmission later than the shortest time-out looks like an expiry")
            },
        ],
    }

    /// Retransmissions for ACKs that acknowledge nothing new.
    RetransmissionOnDuplicateAck {
        name: "retransmission-on-duplicate-ack",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the requester does not retransmit because of a duplicate ACK, only after a NAK, an implied NAK or an expiry of the ACK timer",
        clauses: &[iba("9.7.5.1"), iba("9.7.6.1.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[RtoBelowMinimum, RetransmissionWithoutCause, ResumeEarly, TimeoutUnexplained, RetriesBeyondBudget],
                counters: &[Cause::Timeouts],
                shows_late: true,
                ..because("each retransmission by itself looks like an early expiry of the ACK timer")
            },
        ],
    }

    /// A retransmission that leaves out packets that nobody has acknowledged.
    ResumeLate {
        name: "resume-late",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "a retransmission starts at the NAKed PSN, or else at the oldest unacknowledged PSN, and leaves no PSN out",
        clauses: &[iba("9.7.5.2")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[NakIgnored, ResumeEarly, TimeoutUnexplained],
                ..because("the NAKed PSN is retransmitted only when the ACK timer expires, and later packets may be acknowledged by then")
            },
        ],
    }

    /// A retransmission that starts before the NAKed or oldest unacknowledged PSN.
    ResumeEarly {
        name: "resume-early",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "a retransmission starts at the NAKed PSN, or else at the oldest unacknowledged PSN, and not before it",
        clauses: &[iba("9.7.5.2")],
        excuse: UnseenPackets,
    }

    /// A sequence NAK that the requester does not act on.
    NakIgnored {
        name: "nak-ignored",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the requester retransmits from the PSN of a sequence NAK when the NAK arrives, not when the ACK timer expires",
        clauses: &[iba("9.7.5.2")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[MitigationHarms],
                ..because("a time-out takes the place of a retransmission, where without copies or dummies the NAK is acted on")
            },
        ],
    }

    /// A missing Read response on which the requester does not act until its timer expires.
    ImpliedNakMissing {
        name: "implied-nak-missing",
        kind: GbnViolation,
        analyzer: GoBackN,
        expected: "the requester issues a Read again when a response beyond the missing one arrives, not when its ACK timer expires",
        clauses: &[iba("9.7.5.1"), iba("9.7.5.2").note("implied NAK")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[MitigationHarms],
                ..because("a time-out takes the place of a re-issued Read, where without dummies there may have been no gap")
            },
        ],
    }

    /// A request packet whose opcode does not fit its place in the message.
    RequestPosition {
        name: "request-position",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the packets of a Send or Write are FIRST, MIDDLE..., LAST, or one ONLY",
        clauses: &[iba("9.7.3.2.1"), iba("9.4")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[RetransmissionDiffers],
                ..because("a retransmission with the right opcode differs from the first copy")
            },
        ],
    }

    /// A repeated request packet of another opcode than the first copy.
    RetransmissionDiffers {
        name: "retransmission-differs",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "a repeated request packet has the opcode of the first copy of its PSN",
        clauses: &[iba("9.7.2"), iba("9.4")],
        excuse: UnseenPackets,
    }

    /// A repeated Read request that does not ask for the rest of the data.
    ReissueAddress {
        name: "reissue-address",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "a retransmitted Read requests the missing bytes: its address is advanced, and its length reduced, by the bytes received",
        clauses: &[iba("9.7.5.1.1")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[
                    DeliveredWrong, PsnSkipped, ResumeLate, AckBeyondData, NakMissing, NakWrongPsn, MsnWrong,
                    ResponsePosition, ResponseUnrequested, RequestNeverAnswered,
                ],
                counters: &[Cause::ImpliedNaks, Cause::Timeouts, Cause::DuplicateRequests],
                ..because("the Read requests other bytes than the missing ones")
            },
        ],
    }

    /// An acknowledgement whose syndrome is a reserved one.
    SyndromeReserved {
        name: "syndrome-reserved",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the syndrome of an acknowledgement is an ACK, an RNR NAK, or a NAK with a code from 0 to 4",
        clauses: &[iba("9.3.5"), iba("9.7.5.2")],
        excuse: Nothing,
        consequences: &[
            Consequence {
                here: &[NakMissing, AckMissing, ReackMissing],
                shows_late: true,
                ..because("a requester discards an acknowledgement with a reserved syndrome, which stands for the one that it needs")
            },
        ],
    }

    /// A retry before the wait is over that an RNR NAK asks for.
    RnrWaitShort {
        name: "rnr-wait-short",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "after an RNR NAK, the requester waits at least as long as the timer code of the NAK says before it retries",
        clauses: &[iba("9.7.5.2.8").note("table of RNR NAK timer values")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                counters: &[Cause::Timeouts],
                ..because("an early retry may look like an expiry of the ACK timer")
            },
        ],
    }

    /// New requests after a NAK that ends the QP.
    RequestAfterFatalNak {
        name: "request-after-fatal-nak",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the requester sends no new request after a NAK that moves the QP to the error state",
        clauses: &[iba("9.9.2")],
        excuse: UnseenPackets,
    }

    /// A new request that leaves out PSNs.
    PsnSkipped {
        name: "psn-skipped",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "new requests have consecutive PSNs",
        clauses: &[iba("9.7.2")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[
                    ResumeLate, RetransmissionWithoutCause, AckPassesRead, NakWrongPsn, ReissueAddress,
                    MsnWrong, ResponseGap, ResponsePosition,
                ],
                counters: &[Cause::Timeouts, Cause::DuplicateRequests],
                ..because("skipped PSNs are NAKed and never sent, and Reads take other PSNs than their responses need")
            },
        ],
    }

    /// A retransmission after a NAK that ends the QP.
    RetryAfterFatalNak {
        name: "retry-after-fatal-nak",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the requester does not retry a request after a NAK that moves the QP to the error state",
        clauses: &[iba("9.9.2")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                counters: &[Cause::Timeouts],
                ..because("the requester retransmits the refused request until its retries are exhausted")
            },
        ],
    }

    /// A NAK that ends the QP for a Write or Read with which nothing is wrong.
    FatalNakWithoutCause {
        name: "fatal-nak-without-cause",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the responder sends a NAK that moves the QP to the error state only for a request that is malformed or not allowed",
        clauses: &[iba("9.7.4.1"), iba("9.9.3")],
        excuse: UnseenPackets,
    }

    /// An acknowledgement of a request whose length is not that of its data.
    WrongLengthAccepted {
        name: "wrong-length-accepted",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "a Write whose packets carry more or less than the length in its RETH is refused as an invalid request",
        clauses: &[iba("9.7.4.1.6"), iba("9.9.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[DeliveredNotOnce, DeliveredWrong, MsnWrong],
                ..because("the responder writes the wrong number of bytes to memory")
            },
        ],
    }

    /// An acknowledgement of, or response to, a request with a wrong R_Key.
    WrongKeyAccepted {
        name: "wrong-key-accepted",
        kind: ProtocolViolation,
        analyzer: Rewritten,
        expected: "a Write or Read with a wrong R_Key is refused with a remote access error",
        clauses: &[iba("9.7.4.1.5"), iba("9.9.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[DeliveredNotOnce, DeliveredWrong],
                ..because("the responder writes to other memory than the Write names")
            },
        ],
    }

    /// An acknowledgement of, or response to, a request with a wrong partition key.
    WrongPartitionAccepted {
        name: "wrong-partition-accepted",
        kind: ProtocolViolation,
        analyzer: Rewritten,
        expected: "a packet whose P_Key is not that of the QP is dropped",
        clauses: &[iba("9.6.1.1.1"), iba("10.9.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[DeliveredNotOnce, DeliveredWrong],
                ..because("the responder writes the packet and its retransmission")
            },
        ],
    }

    /// A message sequence number that does not count the completed messages.
    MsnWrong {
        name: "msn-wrong",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the MSN of an ACK counts the messages completed up to its PSN",
        clauses: &[iba("9.7.7")],
        excuse: UnseenPackets,
    }

    /// A message sequence number in a response that cannot count the completed messages.
    ResponseMsn {
        name: "response-msn",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the MSN of a Read response counts the messages completed so far; the last packet of the response also counts its own Read",
        clauses: &[iba("9.7.7")],
        excuse: UnseenPackets,
        // The responder has one count of messages, which its ACKs and its responses carry.
        reported_as: MsnWrong,
    }

    /// An RNR NAK for a request that was never delivered.
    RnrUndelivered {
        name: "rnr-undelivered",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "an RNR NAK names a request that has arrived and is not yet acknowledged",
        clauses: &[iba("9.7.5.2.8")],
        excuse: UnseenPackets,
    }

    /// A Read response that leaves out packets, or a Read that is left unanswered.
    ResponseGap {
        name: "response-gap",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the responses to a Read have consecutive PSNs, and Reads are answered in order",
        clauses: &[iba("9.7.5.1")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[AckPassesRead, ResponsePosition, ResponseUnrequested, RereadMissing, FailureWithoutCause],
                ..because("the responses after the gap do not match the outstanding Reads")
            },
        ],
    }

    /// A Read response or atomic acknowledgement without a request.
    ResponseUnrequested {
        name: "response-unrequested",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the PSN of a response is one of those of a request that was delivered",
        clauses: &[iba("9.7.5.1")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[
                    DeliveredNotOnce, DeliveredWrong, ResponsePosition, ResponseGap, MsnWrong, RnrUndelivered,
                    AckMissing, ResumeEarly, TimeoutUnexplained, FailureWithoutCause, SuccessUnacknowledged,
                ],
                counters: &[Cause::DuplicateRequests],
                ..because("the requester takes an unrequested response as the response to its next Read")
            },
        ],
    }

    /// A Read response packet whose opcode does not fit its place in the response.
    ResponsePosition {
        name: "response-position",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the packets of a Read response are FIRST, MIDDLE..., LAST, or one ONLY",
        clauses: &[iba("9.4")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[
                    ResponseUnrequested, ResponseGap, ResponseLength, MsnWrong, RequestNeverAnswered,
                    RetransmissionWithoutCause, RtoBelowMinimum, NakWrongPsn, AckRegresses,
                    FailureWithoutCause,
                ],
                counters: &[Cause::ImpliedNaks, Cause::Timeouts],
                shows_late: true,
                ..because("a response without its LAST packet runs into the next response")
            },
        ],
    }

    /// A Read response with more or fewer bytes than were asked for.
    ResponseLength {
        name: "response-length",
        kind: ProtocolViolation,
        analyzer: GoBackN,
        expected: "the packets of a Read response carry as many bytes as the Read requests",
        clauses: &[iba("9.4"), iba("9.7.4")],
        excuse: Nothing,
        consequences: &[
            Consequence {
                here: &[DeliveredNotOnce, DeliveredWrong, FailureWithoutCause],
                ..because("the requester writes the wrong number of bytes to memory")
            },
        ],
    }

    /// An expiry of the ACK timer before T.
    RtoBelowMinimum {
        name: "rto-below-minimum",
        kind: UnexpectedTimeout,
        analyzer: GoBackN,
        expected: "the ACK timer expires no sooner than T after its start, T = 4.096 µs x 2^timeout",
        clauses: &[iba("9.7.6.1.3"), lumina("§6.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[RetransmissionWithoutCause],
                counters: &[Cause::Timeouts],
                ..because("a retransmission sooner than the shortest time-out does not look like an expiry")
            },
            Consequence {
                here: &[SlowNack],
                shows_late: true,
                ..because("an early expiry after a NACK looks like a slow reaction to it")
            },
        ],
    }

    /// An expiry of the ACK timer after 4T.
    RtoAboveMaximum {
        name: "rto-above-maximum",
        kind: UnexpectedTimeout,
        analyzer: GoBackN,
        expected: "the ACK timer expires no later than 4T after its start, T = 4.096 µs x 2^timeout",
        clauses: &[iba("9.7.6.1.3")],
        excuse: UnseenPackets,
    }

    /// An expiry of the ACK timer for what has been acknowledged.
    TimeoutUnexplained {
        name: "timeout-unexplained",
        kind: UnexpectedTimeout,
        analyzer: GoBackN,
        expected: "the ACK timer does not expire for a request whose acknowledgement arrived",
        clauses: &[iba("9.7.6.1.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[MitigationHarms],
                ..because("the timer expires although the acknowledgement arrived, where without copies or dummies it does not")
            },
        ],
    }

    /// More transport retries without progress than configured.
    RetriesBeyondBudget {
        name: "retries-beyond-budget",
        kind: RetryCount,
        analyzer: GoBackN,
        expected: "the requester retries at most retry_cnt times without progress, after time-outs, NAKs and implied NAKs together; 7 is not unlimited",
        clauses: &[iba("9.7.6.1.3"), iba("9.9.2.1"), lumina("§6.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[CompletionMissing],
                ..because("a request that is retransmitted for ever never completes")
            },
        ],
    }

    /// Transport retries reported as exhausted before they were.
    RetriesBelowBudget {
        name: "retries-below-budget",
        kind: RetryCount,
        analyzer: GoBackN,
        expected: "a request completes with retry-exceeded only after retry_cnt retries without progress",
        clauses: &[iba("9.7.6.1.3"), iba("9.9.2.1"), lumina("§6.3")],
        excuse: UnseenPackets,
    }

    /// More RNR retries without progress than configured.
    RnrRetriesBeyondBudget {
        name: "rnr-retries-beyond-budget",
        kind: RetryCount,
        analyzer: GoBackN,
        expected: "the requester retries at most rnr_retry times after RNR NAKs without progress; 7 is unlimited",
        clauses: &[iba("9.7.5.2.8")],
        excuse: Nothing,
        consequences: &[
            Consequence {
                here: &[CompletionMissing],
                ..because("a request that is retransmitted for ever never completes")
            },
        ],
    }

    /// RNR retries reported as exhausted before they were.
    RnrRetriesBelowBudget {
        name: "rnr-retries-below-budget",
        kind: RetryCount,
        analyzer: GoBackN,
        expected: "a request completes with RNR-retry-exceeded only after rnr_retry retries, and never if rnr_retry is 7 (unlimited)",
        clauses: &[iba("9.7.5.2.8")],
        excuse: UnseenPackets,
    }

    /// ECN-marked packets, and no CNP at all.
    EcnWithoutCnp {
        name: "ecn-without-cnp",
        kind: CnpGeneration,
        analyzer: Cnp,
        expected: "the notification point sends a CNP for an ECN-marked packet",
        clauses: &[iba("A17.9.3"), lumina("§4")],
        excuse: UnseenPackets,
    }

    /// A CNP that no marked packet explains.
    CnpWithoutEcn {
        name: "cnp-without-ecn",
        kind: CnpGeneration,
        analyzer: Cnp,
        expected: "the notification point sends a CNP only for an ECN-marked packet (or, where it treats loss as congestion, for an out-of-order packet)",
        clauses: &[iba("A17.9.3"), lumina("§4")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                elsewhere: &[CnpTooEarly, CnpWithheld],
                shows_late: true,
                ..because("all connections share the notification point: a CNP without a mark breaks the interval or delays the next CNP")
            },
        ],
    }

    /// A CNP whose header is not that of one.
    CnpForm {
        name: "cnp-form",
        kind: CnpGeneration,
        analyzer: Cnp,
        expected: "a CNP has PSN 0, BECN set and AckReq clear",
        clauses: &[iba("A17.9.3")],
        excuse: Nothing,
    }

    /// Two CNPs closer than the configured interval.
    CnpTooEarly {
        name: "cnp-too-early",
        kind: CnpGeneration,
        analyzer: Cnp,
        expected: "the notification point sends at most one CNP per interval and scope (QP, destination address or port)",
        clauses: &[lumina("§6.3")],
        excuse: Nothing,
    }

    /// A marked packet without a CNP, though none was sent to its QP within the configured interval.
    CnpWithheld {
        name: "cnp-withheld",
        kind: CnpGeneration,
        analyzer: Cnp,
        expected: "the notification point sends a CNP for an ECN-marked packet unless it has sent a CNP for the same QP within the configured interval",
        clauses: &[iba("A17.9.3"), lumina("§6.3")],
        excuse: UnseenPackets,
    }

    /// A message of which more or less arrived in memory than it has.
    DeliveredNotOnce {
        name: "delivered-not-once",
        kind: DataCorruption,
        analyzer: Data,
        expected: "every byte of a completed message is written to memory once, and no byte of any message twice",
        clauses: &[
            iba("9.7.4").note("exactly once, in order"),
            iba("9.7.5.1").note("duplicates are not executed again"),
        ],
        excuse: Nothing,
        consequences: &[
            Consequence {
                here: &[MsnWrong],
                ..because("the responder counts a message again that it executes again")
            },
            Consequence {
                here: &[MitigationHarms],
                ..because("the data is right without copies or dummies")
            },
        ],
    }

    /// Data in memory that differs from the sent data.
    DeliveredWrong {
        name: "delivered-wrong",
        kind: DataCorruption,
        analyzer: Data,
        expected: "the bytes written to memory are the bytes of the sender's buffer",
        clauses: &[iba("9.7.4")],
        excuse: Nothing,
        consequences: &[
            Consequence {
                here: &[MitigationHarms],
                ..because("the data is right without copies or dummies")
            },
        ],
    }

    /// A requester that neither repeats an unacknowledged request nor reports that it failed.
    RequestNeverAnswered {
        name: "request-never-answered",
        kind: Stall,
        analyzer: GoBackN,
        expected: "the requester retransmits an unacknowledged request at each expiry of the ACK timer, until the request is acknowledged or fails",
        clauses: &[iba("9.7.6.1.3"), iba("9.9.2.1")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[CompletionMissing],
                ..because("a request that neither is retransmitted nor fails never completes")
            },
        ],
    }

    /// A counter that moved by another number than the trace shows.
    CounterDiffers {
        name: "counter-differs",
        kind: CounterMismatch,
        analyzer: Counters,
        expected: "a counter increases by the number of its events in the trace",
        clauses: &[lumina("§4"), lumina("§6.2.4")],
        excuse: Nothing,
    }

    /// A NAK or a retransmission of either end for a packet that left the switch, with no counter to say why.
    DeliveredYetMissing {
        name: "delivered-yet-missing",
        kind: UnexplainedDiscard,
        analyzer: GoBackN,
        expected: "a packet that left the switch intact reaches the transport layer of the receiving NIC",
        clauses: &[lumina("§6.2.2"), lumina("§6.2.3")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                elsewhere: &[
                    SlowNack, InnocentSuffers, MitigationHarms, CnpWithheld, RereadMissing, ReackMissing, RetriesBelowBudget,
                    RtoAboveMaximum,
                ],
                counters: &[
                    Cause::DuplicateRequests, Cause::RnrNaksHeard, Cause::SequenceNaksHeard,
                    Cause::ImpliedNaks, Cause::Timeouts,
                ],
                ..because("packets that a NIC discards are missing on any connection")
            },
        ],
    }

    /// A NACK that was made, or acted on, slowly.
    SlowNack {
        name: "slow-nack",
        kind: SlowRetransmission,
        analyzer: Latency,
        expected: "a NIC sends a NAK (for a Read: issues the Read again) and retransmits after one within microseconds, not counting the time that packets wait in queues",
        clauses: &[lumina("§6.1").note("figures 8 and 9")],
        excuse: Nothing,
    }

    /// Discarded packets, where neither NIC of the pair discards those of its own kind.
    PairDiscards {
        name: "pair-discards",
        kind: InteropDiscard,
        analyzer: Interoperability,
        expected: "if two models of NIC discard no packets that NICs of the same model send, they discard none of each other",
        clauses: &[lumina("§6.2.3")],
        excuse: Nothing,
        consequences: &[
            Consequence {
                elsewhere: &[InnocentSuffers, MitigationHarms, SlowNack, RtoAboveMaximum, RetriesBelowBudget],
                shows_late: true,
                ..because("packets that wait in the receiver, or that it discards, are late or missing on every connection")
            },
        ],
    }

    /// Packets that a host discards, where the testbed cannot tell if it discards those of its own kind too.
    DiscardsUnexplained {
        name: "discards-unexplained",
        kind: UnexplainedDiscard,
        analyzer: Interoperability,
        expected: "a NIC receives packets at the rate of its link without discarding any",
        clauses: &[lumina("§6.2.3")],
        excuse: Nothing,
        consequences: &[
            Consequence {
                elsewhere: &[InnocentSuffers, MitigationHarms, SlowNack, RtoAboveMaximum, RetriesBelowBudget],
                shows_late: true,
                ..because("packets that wait in the receiver, or that it discards, are late or missing on every connection")
            },
        ],
    }

    /// A class that could send more than its share while the others leave theirs, and does not.
    BandwidthWithheld {
        name: "bandwidth-withheld",
        kind: NonWorkConserving,
        analyzer: Sharing,
        expected: "a traffic class with packets to send uses the bandwidth that other classes leave idle",
        clauses: &[ieee_802_1qaz("37.3"), lumina("§6.2.1").note("figure 10")],
        excuse: Nothing,
    }

    /// Connections that no event names, and that suffer when others lose packets.
    InnocentSuffers {
        name: "innocent-suffers",
        kind: NoisyNeighbor,
        analyzer: NoisyNeighbor,
        expected: "a connection on which nothing is injected completes its messages as fast as in the same test without any injected events",
        clauses: &[lumina("§6.2.2").note("figure 11")],
        excuse: Nothing,
        consequences: &[
            Consequence {
                elsewhere: &[SlowNack, MitigationHarms, RtoAboveMaximum, RetriesBelowBudget],
                shows_late: true,
                ..because("packets that wait in the receiver, or that it discards, are late or missing on every connection")
            },
        ],
    }

    /// A test that is worse with copies of packets, or with dummies, than over the same losses without them.
    MitigationHarms {
        name: "mitigation-harms",
        kind: MitigationHarm,
        analyzer: Mitigation,
        expected: "copies of NAKs and retransmissions, and dummies behind messages, cost a connection neither retries nor data, and no more time than they take on the link",
        clauses: &[gao("§4"), iba("9.7.5.1").note("duplicates change nothing"), iba("9.7.6.1.3").note("retries")],
        excuse: Nothing,
    }

    /// A second request for a packet that the receiver has asked for before.
    SrNakAgain {
        name: "sr-nak-again",
        kind: ProtocolViolation,
        analyzer: SelectiveRepeat,
        expected: "with selective repeat a receiver asks for a missing packet once, and then leaves it to the ACK timer",
        clauses: &[left("§3"), iba("9.7.5.2").note("one NAK an expected PSN")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[SrRetransmissionUnasked],
                ..because("each NAK asks for a retransmission")
            },
        ],
    }

    /// A request for a packet that is not missing.
    SrNakUnprovoked {
        name: "sr-nak-unprovoked",
        kind: ProtocolViolation,
        analyzer: SelectiveRepeat,
        expected: "with selective repeat a receiver asks for a packet only after a later one has arrived before it",
        clauses: &[left("§3"), iba("9.7.5.2")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[SrNakAgain],
                ..because("a later NAK of the same packet may be the one that is due")
            },
        ],
    }

    /// A packet that is sent again and that nobody asked for.
    SrRetransmissionUnasked {
        name: "sr-retransmission-unasked",
        kind: ProtocolViolation,
        analyzer: SelectiveRepeat,
        expected: "with selective repeat a requester sends again the packets that were asked for, and when its ACK timer expires the oldest one",
        clauses: &[left("§3"), iba("9.7.6.1.3").note("ACK timer")],
        excuse: UnseenPackets,
    }

    /// Data that is written to memory twice.
    SrDeliveredTwice {
        name: "sr-delivered-twice",
        kind: DataCorruption,
        analyzer: Data,
        expected: "with selective repeat every byte of a message is written to memory once, whatever the order in which its packets arrive",
        clauses: &[left("§3"), iba("9.7.5.1").note("duplicates change nothing")],
        excuse: Nothing,
    }

    /// Goodput that collapses where packets overtake each other.
    GoodputUnderReordering {
        name: "goodput-under-reordering",
        kind: ReorderCollapse,
        analyzer: ReorderCollapse,
        expected: "goodput where packets overtake each other and none is lost is at least half of that over the slowest path alone",
        clauses: &[left("§2.1"), left("§4.2")],
        excuse: Nothing,
    }

    /// A connection that is slower than the others.
    FlowSlowerThanOthers {
        name: "flow-slower-than-others",
        kind: SlowFlow,
        analyzer: OffloadCost,
        expected: "the median message of each connection takes less than three times as long as those of the others, where they are alike",
        clauses: &[scalacn("§2"), scalacn("figure 5")],
        excuse: Nothing,
    }

    /// Goodput or latency that falls off with some more flows.
    PerformanceFallsOff {
        name: "performance-falls-off",
        kind: PerformanceCliff,
        analyzer: OffloadCost,
        expected: "with nine tenths of the flows, goodput is less than 13 % higher and messages less than 27 % faster",
        clauses: &[scalacn("figure 6")],
        excuse: Nothing,
    }

    /// Flows that cost after they were removed.
    RemovedFlowsStillCost {
        name: "removed-flows-still-cost",
        kind: NoRecovery,
        analyzer: OffloadCost,
        expected: "after flows were removed, packets take the time that they take with the flows that are left",
        clauses: &[scalacn("figure 6")],
        excuse: Nothing,
    }

    /// Operations that take longer the more entries there are.
    OperationSlowerWithEntries {
        name: "operation-slower-with-entries",
        kind: SlowControl,
        analyzer: OffloadCost,
        expected: "an operation takes less than three times as long as on a small table",
        clauses: &[scalacn("table 1, S4")],
        excuse: Nothing,
    }

    /// The entries of all connections in use are deleted again and again.
    EntriesInUseDeleted {
        name: "entries-in-use-deleted",
        kind: OffloadInstability,
        analyzer: FlowTable,
        expected: "an entry stays while its connection has packets more often than it may be idle; those of all connections were deleted",
        clauses: &[scalacn("table 1, S1")],
        excuse: Nothing,
    }

    /// The entry of a connection in use is deleted now and then.
    EntryInUseDeleted {
        name: "entry-in-use-deleted",
        kind: OffloadInstability,
        analyzer: FlowTable,
        expected: "an entry stays while its connection has packets more often than it may be idle",
        clauses: &[scalacn("table 1, S5")],
        excuse: Nothing,
    }

    /// An entry that is asked for again.
    OffloadedTwice {
        name: "offloaded-twice",
        kind: OffloadInconsistent,
        analyzer: FlowTable,
        expected: "a flow is offloaded once",
        clauses: &[scalacn("appendix A")],
        excuse: Nothing,
    }

    /// An entry that nobody asked for.
    EntryUnasked {
        name: "entry-unasked",
        kind: OffloadInconsistent,
        analyzer: FlowTable,
        expected: "no entry is created before its flow is offloaded",
        clauses: &[scalacn("appendix A")],
        excuse: Nothing,
    }

    /// An entry that is not created.
    EntryNotCreated {
        name: "entry-not-created",
        kind: OffloadInconsistent,
        analyzer: FlowTable,
        expected: "the NIC creates the entry of a flow that is offloaded",
        clauses: &[scalacn("appendix A")],
        excuse: Nothing,
    }

    /// A link that goes down.
    LinkGoesDown {
        name: "link-goes-down",
        kind: LinkDown,
        analyzer: FlowTable,
        expected: "the link stays up while a virtual function is unbound",
        clauses: &[scalacn("table 1, S7")],
        excuse: Nothing,
    }

    /// A request that was posted and never completed.
    CompletionMissing {
        name: "completion-missing",
        kind: Stall,
        analyzer: Messages,
        expected: "a posted request completes, with success or with an error",
        clauses: &[iba("9.9.2.1"), iba("10.8.5")],
        excuse: Nothing,
    }

    /// A message that completes with success before all of it is acknowledged.
    SuccessUnacknowledged {
        name: "success-unacknowledged",
        kind: DataCorruption,
        analyzer: Messages,
        expected: "a message completes with success only after its last packet has been acknowledged",
        clauses: &[iba("9.7.5.1"), iba("10.8.5")],
        excuse: UnseenPackets,
    }

    /// A message that completes with an error that no NAK or response explains.
    FailureWithoutCause {
        name: "failure-without-cause",
        kind: ProtocolViolation,
        analyzer: Messages,
        expected: "a message fails with a remote error or RNR retries exceeded only after a NAK that says so",
        clauses: &[iba("9.9.2"), iba("9.9.2.1")],
        excuse: UnseenPackets,
        consequences: &[
            Consequence {
                here: &[RnrRetriesBelowBudget],
                ..because("a requester without any RNR NAK has made no RNR retries")
            },
        ],
    }

    /// A completion of nothing that was posted, of what had completed before, or out of its turn.
    CompletionUnfounded {
        name: "completion-unfounded",
        kind: DataCorruption,
        analyzer: HostLog,
        expected: "every completion belongs to a posted request, no request completes twice, and Receives complete in the order of posting",
        clauses: &[iba("10.8.5"), iba("10.8.5.1")],
        excuse: Nothing,
    }

    /// A kernel that crashed.
    KernelCrashes {
        name: "kernel-crashes",
        kind: Crash,
        analyzer: HostLog,
        expected: "no packet crashes the kernel: the host discards it, NAKs it or moves the QP to the error state",
        clauses: &[iba("9.9.2"), iba("9.9.3")],
        excuse: Nothing,
    }

    /// A kernel that warned of a fault of its own.
    KernelWarns {
        name: "kernel-warns",
        kind: Crash,
        analyzer: HostLog,
        expected: "no packet triggers a WARN in the kernel",
        clauses: &[kernel_log("WARN")],
        excuse: Nothing,
    }

    /// A kernel that hangs.
    KernelHangs {
        name: "kernel-hangs",
        kind: Stall,
        analyzer: HostLog,
        expected: "no packet blocks a task or a processor of the host",
        clauses: &[kernel_log("hung task, soft lockup or RCU stall")],
        excuse: Nothing,
    }

    /// A program that ended because of its NIC.
    AgentEnds {
        name: "agent-ends",
        kind: Crash,
        analyzer: HostLog,
        expected: "no packet makes the program that uses the QP crash or exit",
        clauses: &[iba("9.9.2"), iba("9.9.3")],
        excuse: Nothing,
    }

    /// A host that does not answer any more.
    HostSilent {
        name: "host-silent",
        kind: Stall,
        analyzer: HostLog,
        expected: "no packet makes the host unreachable, and its QPs can still be destroyed",
        clauses: &[iba("9.9.2"), iba("9.9.3")],
        excuse: Nothing,
    }

    /// A host that was started again in the middle of a test.
    HostRestarts {
        name: "host-restarts",
        kind: Crash,
        analyzer: HostLog,
        expected: "no packet makes the host restart",
        clauses: &[iba("9.9.2"), iba("9.9.3")],
        excuse: Nothing,
    }

    /// A test whose QPs never come to an end.
    NeverEnds {
        name: "never-ends",
        kind: Stall,
        analyzer: End,
        expected: "a QP completes its messages, or fails when its retries are exhausted",
        clauses: &[iba("9.7.6.1.3"), iba("9.9.2.1")],
        excuse: Nothing,
    }
}
