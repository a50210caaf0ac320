//! The part of a QP that answers requests: it takes them in the order of their PSNs, and refuses the others.
//!
//! Offsets count from the requester's first PSN, as in [`super::requester`]. Its answers are queued in
//! [`super::answers`], and sent by [`super::answering`].

use corpus::Verb;
use dumper::wire::{Class, NakCode, Position, RethRepr, Syndrome};
use dumper::{Nanos, Psn};

use super::answers::{Answer, Answers, ReadAnswer};
use super::go_back_n::{Place, Reaction, Repeats};
use super::memory::{Memory, REMOTE_KEY};
use super::recovery::{Acceptance, Receiver};
use super::selective_repeat;
use crate::profile::Reorder;
use crate::sim::nic::context::{Context, HostEvent, Subject, every_nth};
use crate::sim::nic::reorder::Bitmap;
use crate::sim::nic::stats::Stat;
use crate::sim::packet::Packet;

/// A syndrome that the specification reserves (IBA vol. 1, 9.3.5): no ACK, no RNR NAK and no NAK.
const RESERVED_SYNDROME: u8 = 0x5f;

/// The responder of a QP.
#[derive(Debug)]
pub(in crate::sim) struct Responder {
    pub(super) first_psn: Psn,
    pub(in crate::sim) acceptance: Acceptance,
    /// Requests completed.
    pub(in crate::sim) msn: u32,
    /// Requests begun.
    pub(in crate::sim) begun: u32,
    /// Requests begun that are messages and no dummies, which tells where a Send's bytes belong.
    messages: u32,
    dummies: Dummies,
    /// The Send or Write that has begun and not ended.
    current: Option<Incoming>,
    /// Verb of the last request that arrived.
    verb: Option<Verb>,
    /// Receives that are posted.
    receives: u32,
    /// A request that no responder accepts has ended the QP.
    failed: bool,
    pub(in crate::sim) answers: Answers,
    memory: Memory,
    counts: Counts,
}

/// Dummies among the requests.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Dummies {
    /// So many behind each message.
    Behind(u32),
    /// Behind some messages, of which none is a Write or Read of 0 bytes.
    Empty,
}

/// A Send or Write on its way.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    verb: Verb,
    /// The message whose memory it is written to.
    message: u32,
    /// Address of the next byte.
    address: u64,
    /// Bytes that may still come: of a Write the rest of the length in its RETH, of a Send the room in its
    /// Receive.
    room: u64,
}

/// Counts of packets, for ACKs and quirks that come at every n-th.
#[derive(Debug, Default)]
struct Counts {
    to_ack: u32,
    to_nak: u32,
    to_forget: u32,
}

impl Responder {
    /// A responder that takes these dummies besides messages, and keeps requests out of order where its NIC has a reorder engine.
    pub(in crate::sim::nic) fn new(
        first_psn: Psn,
        dummies: Dummies,
        memory: Memory,
        receives: u32,
        reorder: Option<&Reorder>,
    ) -> Self {
        Self {
            first_psn,
            dummies,
            messages: 0,
            acceptance: Acceptance::new(reorder),
            msn: 0,
            begun: 0,
            current: None,
            verb: None,
            receives,
            failed: false,
            answers: Answers::default(),
            memory,
            counts: Counts::default(),
        }
    }

    /// A request packet that arrives; `bytes` are those of a Write or Read.
    pub(in crate::sim::nic) fn subject_of_request(
        &self,
        verb: Verb,
        position: Position,
        bytes: u32,
    ) -> Subject {
        let begins = self.current.is_none() && !self.is_dummy(verb, bytes);
        let message = Some(self.messages + u32::from(begins));
        Subject { verb: Some(verb), position: Some(position), message, retries: None }
    }

    /// The answer that is sent next; an ACK or a NAK is of the message that is not complete, or else of the last one.
    pub(in crate::sim::nic) fn subject_of_answer(&self) -> Subject {
        match self.answers.first() {
            Some(Answer::Read(read)) => Subject {
                verb: Some(Verb::Read),
                position: Some(read.position()),
                message: Some(read.message),
                retries: None,
            },
            _ => Subject { verb: self.verb, message: Some(self.messages), ..Subject::default() },
        }
    }

