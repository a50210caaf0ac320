//! The three go-back-N machines as transition tables: requester and responder of requests, and the two ends of
//! a Read's response stream (Lumina §4: the specification as a finite-state machine).
//!
//! A test holds the tables to traces: every line happens in a conforming trace or, if it breaks a rule, in an
//! edited one, but for those that are said to be rare (two unlikely things at once) or never to happen.
//!
//! Events are symbolic: the tracker compares PSNs and times and says, for example, "a NAK that names the PSN
//! whose loss is open". Section numbers are those of the InfiniBand architecture specification, volume 1.

/// Machine of the requester of Sends, Writes, Reads and atomics.
pub mod requester {
    use crate::machines::table::{Next, machine};
    use crate::rules::{Rule, iba, remark};
    use Next::{Go, Never, Stay, Wrong, WrongGo};
    use State::{Failed, Flowing, GapHeard, NakHeard, Repeating, RnrHeard};

    machine! {
        first 0;
        /// State of the requester: NAKs and gaps that it has received, as far as the switch can tell.
        states State {
            /// Nothing to repeat.
            Flowing = "flowing",
            /// A sequence NAK is on its way or there: the requester must retransmit.
            NakHeard = "nak-heard",
            /// A response beyond the awaited one was delivered (implied NAK): the Read is to be re-issued.
            GapHeard = "gap-heard",
            /// An RNR NAK is on its way or there: the requester waits, then retransmits.
            RnrHeard = "rnr-heard",
            /// Going back: requests below the highest sent one are being repeated.
            Repeating = "repeating",
            /// A NAK that ends the QP was delivered.
            Failed = "failed",
        }
        /// Packets of the requester, or packets delivered to it.
        events Event {
            /// Sends the next new request, when nothing is left to repeat.
            SendNew,
            /// Repeats the request after the one that it just repeated.
            SendNext,
            /// Leaves out requests that have meanwhile been acknowledged.
            SkipAcknowledged,
            /// Repeats from the NAKed PSN.
            ResumeAtNak,
            /// Re-issues a Read from the missing response.
            ResumeAtGap,
            /// Repeats from the RNR-NAKed PSN.
            ResumeAfterRnr,
            /// Repeats from the oldest unacknowledged PSN when the timer can have expired.
            ResumeByTimer,
            /// The same, but the timer cannot have expired.
            ResumeTooSoon,
            /// Repeats from beyond the NAKed or unacknowledged PSN.
            ResumeLate,
            /// Repeats from before it.
            ResumeEarly,
            /// The same, when the ACK timer would expire if the acknowledgement had not come.
            ResumeAnswered,
            /// Repeats from a PSN whose acknowledgement (or whose NAK that ends the QP) passed the switch: it seems
            /// not to have arrived.
            ResumeUnheard,
            /// The same, and the host counts packets that it discarded.
            ResumeDiscarded,
            /// Repeats for a cause that may have arrived before the NAK that ends the QP.
            ResumeCrossing,
            /// Repeats when the timer expired, long after a NAK that asked for it.
            ResumeIgnoringNak,
            /// Issues a Read again when the timer expired, long after a response beyond the missing one arrived.
            ResumeIgnoringGap,
            /// Repeats from the RNR-NAKed PSN before the wait is over.
            ResumeDuringRnr,
            /// Sends a new request that leaves out PSNs.
            SendBeyond,
            /// Sends the next new request long after a NAK that requested a retransmission.
            SendIgnoringNak,
            /// Sends the next new request long after a NAK that ends the QP.
            SendAfterFatal,
            /// An ACK is delivered.
            HearAck,
            /// A sequence NAK is delivered.
            HearNak,
            /// A response beyond the awaited one, or an ACK beyond an unanswered Read, is delivered.
            HearGap,
            /// An RNR NAK is delivered.
            HearRnr,
            /// A NAK that ends the QP is delivered.
            HearFatal,
        }

        [Flowing | NakHeard | GapHeard | RnrHeard | Failed] SendNew => Stay, iba("9.7.2").note("what is in the pipeline still leaves");
        [Repeating] SendNew => Go(Flowing), iba("9.7.5.2").note("all is repeated");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating | Failed] SendNext => Stay, iba("9.7.5.2").note("go back and go on");
        [Flowing | Repeating] SkipAcknowledged => Stay, iba("9.7.5.1.2").note("a coalesced ACK covers them");
        [NakHeard | GapHeard | RnrHeard | Failed] SkipAcknowledged => Stay, iba("9.7.5.1.2").rare("while that is on its way");
        [NakHeard] ResumeAtNak => Go(Repeating), iba("9.7.5.2").note("retransmission starts at the NAKed PSN");
        [Flowing | GapHeard | RnrHeard | Repeating] ResumeAtNak => Go(Repeating), iba("9.7.5.2").note("received together with something else");
        [GapHeard] ResumeAtGap => Go(Repeating), iba("9.7.5.1").note("implied NAK: re-issue from the missing PSN");
        [Flowing | NakHeard | RnrHeard | Repeating] ResumeAtGap => Go(Repeating), iba("9.7.5.1").note("received together with something else");
        [RnrHeard] ResumeAfterRnr => Go(Repeating), iba("9.7.5.2.8").note("retry after the RNR timer");
        [Repeating] ResumeAfterRnr => Go(Repeating), iba("9.7.5.2.8").note("the timer had expired while the NAK was on its way");
        [Flowing | NakHeard | GapHeard] ResumeAfterRnr => Go(Repeating), iba("9.7.5.2.8").rare("received together with something else");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating] ResumeByTimer => Go(Repeating), iba("9.7.6.1.3").note("ACK timer expired");
        [Flowing | Repeating] ResumeTooSoon => WrongGo(Rule::RetransmissionWithoutCause, Repeating), iba("9.7.6.1.3").note("no sooner than T");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating] ResumeLate => WrongGo(Rule::ResumeLate, Repeating), iba("9.7.5.2").note("none may be left out");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating] ResumeEarly => WrongGo(Rule::ResumeEarly, Repeating), iba("9.7.5.2").note("at the NAKed PSN, not before");
        [Flowing | Repeating] ResumeAnswered => WrongGo(Rule::TimeoutUnexplained, Repeating), iba("9.7.6.1.3").note("what is acknowledged stops the timer");
        [NakHeard | GapHeard | RnrHeard] ResumeAnswered => WrongGo(Rule::TimeoutUnexplained, Repeating), iba("9.7.6.1.3").rare("and a NAK is on its way");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating] ResumeUnheard => WrongGo(Rule::DeliveredYetMissing, Repeating), iba("9.7.6.1.3").note("lost behind the switch");
        [Flowing | Repeating | Failed] ResumeDiscarded => Go(Repeating), iba("9.7.6.1.3").note("judged by the counters of the receiver");
        [NakHeard | GapHeard | RnrHeard] ResumeDiscarded => Go(Repeating), iba("9.7.6.1.3").rare("and a NAK is on its way");
        [NakHeard | GapHeard | RnrHeard] ResumeTooSoon => WrongGo(Rule::RetransmissionWithoutCause, Repeating), iba("9.7.6.1.3").rare("the NAK itself is a cause");
        [Failed] ResumeAtNak => Wrong(Rule::RetryAfterFatalNak), iba("9.9.2").note("the QP is in error");
        [Failed] ResumeAtGap => Wrong(Rule::RetryAfterFatalNak), iba("9.9.2").rare("and a response is missing");
        [Failed] ResumeAfterRnr => Wrong(Rule::RetryAfterFatalNak), iba("9.9.2").note("the QP is in error");
        [Failed] ResumeByTimer => Wrong(Rule::RetryAfterFatalNak), iba("9.9.2").note("the QP is in error");
        [Failed] ResumeTooSoon => Wrong(Rule::RetryAfterFatalNak), iba("9.9.2").note("the QP is in error");
        [Failed] ResumeLate => Wrong(Rule::RetryAfterFatalNak), iba("9.9.2").note("the QP is in error");
        [Failed] ResumeEarly => Wrong(Rule::RetryAfterFatalNak), iba("9.9.2").note("the QP is in error");
        [Failed] ResumeAnswered => Wrong(Rule::RetryAfterFatalNak), iba("9.9.2").rare("and an earlier acknowledgement was not heard");
        [Failed] ResumeUnheard => WrongGo(Rule::DeliveredYetMissing, Repeating), iba("9.9.2").note("the NAK was lost behind the switch");
        [Failed] ResumeCrossing => Stay, iba("9.9.2").note("the NAK was still on its way");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating] ResumeCrossing => Never, remark("only a failed QP");
        [NakHeard] ResumeIgnoringNak => WrongGo(Rule::NakIgnored, Repeating), iba("9.7.5.2").note("retransmission starts when the NAK arrives");
        [Flowing | GapHeard | RnrHeard | Repeating] ResumeIgnoringNak => WrongGo(Rule::NakIgnored, Repeating), iba("9.7.5.2").rare("received together with something else");
        [NakHeard] SendIgnoringNak => Wrong(Rule::NakIgnored), iba("9.7.5.2").rare("with nothing acknowledged, few windows are that large");
        [Flowing | GapHeard | RnrHeard | Repeating] SendIgnoringNak => Wrong(Rule::NakIgnored), iba("9.7.5.2").rare("received together with something else");
        [GapHeard] ResumeIgnoringGap => WrongGo(Rule::ImpliedNakMissing, Repeating), iba("9.7.5.1").note("a missing response is an implied NAK");
        [Flowing | NakHeard | RnrHeard | Repeating] ResumeIgnoringGap => WrongGo(Rule::ImpliedNakMissing, Repeating), iba("9.7.5.1").rare("received together with another cause");
        [Failed] ResumeIgnoringGap => Never, remark("a failed QP must not retransmit");
        [Failed] ResumeIgnoringNak => Never, remark("a failed QP sends no more requests");
        [Failed] SendIgnoringNak => Never, remark("a failed QP sends no more requests");
        [RnrHeard] ResumeDuringRnr => WrongGo(Rule::RnrWaitShort, Repeating), iba("9.7.5.2.8").note("no sooner than the RNR timer");
        [Flowing | NakHeard | GapHeard | Repeating] ResumeDuringRnr => WrongGo(Rule::RnrWaitShort, Repeating), iba("9.7.5.2.8").rare("received together with something else");
        [Failed] ResumeDuringRnr => Wrong(Rule::RetryAfterFatalNak), iba("9.9.2").rare("a NAK that ends the QP after that");
        [Failed] SendAfterFatal => Wrong(Rule::RequestAfterFatalNak), iba("9.9.2").rare("with nothing acknowledged, few windows are that large");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating] SendAfterFatal => Never, remark("only a failed QP");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating | Failed] SendBeyond => Wrong(Rule::PsnSkipped), iba("9.7.2").note("consecutive PSNs");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating | Failed] HearAck => Stay, iba("9.7.5.1");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating] HearNak => Go(NakHeard), iba("9.7.5.2");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating] HearGap => Go(GapHeard), iba("9.7.5.1");
        [Flowing | NakHeard | GapHeard | RnrHeard | Repeating] HearRnr => Go(RnrHeard), iba("9.7.5.2.8");
        [Failed] HearNak => Stay, iba("9.9.2").rare("delayed until after it");
        [Failed] HearGap => Stay, iba("9.9.2").rare("delayed until after it");
        [Failed] HearRnr => Stay, iba("9.9.2").rare("delayed until after it");
        [Flowing | NakHeard | GapHeard | Repeating | Failed] HearFatal => Go(Failed), iba("9.9.2");
        [RnrHeard] HearFatal => Go(Failed), iba("9.9.2").rare("a NAK that ends the QP after that");
    }
}

