//! Every rule that an analyzer holds a NIC to, with the expected behaviour and its source.

use crate::kind::Kind;

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $name:literal, $kind:ident, $expected:literal, $source:literal;)*) => {
        /// A rule that an analyzer holds a NIC to.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$rule),*];

            /// Name in signatures and reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// Kind of anomaly that breaking the rule is.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$rule => Kind::$kind,)* }
            }

            /// Expected behaviour.
            pub const fn expected(self) -> &'static str {
                match self { $(Self::$rule => $expected,)* }
            }

            /// Clause that the rule is written in.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$rule => $source,)* }
            }
        }
    };
}

rules! {
    /// A second sequence NAK for the same expected PSN.
    NakAgain = "nak-again", GbnViolation,
        "the responder sends one PSN sequence error NAK for an expected PSN, and no other until that PSN arrives",
        "IBA vol. 1, 9.7.5.2 and 9.9.3";
    /// A sequence NAK that names a PSN other than the expected one.
    NakWrongPsn = "nak-wrong-psn", GbnViolation,
        "a PSN sequence error NAK names the responder's expected PSN",
        "IBA vol. 1, 9.7.5.2";
    /// A sequence NAK although nothing arrived out of order.
    NakWithoutCause = "nak-without-cause", GbnViolation,
        "the responder sends a PSN sequence error NAK only after a packet beyond its expected PSN has arrived",
        "IBA vol. 1, 9.7.5.2";
    /// No sequence NAK although a packet arrived out of order, so that the requester had to time out.
    NakMissing = "nak-missing", GbnViolation,
        "the responder sends a PSN sequence error NAK when a packet beyond its expected PSN arrives",
        "IBA vol. 1, 9.7.5.2; Lumina §4";
    /// An acknowledgement of packets that were never delivered.
    AckBeyondData = "ack-beyond-data", GbnViolation,
        "an ACK covers only packets that were delivered in order",
        "IBA vol. 1, 9.7.5.1";
    /// An acknowledgement of less than was acknowledged before.
    AckRegresses = "ack-regresses", GbnViolation,
        "an ACK of a duplicate request carries the latest PSN received in order, so that the PSNs of ACKs never decrease",
        "IBA vol. 1, 9.7.5.1";
    /// An acknowledgement that overtakes a Read or atomic that has not been answered.
    AckPassesRead = "ack-passes-read", GbnViolation,
        "an ACK covers neither a Read or atomic whose response has not been sent, nor any later PSN",
        "IBA vol. 1, 9.7.5.1.2";
    /// A request with AckReq that was taken and is never acknowledged, so that the requester had to time out.
    AckMissing = "ack-missing", GbnViolation,
        "the responder acknowledges a request with AckReq that arrives in order, with an ACK of this or of a later request",
        "IBA vol. 1, 9.7.5.1";
    /// A duplicate request with AckReq that is never acknowledged again.
    ReackMissing = "reack-missing", GbnViolation,
        "the responder again acknowledges a duplicate Send or Write that has AckReq set",
        "IBA vol. 1, 9.7.5.1";
    /// A duplicate Read request that is never answered.
    RereadMissing = "reread-missing", GbnViolation,
        "the responder executes a duplicate Read request again and sends the responses from its PSN on",
        "IBA vol. 1, 9.7.5.1";
    /// A retransmission that neither a NAK nor an expired timer explains.
    RetransmissionWithoutCause = "retransmission-without-cause", GbnViolation,
        "the requester retransmits only after a NAK, an implied NAK or an expiry of the ACK timer",
        "IBA vol. 1, 9.7.5.2 and 9.7.6.1.3";
    /// Retransmissions for ACKs that acknowledge nothing new.
    RetransmissionOnDuplicateAck = "retransmission-on-duplicate-ack", GbnViolation,
        "the requester does not retransmit because of a duplicate ACK, only after a NAK, an implied NAK or an expiry of the ACK timer",
        "IBA vol. 1, 9.7.5.1 and 9.7.6.1.3";
    /// A retransmission that leaves out packets that nobody has acknowledged.
    ResumeLate = "resume-late", GbnViolation,
        "a retransmission starts at the NAKed PSN, or else at the oldest unacknowledged PSN, and leaves no PSN out",
        "IBA vol. 1, 9.7.5.2";
    /// A retransmission that starts before the NAKed or oldest unacknowledged PSN.
    ResumeEarly = "resume-early", GbnViolation,
        "a retransmission starts at the NAKed PSN, or else at the oldest unacknowledged PSN, and not before it",
        "IBA vol. 1, 9.7.5.2";
    /// A sequence NAK that the requester does not act on.
    NakIgnored = "nak-ignored", GbnViolation,
        "the requester retransmits from the PSN of a sequence NAK when the NAK arrives, not when the ACK timer expires",
        "IBA vol. 1, 9.7.5.2";
    /// A missing Read response on which the requester does not act until its timer expires.
    ImpliedNakMissing = "implied-nak-missing", GbnViolation,
        "the requester issues a Read again when a response beyond the missing one arrives, not when its ACK timer expires",
        "IBA vol. 1, 9.7.5.1 and 9.7.5.2 (implied NAK)";
    /// A request packet whose opcode does not fit its place in the message.
    RequestPosition = "request-position", ProtocolViolation,
        "the packets of a Send or Write are FIRST, MIDDLE..., LAST, or one ONLY",
        "IBA vol. 1, 9.7.3.2.1 and 9.4";
    /// A repeated request packet of another opcode than the first copy.
    RetransmissionDiffers = "retransmission-differs", ProtocolViolation,
        "a repeated request packet has the opcode of the first copy of its PSN",
        "IBA vol. 1, 9.7.2 and 9.4";
    /// A repeated Read request that does not ask for the rest of the data.
    ReissueAddress = "reissue-address", ProtocolViolation,
        "a retransmitted Read requests the missing bytes: its address is advanced, and its length reduced, by the bytes received",
        "IBA vol. 1, 9.7.5.1.1";
    /// A retry before the wait is over that an RNR NAK asks for.
    RnrWaitShort = "rnr-wait-short", ProtocolViolation,
        "after an RNR NAK, the requester waits at least as long as the timer code of the NAK says before it retries",
        "IBA vol. 1, 9.7.5.2.8, table of RNR NAK timer values";
    /// New requests after a NAK that ends the QP.
    RequestAfterFatalNak = "request-after-fatal-nak", ProtocolViolation,
        "the requester sends no new request after a NAK that moves the QP to the error state",
        "IBA vol. 1, 9.9.2";
    /// A new request that leaves out PSNs.
    PsnSkipped = "psn-skipped", ProtocolViolation,
        "new requests have consecutive PSNs",
        "IBA vol. 1, 9.7.2";
    /// A retransmission after a NAK that ends the QP.
    RetryAfterFatalNak = "retry-after-fatal-nak", ProtocolViolation,
        "the requester does not retry a request after a NAK that moves the QP to the error state",
        "IBA vol. 1, 9.9.2";
    /// A NAK that ends the QP for a Write or Read with which nothing is wrong.
    FatalNakWithoutCause = "fatal-nak-without-cause", ProtocolViolation,
        "the responder sends a NAK that moves the QP to the error state only for a request that is malformed or not allowed",
        "IBA vol. 1, 9.7.4.1 and 9.9.3";
    /// An acknowledgement of a request whose length is not that of its data.
    WrongLengthAccepted = "wrong-length-accepted", ProtocolViolation,
        "a Write whose packets carry more or less than the length in its RETH is refused as an invalid request",
        "IBA vol. 1, 9.7.4.1.6 and 9.9.3";
    /// An acknowledgement of, or response to, a request with a wrong R_Key.
    WrongKeyAccepted = "wrong-key-accepted", ProtocolViolation,
        "a Write or Read with a wrong R_Key is refused with a remote access error",
        "IBA vol. 1, 9.7.4.1.5 and 9.9.3";
    /// An acknowledgement of, or response to, a request with a wrong partition key.
    WrongPartitionAccepted = "wrong-partition-accepted", ProtocolViolation,
        "a packet whose P_Key is not that of the QP is dropped",
        "IBA vol. 1, 9.6.1.1.1 and 10.9.3";
    /// A message sequence number that does not count the completed messages.
    MsnWrong = "msn-wrong", ProtocolViolation,
        "the MSN of an ACK counts the messages completed up to its PSN",
        "IBA vol. 1, 9.7.7";
    /// A message sequence number in a response that cannot count the completed messages.
    ResponseMsn = "response-msn", ProtocolViolation,
        "the MSN of a Read response counts the messages completed so far; the last packet of the response also counts its own Read",
        "IBA vol. 1, 9.7.7";
    /// An RNR NAK for a request that was never delivered.
    RnrUndelivered = "rnr-undelivered", ProtocolViolation,
        "an RNR NAK names a request that has arrived and is not yet acknowledged",
        "IBA vol. 1, 9.7.5.2.8";
    /// A Read response that leaves out packets, or a Read that is left unanswered.
    ResponseGap = "response-gap", ProtocolViolation,
        "the responses to a Read have consecutive PSNs, and Reads are answered in order",
        "IBA vol. 1, 9.7.5.1";
    /// A Read response or atomic acknowledgement without a request.
    ResponseUnrequested = "response-unrequested", ProtocolViolation,
        "the PSN of a response is one of those of a request that was delivered",
        "IBA vol. 1, 9.7.5.1";
    /// A Read response packet whose opcode does not fit its place in the response.
    ResponsePosition = "response-position", ProtocolViolation,
        "the packets of a Read response are FIRST, MIDDLE..., LAST, or one ONLY",
        "IBA vol. 1, 9.4";
    /// A Read response with more or fewer bytes than were asked for.
    ResponseLength = "response-length", ProtocolViolation,
        "the packets of a Read response carry as many bytes as the Read requests",
        "IBA vol. 1, 9.4 and 9.7.4";
    /// An expiry of the ACK timer before T.
    RtoBelowMinimum = "rto-below-minimum", UnexpectedTimeout,
        "the ACK timer expires no sooner than T after its start, T = 4.096 µs x 2^timeout",
        "IBA vol. 1, 9.7.6.1.3; Lumina §6.3";
    /// An expiry of the ACK timer after 4T.
    RtoAboveMaximum = "rto-above-maximum", UnexpectedTimeout,
        "the ACK timer expires no later than 4T after its start, T = 4.096 µs x 2^timeout",
        "IBA vol. 1, 9.7.6.1.3";
    /// More transport retries without progress than configured.
    RetriesBeyondBudget = "retries-beyond-budget", RetryCount,
        "the requester retries at most retry_cnt times without progress, after time-outs, NAKs and implied NAKs together; 7 is not unlimited",
        "IBA vol. 1, 9.7.6.1.3 and 9.9.2.1; Lumina §6.3";
    /// Transport retries reported as exhausted before they were.
    RetriesBelowBudget = "retries-below-budget", RetryCount,
        "a request completes with retry-exceeded only after retry_cnt retries without progress",
        "IBA vol. 1, 9.7.6.1.3 and 9.9.2.1; Lumina §6.3";
    /// More RNR retries without progress than configured.
    RnrRetriesBeyondBudget = "rnr-retries-beyond-budget", RetryCount,
        "the requester retries at most rnr_retry times after RNR NAKs without progress; 7 is unlimited",
        "IBA vol. 1, 9.7.5.2.8";
    /// RNR retries reported as exhausted before they were.
    RnrRetriesBelowBudget = "rnr-retries-below-budget", RetryCount,
        "a request completes with RNR-retry-exceeded only after rnr_retry retries, and never if rnr_retry is 7 (unlimited)",
        "IBA vol. 1, 9.7.5.2.8";
    /// ECN-marked packets, and no CNP at all.
    EcnWithoutCnp = "ecn-without-cnp", CnpGeneration,
        "the notification point sends a CNP for an ECN-marked packet",
        "annex A17.9.3; Lumina §4";
    /// A CNP that no marked packet explains.
    CnpWithoutEcn = "cnp-without-ecn", CnpGeneration,
        "the notification point sends a CNP only for an ECN-marked packet (or, where it treats loss as congestion, for an out-of-order packet)",
        "annex A17.9.3; Lumina §4";
    /// A CNP whose header is not that of one.
    CnpForm = "cnp-form", CnpGeneration,
        "a CNP has PSN 0, BECN set and AckReq clear",
        "annex A17.9.3";
    /// Two CNPs closer than the configured interval.
    CnpTooEarly = "cnp-too-early", CnpGeneration,
        "the notification point sends at most one CNP per interval and scope (QP, destination address or port)",
        "Lumina §6.3";
    /// A marked packet without a CNP, though none was sent to its QP within the configured interval.
    CnpWithheld = "cnp-withheld", CnpGeneration,
        "the notification point sends a CNP for an ECN-marked packet unless it has sent a CNP for the same QP within the configured interval",
        "annex A17.9.3; Lumina §6.3";
    /// A message of which more or less arrived in memory than it has.
    DeliveredNotOnce = "delivered-not-once", DataCorruption,
        "every byte of a completed message is written to memory once, and no byte of any message twice",
        "IBA vol. 1, 9.7.4 (exactly once, in order) and 9.7.5.1 (duplicates are not executed again)";
    /// Data in memory that differs from the sent data.
    DeliveredWrong = "delivered-wrong", DataCorruption,
        "the bytes written to memory are the bytes of the sender's buffer",
        "IBA vol. 1, 9.7.4";
    /// A requester that neither repeats an unacknowledged request nor reports that it failed.
    RequestNeverAnswered = "request-never-answered", Stall,
        "the requester retransmits an unacknowledged request at each expiry of the ACK timer, until the request is acknowledged or fails",
        "IBA vol. 1, 9.7.6.1.3 and 9.9.2.1";
    /// A counter that moved by another number than the trace shows.
    CounterDiffers = "counter-differs", CounterMismatch,
        "a counter increases by the number of its events in the trace",
        "Lumina §4 and §6.2.4";
    /// A NAK or a retransmission of either end for a packet that left the switch, with no counter to say why.
    DeliveredYetMissing = "delivered-yet-missing", UnexplainedDiscard,
        "a packet that left the switch intact reaches the transport layer of the receiving NIC",
        "Lumina §6.2.2 and §6.2.3";
    /// A NACK that was made, or acted on, slowly.
    SlowNack = "slow-nack", SlowRetransmission,
        "a NIC sends a NAK (for a Read: issues the Read again) and retransmits after one within microseconds, not counting the time that packets wait in queues",
        "Lumina §6.1, figures 8 and 9";
    /// Discarded packets, where neither NIC of the pair discards those of its own kind.
    PairDiscards = "pair-discards", InteropDiscard,
        "if two models of NIC discard no packets that NICs of the same model send, they discard none of each other",
        "Lumina §6.2.3";
    /// Packets that a host discards, where the testbed cannot tell if it discards those of its own kind too.
    DiscardsUnexplained = "discards-unexplained", UnexplainedDiscard,
        "a NIC receives packets at the rate of its link without discarding any",
        "Lumina §6.2.3";
    /// A class that could send more than its share while the others leave theirs, and does not.
    BandwidthWithheld = "bandwidth-withheld", NonWorkConserving,
        "a traffic class with packets to send uses the bandwidth that other classes leave idle",
        "IEEE 802.1Qaz, 37.3; Lumina §6.2.1, figure 10";
    /// Connections that no event names, and that suffer when others lose packets.
    InnocentSuffers = "innocent-suffers", NoisyNeighbor,
        "a connection on which nothing is injected completes its messages as fast as in the same test without any injected events",
        "Lumina §6.2.2, figure 11";
    /// A request that was posted and never completed.
    CompletionMissing = "completion-missing", Stall,
        "a posted request completes, with success or with an error",
        "IBA vol. 1, 9.9.2.1 and 10.8.5";
    /// A message that completes with success before all of it is acknowledged.
    SuccessUnacknowledged = "success-unacknowledged", DataCorruption,
        "a message completes with success only after its last packet has been acknowledged",
        "IBA vol. 1, 9.7.5.1 and 10.8.5";
    /// A message that completes with an error that no NAK or response explains.
    FailureWithoutCause = "failure-without-cause", ProtocolViolation,
        "a message fails with a remote error or RNR retries exceeded only after a NAK that says so",
        "IBA vol. 1, 9.9.2 and 9.9.2.1";
    /// A completion of nothing that was posted, of what had completed before, or out of its turn.
    CompletionUnfounded = "completion-unfounded", DataCorruption,
        "every completion belongs to a posted request, no request completes twice, and Receives complete in the order of posting",
        "IBA vol. 1, 10.8.5 and 10.8.5.1";
    /// A kernel that crashed.
    KernelCrashes = "kernel-crashes", Crash,
        "no packet crashes the kernel: the host discards it, NAKs it or moves the QP to the error state",
        "IBA vol. 1, 9.9.2 and 9.9.3";
    /// A kernel that warned of a fault of its own.
    KernelWarns = "kernel-warns", Crash,
        "no packet triggers a WARN in the kernel",
        "WARN of the kernel's log";
    /// A kernel that hangs.
    KernelHangs = "kernel-hangs", Stall,
        "no packet blocks a task or a processor of the host",
        "hung task, soft lockup or RCU stall of the kernel's log";
    /// A program that ended because of its NIC.
    AgentEnds = "agent-ends", Crash,
        "no packet makes the program that uses the QP crash or exit",
        "IBA vol. 1, 9.9.2 and 9.9.3";
    /// A host that does not answer any more.
    HostSilent = "host-silent", Stall,
        "no packet makes the host unreachable, and its QPs can still be destroyed",
        "IBA vol. 1, 9.9.2 and 9.9.3";
    /// A test whose QPs never come to an end.
    NeverEnds = "never-ends", Stall,
        "a QP completes its messages, or fails when its retries are exhausted",
        "IBA vol. 1, 9.7.6.1.3 and 9.9.2.1";
}