    /// Returns true if the next request is a dummy: one with this verb and, of a Write or Read, so many bytes.
    fn is_dummy(&self, verb: Verb, bytes: u32) -> bool {
        match self.dummies {
            Dummies::Behind(dummies) => !self.begun.is_multiple_of(1 + dummies),
            Dummies::Empty => verb != Verb::Send && bytes == 0,
        }
    }

    /// A request begins.
    fn begin(&mut self, verb: Verb, bytes: u32) {
        self.messages += u32::from(!self.is_dummy(verb, bytes));
        self.begun += 1;
    }

    pub(in crate::sim) const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The host has posted a Receive.
    pub(in crate::sim::nic) const fn post_receive(&mut self) {
        self.receives += 1;
    }

    /// PSN that it expects.
    pub(in crate::sim) const fn expected_psn(&self) -> Psn {
        self.first_psn.add(self.acceptance.expected())
    }

    /// Handles a request packet; returns true if it came out of order. A packet behind a request that was
    /// refused for lack of a Receive did not.
    pub(in crate::sim::nic) fn on_request(&mut self, packet: &Packet, cx: &mut Context<'_>) -> bool {
        if self.failed {
            return false;
        }
        let Some(verb) = verb_of(packet.opcode.class()) else { return false };
        self.verb = Some(verb);
        let place = self.acceptance.place(packet.psn, self.first_psn);
        match place {
            Place::Expected => {
                self.on_expected(packet, verb, cx);
                if self.selective().is_some() {
                    self.take_kept(cx);
                }
            }
            Place::Beyond if self.selective().is_some() => self.keep(packet, verb, cx),
            Place::Beyond => self.on_out_of_order(verb, cx),
            Place::Before(offset) => self.on_duplicate(packet, verb, offset, cx),
            Place::Nowhere => {}
        }
        place == Place::Beyond && !self.is_not_ready()
    }

    /// Returns true after the refusal of a request for lack of a Receive, until it is taken.
    fn is_not_ready(&self) -> bool {
        match &self.acceptance.receiver {
            Receiver::GoBackN(receiver) => receiver.is_not_ready(),
            Receiver::Selective(receiver) => receiver.is_not_ready,
        }
    }

    /// Returns true while it waits for a packet, or the request that it has refused, and others come.
    pub(in crate::sim::nic) fn is_recovering(&self) -> bool {
        match &self.acceptance.receiver {
            Receiver::GoBackN(receiver) => receiver.is_refusing(),
            Receiver::Selective(receiver) => receiver.arrived.kept > 0 || receiver.is_not_ready,
        }
    }

    // Always inlined, as is all that is on the way of each packet and has a second, rare caller.
    #[inline(always)]
    fn on_expected(&mut self, packet: &Packet, verb: Verb, cx: &mut Context<'_>) {
        let accepted = match packet.opcode.class() {
            Class::Request(_, position) => self.take_data(packet, verb, position, cx),
            _ => self.take_read(packet, cx),
        };
        if !accepted {
            return;
        }
        let quirks = cx.quirks;
        if every_nth(&mut self.counts.to_nak, quirks.nak_unprovoked_every) {
            self.nak_sequence(self.acceptance.expected(), Nanos::ZERO, cx);
        }
        if verb == Verb::Read {
            return;
        }
        let by_count = every_nth(&mut self.counts.to_ack, cx.profile.responder.ack_every);
        if packet.ack_req || by_count {
            self.counts.to_ack = 0;
            let forgotten = every_nth(&mut self.counts.to_forget, cx.quirks.ack_missing_every);
            if !forgotten {
                let ends = self.current.is_none();
                let offset = if ends { cx.quirks.ack_psn_offset } else { 0 };
                self.ack((self.acceptance.expected() - 1).saturating_add_signed(offset), cx);
            }
        }
    }