/// Machine of the responder that takes requests and acknowledges them.
pub mod responder {
    use crate::machines::table::{Next, machine};
    use crate::rules::{Rule, iba, remark};
    use Next::{Go, Never, Stay, Wrong, WrongGo};
    use State::{Failed, GapNaked, GapOpen, InOrder, NotReady};

    machine! {
        first super::requester::END;
        /// State of the responder, if everything that left the switch has arrived.
        states State {
            /// Everything so far came in order.
            InOrder = "in-order",
            /// A packet beyond the expected one was delivered: the responder must send a NAK.
            GapOpen = "gap-open",
            /// The expected PSN was NAKed: silence until it arrives.
            GapNaked = "gap-naked",
            /// An RNR NAK was sent: the request is awaited again.
            NotReady = "not-ready",
            /// A NAK that ends the QP was sent.
            Failed = "failed",
        }
        /// Packets delivered to the responder, or packets that it sends.
        events Event {
            /// The expected request is delivered.
            TakeExpected,
            /// A request beyond the expected one is delivered.
            TakeBeyond,
            /// A request that was taken before is delivered.
            TakeDuplicate,
            /// Shows that it has packets that it seemed to miss.
            HasAll,
            /// Acknowledges packets that were delivered in order.
            Ack,
            /// Acknowledges more than was delivered in order.
            AckBeyond,
            /// Acknowledges less than before.
            AckBack,
            /// Acknowledges past a Read or atomic that it has not answered.
            AckPastRead,
            /// NAKs a PSN whose gap was delivered and not NAKed yet.
            NakOwed,
            /// NAKs a PSN again.
            NakAgain,
            /// NAKs a PSN beyond the expected one.
            NakAhead,
            /// NAKs a PSN that it has acknowledged.
            NakAcknowledged,
            /// NAKs the expected PSN although nothing came out of order.
            NakIdle,
            /// NAKs a PSN that left the switch intact, and the host counts packets that it discarded.
            NakDiscarded,
            /// The same, and the host counts no discarded packet: its next answers show if it has the packet.
            NakDisputed,
            /// The same, although every packet that left the switch reached the transport.
            NakDeliveredUnlost,
            /// The same, and nothing is known that it could have missed since it acknowledged something last.
            NakUnprovoked,
            /// Sends an RNR NAK for a request that was delivered and not acknowledged.
            Rnr,
            /// Sends an RNR NAK for another one.
            RnrOther,
            /// Sends a NAK that ends the QP.
            Fatal,
        }

        [InOrder] TakeExpected => Stay, iba("9.7.4").note("expected PSN");
        [GapOpen | GapNaked | NotReady] TakeExpected => Go(InOrder), iba("9.7.4").note("expected PSN");
        [Failed] TakeExpected => Stay, iba("9.9.3").note("the QP is in error");
        [InOrder] TakeBeyond => Go(GapOpen), iba("9.7.4").note("invalid PSN: out of sequence");
        [GapOpen | GapNaked | NotReady | Failed] TakeBeyond => Stay, iba("9.7.5.2").note("one NAK an expected PSN");
        [InOrder | GapOpen | GapNaked | NotReady | Failed] TakeDuplicate => Stay, iba("9.7.5.1").note("duplicates are answered in this state too");
        [GapOpen | GapNaked] HasAll => Go(InOrder), iba("9.7.5.1").note("the gap was none");
        [InOrder] HasAll => Stay, iba("9.7.5.1").note("it had all");
        [NotReady | Failed] HasAll => Stay, iba("9.7.5.1").rare("and not ready, or in error");
        [InOrder | GapOpen | GapNaked | NotReady] Ack => Stay, iba("9.7.5.1").note("coalesced: 9.7.5.1.2");
        [Failed] Ack => Stay, iba("9.9.3").rare("sent before");
        [InOrder | GapOpen | GapNaked | NotReady | Failed] AckBeyond => Wrong(Rule::AckBeyondData), iba("9.7.5.1");
        [InOrder | GapOpen | GapNaked | NotReady | Failed] AckBack => Wrong(Rule::AckRegresses), iba("9.7.5.1");
        [InOrder | GapOpen | GapNaked | Failed] AckPastRead => Wrong(Rule::AckPassesRead), iba("9.7.5.1.2");
        [NotReady] AckPastRead => Wrong(Rule::AckPassesRead), iba("9.7.5.1.2").rare("and not ready");
        [GapOpen] NakOwed => Go(GapNaked), iba("9.7.5.2").note("NAK with the expected PSN");
        [NotReady] NakOwed => Go(GapNaked), iba("9.7.5.2").note("what followed an RNR-NAKed request is out of order");
        [InOrder | GapNaked] NakOwed => Stay, iba("9.7.5.2").note("sent before the repeated packet arrived");
        [InOrder | GapOpen | GapNaked] NakAgain => Wrong(Rule::NakAgain), iba("9.7.5.2").note("only one");
        [NotReady] NakAgain => Wrong(Rule::NakAgain), iba("9.7.5.2").rare("and not ready");
        [InOrder | GapOpen | GapNaked | NotReady] NakAhead => Wrong(Rule::NakWrongPsn), iba("9.7.5.2").note("the expected PSN");
        [InOrder | GapOpen | GapNaked | NotReady] NakAcknowledged => Wrong(Rule::NakWrongPsn), iba("9.7.5.2").note("the expected PSN");
        [InOrder | NotReady] NakIdle => Wrong(Rule::NakWithoutCause), iba("9.7.5.2").note("only when out of sequence");
        [GapOpen] NakIdle => Never, remark("the gap is a cause");
        [GapNaked] NakIdle => Wrong(Rule::NakWithoutCause), iba("9.7.5.2").rare("a copy was refused, and the next one not");
        [InOrder | GapOpen] NakDiscarded => Go(GapNaked), iba("9.7.5.2").note("judged by the counters of the receiver");
        [GapNaked | NotReady] NakDiscarded => Go(GapNaked), iba("9.7.5.2").rare("and another loss before");
        [InOrder | GapOpen] NakDisputed => Go(GapNaked), iba("9.7.5.2").note("judged by the next answer");
        [GapNaked | NotReady] NakDisputed => Go(GapNaked), iba("9.7.5.2").rare("and another loss before");
        [Failed] NakDisputed => Stay, iba("9.9.3").rare("sent before");
        [InOrder | GapOpen] NakDeliveredUnlost => WrongGo(Rule::NakWrongPsn, GapNaked), iba("9.7.5.2").note("nothing was lost behind the switch");
        [InOrder] NakUnprovoked => WrongGo(Rule::NakWithoutCause, GapNaked), iba("9.7.5.2").note("nothing was lost, before the switch or behind it");
        [GapOpen | GapNaked | NotReady | Failed] NakUnprovoked => Never, remark("there is a cause");
        [GapNaked | NotReady] NakDeliveredUnlost => WrongGo(Rule::NakWrongPsn, GapNaked), iba("9.7.5.2").rare("and another loss before");
        [Failed] NakOwed => Stay, iba("9.9.3").rare("sent before");
        [Failed] NakAgain => Wrong(Rule::NakAgain), iba("9.7.5.2").rare("and in error");
        [Failed] NakAhead => Wrong(Rule::NakWrongPsn), iba("9.7.5.2");
        [Failed] NakAcknowledged => Wrong(Rule::NakWrongPsn), iba("9.7.5.2");
        [Failed] NakIdle => Wrong(Rule::NakWithoutCause), iba("9.7.5.2").rare("and in error");
        [Failed] NakDiscarded => Stay, iba("9.9.3").rare("sent before");
        [Failed] NakDeliveredUnlost => Wrong(Rule::NakWrongPsn), iba("9.7.5.2").rare("and in error");
        [InOrder | GapOpen | GapNaked | NotReady] Rnr => Go(NotReady), iba("9.7.5.2.8");
        [Failed] Rnr => Stay, iba("9.9.3").rare("sent before");
        [InOrder | GapOpen | GapNaked | NotReady | Failed] RnrOther => Wrong(Rule::RnrUndelivered), iba("9.7.5.2.8");
        [InOrder | GapOpen | GapNaked] Fatal => Go(Failed), iba("9.9.3");
        [NotReady | Failed] Fatal => Go(Failed), iba("9.9.3").rare("refused before");
    }
}