impl Rule {
    /// Returns true if packets missing from the capture could explain the broken rule. A plain capture has
    /// holes that nothing shows: packets lost before it, behind it, or by the capturing program.
    pub const fn excused_by_unseen_packets(self) -> bool {
        matches!(
            self,
            Self::PsnSkipped
                | Self::ResumeLate
                | Self::RequestPosition
                | Self::NakIgnored
                | Self::ResponseGap
                | Self::NakMissing
                | Self::ReackMissing
                | Self::RereadMissing
                | Self::AckMissing
                | Self::ResponseMsn
                | Self::RetriesBelowBudget
                | Self::RequestNeverAnswered
                | Self::RnrRetriesBelowBudget
                | Self::EcnWithoutCnp
                | Self::CnpWithheld
                | Self::DeliveredYetMissing
                | Self::FatalNakWithoutCause
                | Self::FailureWithoutCause
                | Self::SuccessUnacknowledged
                | Self::RetransmissionOnDuplicateAck
                // An unseen request, or an unseen NAK.
                | Self::AckBeyondData
                | Self::AckPassesRead
                | Self::NakAgain
                | Self::NakWrongPsn
                | Self::NakWithoutCause
                | Self::RnrUndelivered
                | Self::MsnWrong
                | Self::ResponseUnrequested
                | Self::ResponsePosition
                | Self::RetransmissionWithoutCause
                | Self::ImpliedNakMissing
                | Self::RnrWaitShort
                | Self::WrongLengthAccepted
                | Self::WrongKeyAccepted
                | Self::WrongPartitionAccepted
                // An unseen retransmission, or an unseen ACK.
                | Self::RtoBelowMinimum
                | Self::RtoAboveMaximum
                | Self::ResumeEarly
                | Self::ReissueAddress
                | Self::RetransmissionDiffers
                | Self::RetriesBeyondBudget
                | Self::RetryAfterFatalNak
                | Self::RequestAfterFatalNak
                // An unseen mark.
                | Self::CnpWithoutEcn
        )
    }
}
