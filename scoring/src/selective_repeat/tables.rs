//! The machines of one PSN with selective repeat: at the end that sends it, and at the end that receives it.
//!
//! A test holds the tables to traces: every line happens in one, but for those that are said to be rare or never to happen.

/// Machine of a PSN at the requester.
pub mod sender {
    use crate::go_back_n::tables::answers;
    use crate::machines::table::{Next, machine};
    use crate::rules::{Rule, left, remark};
    use Next::{Go, Never, Stay, Wrong};
    use State::{Acknowledged, Asked, Repeated};

    machine! {
        first answers::END;
        /// State of the PSN, as far as the switch can tell.
        states State {
            /// Sent, and nobody asked for it again.
            Sent = "sent",
            /// A NAK or RNR NAK that asks for it was delivered.
            Asked = "asked",
            /// Sent again, as often as it was asked for.
            Repeated = "repeated",
            /// An acknowledgement of it was delivered, or for a Read the response.
            Acknowledged = "acknowledged",
        }
        /// Packets of the requester, or packets delivered to it.
        events Event {
            /// A NAK or RNR NAK that names it is delivered.
            HearNak,
            /// An acknowledgement that covers it, or its response, is delivered.
            HearAck,
            /// It is sent again, and was asked for.
            RepeatAsked,
            /// It is sent again when its timer can have expired, and may be the oldest that is not acknowledged.
            RepeatByTimer,
            /// The same, but its acknowledgement has left the switch: it may have been under way, or have been lost behind it.
            RepeatUnheard,
            /// It is sent again for no reason.
            RepeatUnasked,
        }

        [Sent | Asked | Repeated] HearNak => Go(Asked), left("§3").note("a NAK names the missing packet");
        [Acknowledged] HearNak => Stay, left("§3").note("an acknowledgement overtook the NAK");
        [Sent | Asked | Repeated] HearAck => Go(Acknowledged), left("§3").note("an ACK covers everything before it");
        [Acknowledged] HearAck => Never, remark("it is acknowledged once");
        [Asked] RepeatAsked => Go(Repeated), left("§3").note("the packet that is missing, and no other");
        [Repeated] RepeatAsked => Stay, left("§3").note("a copy of the NAK asked again");
        [Acknowledged] RepeatAsked => Stay, left("§3").note("the acknowledgement came after the NAK");
        [Sent] RepeatAsked => Never, remark("nobody asked");
        [Sent | Repeated] RepeatByTimer => Stay, left("§3").note("the oldest packet alone");
        [Asked] RepeatByTimer => Never, remark("it was asked for");
        [Acknowledged] RepeatByTimer => Never, remark("an acknowledged packet is not the oldest");
        [Acknowledged] RepeatUnheard => Stay, left("§3").note("the acknowledgement was on its way, or lost behind the switch");
        [Sent | Asked | Repeated] RepeatUnheard => Never, remark("no acknowledgement");
        [Sent | Repeated | Acknowledged] RepeatUnasked => Wrong(Rule::SrRetransmissionUnasked), left("§3").note("the packet that is missing, and no other");
        [Asked] RepeatUnasked => Never, remark("it was asked for");
    }
}

/// Machine of a PSN at its receiver: of a request at the responder, of a Read response at the requester.
pub mod receiver {
    use crate::machines::table::{Next, machine};
    use crate::rules::{Rule, iba, left, remark};
    use Next::{Go, Never, Stay, Wrong, WrongGo};
    use State::{Arrived, Asked, Beyond, Late, Missing, Served};

    machine! {
        first super::sender::END;
        /// State of the PSN, if everything that left the switch has arrived.
        states State {
            /// Neither it nor anything behind it was delivered.
            Awaited = "awaited",
            /// Something behind it was delivered.
            Missing = "missing",
            /// Delivered when everything before it had arrived.
            Arrived = "arrived",
            /// Delivered when something before it may have been missing, and nothing behind it was delivered: it was kept, or dropped for
            /// lack of room.
            Beyond = "beyond",
            /// Delivered after something behind it.
            Late = "late",
            /// The receiver asked for it, and it was not delivered.
            Asked = "asked",
            /// The receiver asked for it, and it was delivered.
            Served = "served",
        }
        /// Packets delivered to the receiver, or packets that it sends.
        events Event {
            /// It is delivered, and everything before it has arrived.
            DeliverInOrder,
            /// It is delivered, and something before it may be missing.
            DeliverBeyond,
            /// Something behind it is delivered, for the first time.
            Overtake,
            /// The responder has no Receive for a request before it.
            Refuse,
            /// The receiver asks for it: with a NAK, or for a response with a Read request.
            Nak,
            /// The same, when the receiver may have discarded it and has received something behind it.
            NakDiscarded,
            /// The responder has no Receive for it.
            Rnr,
            /// The receiver acknowledges it.
            Ack,
        }

        [Awaited] DeliverInOrder => Go(Arrived), left("§3").note("in order");
        [Awaited] DeliverBeyond => Go(Beyond), left("§3").note("kept if there is room");
        [Missing] DeliverInOrder => Go(Late), left("§3").note("the gap is closed");
        [Missing] DeliverBeyond => Go(Late), left("§3").note("one of several gaps");
        [Asked] DeliverInOrder => Go(Served), left("§3").note("repeated");
        [Asked] DeliverBeyond => Go(Served), left("§3").note("repeated, and others are missing");
        [Arrived | Beyond | Late | Served] DeliverInOrder => Stay, iba("9.7.5.1").note("a duplicate");
        [Beyond | Late | Served] DeliverBeyond => Stay, iba("9.7.5.1").note("a duplicate");
        [Arrived] DeliverBeyond => Never, remark("everything before it has arrived");
        [Awaited] Overtake => Go(Missing), left("§3").note("kept out of order");
        [Missing | Arrived | Beyond | Late | Asked | Served] Overtake => Never, remark("only what is awaited");
        [Arrived] Refuse => Go(Beyond), iba("9.7.5.2.8").note("what came behind it was kept, or dropped");
        [Awaited | Missing | Beyond | Late | Asked | Served] Refuse => Never, remark("only what arrived in order");
        [Missing] Nak => Go(Asked), left("§3").note("asked for once");
        [Late] Nak => Go(Served), left("§3").note("it was on its way when the NAK was sent");
        [Beyond] Nak => Go(Served), left("§3").note("there was no room for it");
        [Awaited | Arrived] Nak => WrongGo(Rule::SrNakUnprovoked, Served), left("§3").note("nothing behind it arrived before it");
        [Asked | Served] Nak => Wrong(Rule::SrNakAgain), left("§3").note("asked for once");
        [Arrived] NakDiscarded => Go(Served), left("§3").note("judged by the counters of the receiver");
        [Awaited | Missing | Beyond | Late | Asked | Served] NakDiscarded => Never, remark("only what arrived in order");
        [Arrived | Beyond | Late | Served] Rnr => Go(Served), iba("9.7.5.2.8");
        [Awaited | Missing] Rnr => WrongGo(Rule::RnrUndelivered, Asked), iba("9.7.5.2.8");
        [Asked] Rnr => Wrong(Rule::RnrUndelivered), iba("9.7.5.2.8");
        [Arrived | Beyond | Late | Served] Ack => Stay, iba("9.7.5.1").note("everything before it has arrived");
        [Awaited | Missing | Asked] Ack => WrongGo(Rule::AckBeyondData, Served), iba("9.7.5.1").note("everything before it has arrived");
    }
}