    /// Takes a packet of a Send or Write; false if it is refused.
    #[inline(always)]
    fn take_data(&mut self, packet: &Packet, verb: Verb, position: Position, cx: &mut Context<'_>) -> bool {
        let fits = match &self.current {
            None => position.starts(),
            Some(current) => !position.starts() && current.verb == verb,
        };
        if !fits {
            // IBA vol. 1, 9.9.3: an opcode out of sequence is an invalid request.
            return self.refuse_for_good(NakCode::InvalidRequest);
        }
        let (payload, mtu) = (u32::from(packet.payload), cx.attributes.mtu);
        if payload > mtu || (!position.ends() && payload != mtu) {
            // IBA vol. 1, 9.7.4.1: only the last packet of a message may be shorter than the path MTU, none longer.
            return self.refuse_for_good(NakCode::InvalidRequest);
        }
        if position.starts() {
            if verb == Verb::Send && self.receives == 0 {
                self.nak(Syndrome::RnrNak(cx.attributes.min_rnr_timer), Nanos::ZERO);
                cx.count(Stat::RnrNaksSent);
                match &mut self.acceptance.receiver {
                    Receiver::GoBackN(receiver) => receiver.not_ready(),
                    Receiver::Selective(receiver) => receiver.not_ready(),
                }
                return false;
            }
            let (address, room) = match verb {
                Verb::Send => (self.memory.address(self.messages), cx.profile.host.receive_bytes),
                _ => (packet.reth.virtual_address, packet.reth.dma_length.into()),
            };
            if verb == Verb::Write && !self.may_access(&packet.reth) {
                return self.refuse_for_good(NakCode::RemoteAccessError);
            }
            self.receives -= u32::from(verb == Verb::Send);
            self.begin(verb, packet.reth.dma_length);
            let message = self.memory.message_at(address);
            self.current = Some(Incoming { verb, message, address, room });
        }
        if let Some(current) = &mut self.current {
            let left = current.room.checked_sub(payload.into());
            if left.is_none_or(|left| verb == Verb::Write && position.ends() && left > 0) {
                // IBA vol. 1, 9.9.3: a Send longer than its Receive, or a Write that has not the length of
                // its RETH, is an invalid request.
                return self.refuse_for_good(NakCode::InvalidRequest);
            }
            self.memory.write(current.message, current.address, packet.content, payload);
            current.address += u64::from(payload);
            current.room = left.unwrap_or_default();
        }
        self.acceptance.take(1);
        if position.ends() {
            self.current = None;
            self.msn += 1;
            match verb {
                Verb::Send => {
                    cx.count(Stat::ReceivesCompleted);
                    cx.tell(HostEvent::Received { qp: cx.qp });
                }
                // One of 0 bytes leaves nothing to be seen.
                _ if payload > 0 => cx.tell(HostEvent::Written { qp: cx.qp }),
                _ => {}
            }
        }
        true
    }

    /// Takes a Read request.
    fn take_read(&mut self, packet: &Packet, cx: &mut Context<'_>) -> bool {
        if self.current.is_some() {
            return self.refuse_for_good(NakCode::InvalidRequest);
        }
        if !self.may_access(&packet.reth) {
            return self.refuse_for_good(NakCode::RemoteAccessError);
        }
        let first = self.acceptance.expected();
        self.begin(Verb::Read, packet.reth.dma_length);
        self.msn += 1;
        self.acceptance.take(packets(packet, cx));
        let latency = cx.draw(cx.profile.responder.ack_ns);
        self.answer_read(packet, first, latency, cx);
        true
    }

    fn answer_read(&mut self, packet: &Packet, first: u32, latency: Nanos, cx: &mut Context<'_>) {
        let read = ReadAnswer {
            first,
            next: first,
            end: first + packets(packet, cx),
            address: packet.reth.virtual_address,
            bytes: packet.reth.dma_length,
            msn: self.msn,
            message: self.messages,
        };
        self.answers.push(Answer::Read(read), cx.now + latency);
    }

    /// A packet beyond the expected PSN, with go-back-N.
    fn on_out_of_order(&mut self, verb: Verb, cx: &mut Context<'_>) {
        let Receiver::GoBackN(receiver) = &mut self.acceptance.receiver else { return };
        let quirks = cx.quirks;
        let repeats = Repeats { at_most: quirks.nak_repeats, every: quirks.nak_again_every };
        match receiver.beyond(repeats) {
            Reaction::Nak if quirks.nak_suppressed => return,
            Reaction::Nak if cx.happens(quirks.nak_missing_percent) => return,
            Reaction::Nak => {}
            Reaction::Confirmed => {
                let latency = cx.draw(*cx.profile.retransmission.nack_generation_ns.of(nak_verb(verb)));
                return self.answers.hasten_nak(cx.now + latency);
            }
            Reaction::Silence => return,
        }
        let latency = cx.nack_generation(nak_verb(verb));
        let confirmations = cx.profile.retransmission.confirmation_packets;
        receiver.wait_for(confirmations);
        let wait = if confirmations > 0 {
            latency + cx.draw(cx.profile.retransmission.confirmation_ns)
        } else {
            latency
        };
        self.nak_sequence(self.acceptance.expected(), cx.now + wait, cx);
    }