/// Machine of the responder that answers Reads and atomics.
pub mod answers {
    use crate::machines::table::{Next, machine};
    use crate::rules::{Rule, iba, remark};
    use Next::{Go, Never, Stay, Wrong, WrongGo};
    use State::{Answering, Idle};

    machine! {
        first super::responder::END;
        /// State of the response stream.
        states State {
            /// No response is under way.
            Idle = "idle",
            /// A response has begun and not ended.
            Answering = "answering",
        }
        /// Packets that the responder sends.
        events Event {
            /// The next packet of the response under way; more follow.
            Continue,
            /// Its last packet.
            Finish,
            /// The first packet of the next delivered request's response; more follow.
            Begin,
            /// The only packet of the next delivered request's response.
            Answer,
            /// Begins the response to a repeated request, leaving the one under way.
            Restart,
            /// Answers a repeated request with one packet, leaving the response under way.
            RestartAnswer,
            /// Leaves out packets of the response under way, or a whole request.
            Skip,
            /// A response that no delivered request asked for.
            Unrequested,
            /// FIRST, MIDDLE, LAST or ONLY in another place than its own.
            Misplaced,
            /// More or fewer bytes than the request asks for.
            WrongLength,
        }

        [Answering] Continue => Stay, iba("9.7.5.1").note("consecutive PSNs");
        [Idle] Continue => Never, remark("no response is under way");
        [Answering] Finish => Go(Idle), iba("9.7.5.1");
        [Idle] Finish => Never, remark("no response is under way");
        [Idle] Begin => Go(Answering), iba("9.7.5.1").note("in the order of requests");
        [Answering] Begin => WrongGo(Rule::ResponseGap, Answering), iba("9.7.5.1").note("the previous response had not ended");
        [Idle] Answer => Stay, iba("9.7.5.1").note("ONLY, or an atomic acknowledgement");
        [Answering] Answer => WrongGo(Rule::ResponseGap, Idle), iba("9.7.5.1").note("the previous response had not ended");
        [Idle | Answering] Restart => Go(Answering), iba("9.7.5.1").note("a duplicate Read is executed again");
        [Idle | Answering] RestartAnswer => Go(Idle), iba("9.7.5.1").note("a duplicate Read or atomic");
        [Idle | Answering] Skip => WrongGo(Rule::ResponseGap, Answering), iba("9.7.5.1");
        [Idle | Answering] Unrequested => Wrong(Rule::ResponseUnrequested), iba("9.7.5.1");
        [Idle | Answering] Misplaced => Wrong(Rule::ResponsePosition), iba("9.4").note("response packets");
        [Idle] WrongLength => Wrong(Rule::ResponseLength), iba("9.4").note("RDMA Read");
        [Answering] WrongLength => Never, remark("the response has ended");
    }
}