    /// The receiver of selective repeat; none of go-back-N.
    fn selective(&mut self) -> Option<&mut selective_repeat::Receiver> {
        match &mut self.acceptance.receiver {
            Receiver::GoBackN(_) => None,
            Receiver::Selective(receiver) => Some(receiver),
        }
    }

    /// Takes requests that were kept, as far as none is missing. Their data is in memory since they arrived; when it was written does not
    /// show, and the host is told in the order of the requests.
    fn take_kept(&mut self, cx: &mut Context<'_>) {
        while !self.failed
            && let Some(packet) = self.selective().and_then(|receiver| receiver.arrived.take_first())
            && let Some(verb) = verb_of(packet.opcode.class())
        {
            self.on_expected(&packet, verb, cx);
        }
    }

    /// A packet beyond the expected PSN is kept, and a NAK sent for each missing one that counts as lost now.
    fn keep(&mut self, packet: &Packet, verb: Verb, cx: &mut Context<'_>) {
        let ahead = packet.psn.since(self.expected_psn()).unsigned_abs();
        let Some(receiver) = self.selective() else { return };
        let offset = receiver.arrived.base + ahead;
        if receiver.arrived.has(offset) {
            cx.count(Stat::DuplicateRequests);
            return;
        }
        if !receiver.arrived.holds(offset) {
            return self.no_room(packet, cx);
        }
        receiver.keep(offset, *packet, if verb == Verb::Read { packets(packet, cx) } else { 1 });
        let lost = receiver.lost(offset);
        self.nak_missing(&lost, verb, cx);
    }

    /// There is no room for a packet beyond the expected one: it is dropped, and a NAK sent for the expected one.
    pub(in crate::sim::nic) fn no_room(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let Some(verb) = verb_of(packet.opcode.class()) else { return };
        let Some(receiver) = self.selective() else { return };
        let expected = receiver.arrived.base;
        if receiver.arrived.asks_for_first() {
            self.nak_missing(&[expected], verb, cx);
        }
    }

    /// Sends a NAK for each of some missing packets.
    fn nak_missing(&mut self, missing: &[u32], verb: Verb, cx: &mut Context<'_>) {
        let quirks = cx.quirks;
        if missing.is_empty() || quirks.nak_suppressed || cx.happens(quirks.nak_missing_percent) {
            return;
        }
        let ready = cx.now + cx.nack_generation(nak_verb(verb));
        for offset in missing {
            self.nak_sequence(*offset, ready, cx);
        }
    }

    /// Offset of the expected PSN, and the bitmap of the requests beyond it; none with go-back-N.
    pub(in crate::sim::nic) fn bitmap(&self) -> Option<(u32, Bitmap)> {
        match &self.acceptance.receiver {
            Receiver::GoBackN(_) => None,
            Receiver::Selective(receiver) if self.failed => Some((receiver.arrived.base, Bitmap::default())),
            Receiver::Selective(receiver) => Some((receiver.arrived.base, receiver.arrived.bitmap())),
        }
    }

    /// Distance of a request from the expected one; none if it is there already, or of go-back-N.
    pub(in crate::sim::nic) fn distance(&self, packet: &Packet) -> Option<u32> {
        let Receiver::Selective(receiver) = &self.acceptance.receiver else { return None };
        if self.failed {
            return None;
        }
        let ahead = u32::try_from(packet.psn.since(self.expected_psn())).ok()?;
        (ahead == 0 || !receiver.arrived.has(receiver.arrived.base + ahead)).then_some(ahead)
    }

    /// A packet before the expected PSN: Sends and Writes are acknowledged again and not executed, Reads are
    /// executed again (IBA vol. 1, 9.7.5.1).
    fn on_duplicate(&mut self, packet: &Packet, verb: Verb, offset: u32, cx: &mut Context<'_>) {
        cx.count(Stat::DuplicateRequests);
        if verb == Verb::Read {
            if !self.may_access(&packet.reth) {
                self.refuse_for_good(NakCode::RemoteAccessError);
                return;
            }
            if cx.quirks.reread_missing {
                return;
            }
            let latency = cx.draw(cx.profile.retransmission.nack_reaction_ns.read);
            self.answer_read(packet, offset, latency, cx);
            return;
        }
        let quirks = cx.quirks;
        if verb == Verb::Write && quirks.duplicate_write_executed {
            let message = self.memory.message_at(packet.content);
            self.memory.write(message, packet.content, packet.content, packet.payload.into());
            if let Class::Request(_, position) = packet.opcode.class() {
                self.msn += u32::from(position.ends());
            }
        }
        if (packet.ack_req || cx.profile.responder.reack_all) && !quirks.reack_missing {
            let psn = if quirks.reack_own_psn { offset } else { self.acceptance.expected() - 1 };
            self.ack(psn, cx);
        }
    }

    /// A request packet of an operation that no RC responder has here: refused in its turn (IBA vol. 1,
    /// 9.7.4.1). A packet of another transport is not for this QP.
    pub(in crate::sim::nic) fn on_unsupported(&mut self, packet: &Packet) {
        let is_reliable = packet.opcode.code() >> 5 == 0;
        if is_reliable && !self.failed && packet.psn == self.first_psn.add(self.acceptance.expected()) {
            self.refuse_for_good(NakCode::InvalidRequest);
        }
    }

    /// Returns true if the R_Key and the memory of a RETH are the host's; an access of length 0 is not
    /// checked (IBA vol. 1, 9.7.4.1).
    fn may_access(&self, reth: &RethRepr) -> bool {
        reth.dma_length == 0
            || (reth.remote_key == REMOTE_KEY && self.memory.holds(reth.virtual_address, reth.dma_length))
    }

    /// A request that is refused like this ends the QP (IBA vol. 1, 9.9.2); false, as it is not accepted.
    fn refuse_for_good(&mut self, code: NakCode) -> bool {
        self.failed = true;
        self.nak(Syndrome::Nak(code), Nanos::ZERO);
        false
    }

    fn ack(&mut self, offset: u32, cx: &mut Context<'_>) {
        let answer = Answer::Ack { offset, msn: self.msn };
        let ready = cx.now + cx.draw(cx.profile.responder.ack_ns);
        if cx.quirks.ack_passes_read {
            self.answers.push_past_reads(answer, ready);
        } else if !(cx.profile.responder.merge_acks && self.answers.merge(answer)) {
            self.answers.push(answer, ready);
        }
    }

    /// Sends a sequence NAK for a PSN that is missing now. It is sent even if that packet arrives while
    /// the NAK is made: packets that go-back-N discards behind it will not come again by themselves.
    fn nak_sequence(&mut self, missing: u32, ready: Nanos, cx: &Context<'_>) {
        let offset = missing.saturating_add_signed(cx.quirks.nak_psn_offset);
        let syndrome = match cx.quirks.nak_syndrome_reserved {
            true => Syndrome::Reserved(RESERVED_SYNDROME),
            false => Syndrome::Nak(NakCode::PsnSequenceError),
        };
        self.answers.push(Answer::Nak { offset, msn: self.msn, syndrome }, ready);
    }

    fn nak(&mut self, syndrome: Syndrome, ready: Nanos) {
        let answer = Answer::Nak { offset: self.acceptance.expected(), msn: self.msn, syndrome };
        self.answers.push(answer, ready);
    }
}

/// The verb of a request.
const fn verb_of(class: Class) -> Option<Verb> {
    match class {
        Class::Request(dumper::wire::Verb::Send, _) => Some(Verb::Send),
        Class::Request(dumper::wire::Verb::Write, _) => Some(Verb::Write),
        Class::ReadRequest => Some(Verb::Read),
        _ => None,
    }
}

/// The specification has one kind of NAK for all requests: one for a Read request is made like a Write's.
const fn nak_verb(verb: Verb) -> Verb {
    match verb {
        Verb::Send => Verb::Send,
        Verb::Write | Verb::Read => Verb::Write,
    }
}

/// Packets of the response that a Read request asks for.
fn packets(packet: &Packet, cx: &Context<'_>) -> u32 {
    packet.reth.dma_length.div_ceil(cx.attributes.mtu).max(1)
}
