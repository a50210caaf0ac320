//! The part of a QP that posts requests: it cuts them into packets, and keeps them until they are acknowledged.
//!
//! PSNs are counted from the QP's first one, as *offsets*, and turned into PSNs where a packet is made or read.
//! Loss recovery is in [`super::reactions`].

use std::collections::VecDeque;
use std::ops::Range;

use corpus::Verb;
use dumper::Psn;
use dumper::observation::CompletionStatus;
use dumper::wire::{AethRepr, NakCode, Opcode, Position, RethRepr, Syndrome};

use super::losses::Losses;
use super::memory::Memory;
use super::opcodes;
use super::recovery::Recovery;
use super::selective_repeat::Sender;
use super::timers::Timers;
use crate::profile::Reorder;
use crate::sim::nic::context::{Context, HostEvent, Subject, every_nth};
use crate::sim::nic::stats::Stat;
use crate::sim::packet::Packet;

/// A request that was posted and has not completed.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Request {
    pub(in crate::sim) message: u32,
    pub(in crate::sim) verb: Verb,
    pub(in crate::sim) bytes: u32,
    /// Offset of its first PSN.
    pub(in crate::sim) first: u32,
    /// PSNs that it takes.
    pub(in crate::sim) packets: u32,
    /// True if it is behind the message, and nobody is told when it completes.
    is_dummy: bool,
}

impl Request {
    /// Offset after its last PSN.
    pub(in crate::sim) const fn end(&self) -> u32 {
        self.first + self.packets
    }
}

/// The requester of a QP.
#[derive(Debug)]
pub(in crate::sim) struct Requester {
    first_psn: Psn,
    /// Unacknowledged packets before which the next one waits.
    window: u32,
    /// Requests in the order of their PSNs.
    pub(in crate::sim) work: VecDeque<Request>,
    /// Offset after the last request.
    pub(in crate::sim) posted: u32,
    /// Index in `work` of the request that the cursor is in.
    pub(in crate::sim) at: usize,
    /// Reads before the cursor that are not answered.
    pub(in crate::sim) reads_out: u32,
    /// Reads in `work`.
    reads_posted: u32,
    pub(in crate::sim) recovery: Recovery,
    pub(super) losses: Losses,
    pub(in crate::sim) timers: Timers,
    pub(in crate::sim) failed: bool,
    memory: Memory,
    quirks: QuirkCounts,
}

/// Counts for the quirks that happen at every n-th time.
#[derive(Debug, Default)]
struct QuirkCounts {
    packets: u32,
    messages: u32,
    middles: u32,
}

impl Requester {
    /// A requester that has so many unacknowledged packets at the most, 0 for any number, and repeats selectively where its NIC has a
    /// reorder engine.
    pub(in crate::sim::nic) fn new(
        first_psn: Psn,
        memory: Memory,
        window: u32,
        reorder: Option<&Reorder>,
    ) -> Self {
        Self {
            first_psn,
            window: if window == 0 { u32::MAX } else { window },
            work: VecDeque::new(),
            posted: 0,
            at: 0,
            reads_out: 0,
            reads_posted: 0,
            recovery: Recovery::new(reorder),
            losses: Losses::default(),
            timers: Timers::default(),
            failed: false,
            memory,
            quirks: QuirkCounts::default(),
        }
    }

    /// Its oldest unacknowledged PSN.
    pub(in crate::sim) const fn oldest_psn(&self) -> Psn {
        self.first_psn.add(self.recovery.oldest())
    }

    /// Transport retries and RNR retries spent since the last progress.
    pub(in crate::sim) const fn retries(&self) -> (u32, u32) {
        (self.timers.retries, self.timers.rnr_retries)
    }

    pub(in crate::sim) const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Takes the request of a message, and so many dummies behind it.
    pub(in crate::sim::nic) fn post(
        &mut self,
        message: u32,
        verb: Verb,
        bytes: u32,
        dummies: u8,
        cx: &mut Context<'_>,
    ) {
        if self.failed {
            let status = CompletionStatus::Flushed;
            cx.tell(HostEvent::Completed { qp: cx.qp, message, status });
            return;
        }
        if verb == Verb::Send {
            cx.count(Stat::SendsPosted);
        }
        self.append(message, verb, bytes, false, cx);
        if every_nth(&mut self.quirks.messages, cx.quirks.psn_skipped_every) {
            self.posted += 1;
        }
        self.post_dummies(message, verb, dummies, cx);
    }

    /// Takes dummies behind the last message.
    pub(in crate::sim::nic) fn post_dummies(
        &mut self,
        message: u32,
        verb: Verb,
        dummies: u8,
        cx: &Context<'_>,
    ) {
        for _ in 0..if self.failed { 0 } else { dummies } {
            self.append(message, verb.dummy(), 0, true, cx);
        }
    }

    fn append(&mut self, message: u32, verb: Verb, bytes: u32, is_dummy: bool, cx: &Context<'_>) {
        self.reads_posted += u32::from(verb == Verb::Read);
        let packets = bytes.div_ceil(cx.attributes.mtu).max(1);
        self.work.push_back(Request { message, verb, bytes, first: self.posted, packets, is_dummy });
        self.posted += packets;
    }

    /// The oldest unacknowledged packet; nothing if there is none.
    pub(in crate::sim::nic) fn oldest_subject(&self) -> Subject {
        self.subject(self.work.front(), self.recovery.oldest())
    }

    /// The packet that an answer names; the oldest unacknowledged one if it is none of those.
    pub(in crate::sim::nic) fn subject_of_answer(&self, psn: Psn) -> Subject {
        let Some(offset) = self.offset(psn) else { return self.oldest_subject() };
        self.subject(self.work.iter().find(|request| offset < request.end()), offset)
    }

    /// The next packet to send.
    pub(in crate::sim::nic) fn next_subject(&self) -> Subject {
        match self.recovery.next_again() {
            Some(offset) => self.subject(self.request_of(offset).as_ref(), offset),
            None => self.subject(self.work.get(self.at), self.recovery.cursor()),
        }
    }

    fn subject(&self, request: Option<&Request>, offset: u32) -> Subject {
        let position = |request: &Request| match request.verb {
            Verb::Read => Position::Only,
            _ => opcodes::position(offset <= request.first, offset + 1 >= request.end()),
        };
        Subject {
            verb: request.map(|request| request.verb),
            position: request.map(position),
            message: request.map(|request| request.message + 1),
            retries: Some(self.timers.retries),
        }
    }

    /// Returns true if there is a packet to send.
    #[inline]
    pub(in crate::sim) fn is_ready(&self, max_reads: u8) -> bool {
        if self.losses.waits_for_receiver() {
            return false;
        }
        match self.work.get(self.at) {
            _ if self.recovery.next_again().is_some() => true,
            Some(next) if self.has_room() => next.verb != Verb::Read || self.reads_out < u32::from(max_reads),
            _ => false,
        }
    }

    /// Returns true if one more packet may be unacknowledged.
    #[inline]
    const fn has_room(&self) -> bool {
        self.recovery.cursor().saturating_sub(self.recovery.oldest()) < self.window
    }

    /// Returns true if the next packet, if there is one, is of a Send or Write.
    pub(in crate::sim::nic) fn sends_data_next(&self) -> bool {
        let again = self.recovery.next_again().and_then(|offset| self.request_of(offset));
        again.as_ref().or(self.work.get(self.at)).is_some_and(|next| next.verb != Verb::Read)
    }

    /// Returns true if the next packet, if there is one, is of a Send or Write and was never sent.
    pub(in crate::sim::nic) fn sends_new_data_next(&self) -> bool {
        let is_new = self.recovery.next_again().is_none() && self.recovery.cursor() >= self.recovery.sent();
        is_new && self.work.get(self.at).is_some_and(|next| next.verb != Verb::Read)
    }

    /// The next packet.
    pub(in crate::sim::nic) fn next_packet(&mut self, blank: Packet, cx: &mut Context<'_>) -> Option<Packet> {
        if !self.is_ready(cx.attributes.max_rd_atomic) {
            return None;
        }
        if let Some(offset) = self.recovery.next_again() {
            return self.packet_again(offset, blank, cx);
        }
        let request = *self.work.get(self.at)?;
        let offset = self.recovery.resume(request.first);
        let (packet, end) = match request.verb {
            Verb::Read => {
                self.reads_out += 1;
                (self.read_request(request, offset..request.end(), blank, cx), request.end())
            }
            Verb::Write | Verb::Send => (self.data(request, offset, blank, cx), offset + 1),
        };
        if end == request.end() {
            self.at += 1;
        }
        self.recovery.sent_before(end);
        self.timers.sent(cx);
        if every_nth(&mut self.quirks.packets, cx.quirks.retransmits_unprovoked_every) {
            self.send_again(self.recovery.oldest());
        }
        Some(packet)
    }

    /// The packet at an offset once more, by selective repeat; it asks for an ACK, as the one that did may have been acknowledged by an ACK
    /// that is lost.
    fn packet_again(&mut self, offset: u32, blank: Packet, cx: &mut Context<'_>) -> Option<Packet> {
        self.selective()?.sent_again(offset);
        let request = self.request_of(offset)?;
        let packet = match request.verb {
            Verb::Read => self.read_request(request, offset..self.missing_until(offset, request), blank, cx),
            Verb::Write | Verb::Send => Packet { ack_req: true, ..self.data(request, offset, blank, cx) },
        };
        self.timers.sent(cx);
        Some(packet)
    }

    /// A Read request for the data of responses.
    fn read_request(
        &self,
        request: Request,
        responses: Range<u32>,
        blank: Packet,
        cx: &Context<'_>,
    ) -> Packet {
        let mtu = cx.attributes.mtu;
        let received = (responses.start - request.first) * mtu;
        let asked = (request.bytes - received).min(responses.len() as u32 * mtu);
        let advance = if cx.quirks.read_address_not_advanced { 0 } else { received };
        let psn = self.first_psn.add(responses.start);
        let reth = RethRepr {
            virtual_address: self.memory.address(request.message) + u64::from(advance),
            remote_key: blank.reth.remote_key,
            dma_length: asked,
        };
        Packet { opcode: Opcode::ReadRequest, psn, ack_req: true, reth, ..blank }
    }

    /// The packet of a Send or Write at an offset.
    #[inline(always)]
    fn data(&mut self, request: Request, offset: u32, blank: Packet, cx: &Context<'_>) -> Packet {
        let index = offset - request.first;
        let sent_before = index * cx.attributes.mtu;
        let payload = (request.bytes - sent_before).min(cx.attributes.mtu);
        let last = index + 1 == request.packets;
        let mut position = opcodes::position(index == 0, last);
        if position == Position::Middle
            && every_nth(&mut self.quirks.middles, cx.quirks.first_in_the_middle_every)
        {
            position = Position::First;
        }
        let every = cx.profile.requester.ack_req_every;
        // The next one may have to wait for this one's ACK.
        let fills = (offset + 1).saturating_sub(self.recovery.oldest()) >= self.window;
        let asks =
            last || fills || cx.attributes.bounds_flight || (every > 0 && (index + 1).is_multiple_of(every));
        let psn = self.first_psn.add(offset);
        let address = self.memory.address(request.message);
        let reth = RethRepr {
            virtual_address: address,
            remote_key: blank.reth.remote_key,
            dma_length: request.bytes,
        };
        Packet {
            opcode: opcodes::request(request.verb, position),
            psn,
            ack_req: asks,
            reth,
            payload: payload as u16,
            content: address + u64::from(sent_before),
            ..blank
        }
    }

    /// The offset of a PSN that the responder sent, if a request is outstanding there. An answer to a PSN
    /// that is acknowledged already, or was never sent, is ignored (IBA vol. 1, 9.7.5.1).
    pub(super) fn offset(&self, psn: Psn) -> Option<u32> {
        let oldest = self.recovery.oldest();
        let ahead = psn.since(self.first_psn.add(oldest));
        let offset = oldest + u32::try_from(ahead).ok()?;
        (offset < self.recovery.sent() && !self.failed).then_some(offset)
    }

    /// Handles an acknowledgement of any kind.
    pub(in crate::sim::nic) fn on_acknowledge(&mut self, psn: Psn, aeth: AethRepr, cx: &mut Context<'_>) {
        match aeth.syndrome {
            Syndrome::Nak(NakCode::PsnSequenceError) => cx.count(Stat::SequenceNaksReceived),
            Syndrome::RnrNak(_) => cx.count(Stat::RnrNaksReceived),
            _ => {}
        }
        let Some(offset) = self.offset(psn) else { return };
        match aeth.syndrome {
            Syndrome::Ack(_) => {
                self.acknowledge(offset + 1, cx);
                // With selective repeat an ACK says nothing about responses.
                if self.recovery.oldest() <= offset && self.selective().is_none() {
                    self.imply_nak(offset, cx);
                }
            }
            Syndrome::Nak(NakCode::PsnSequenceError) => {
                // One of selective repeat acknowledges nothing.
                if self.selective().is_none() {
                    self.acknowledge(offset, cx);
                }
                self.on_nak(offset, cx);
            }
            Syndrome::RnrNak(timer) => {
                self.acknowledge(offset, cx);
                self.on_rnr_nak(offset, timer, cx);
            }
            Syndrome::Nak(_) => {
                self.acknowledge(offset, cx);
                if cx.quirks.fatal_nak_ignored {
                    self.on_nak(offset, cx);
                } else {
                    self.fail(CompletionStatus::RemoteError, cx);
                }
            }
            Syndrome::Reserved(_) => {}
        }
    }

    /// Handles a packet of a Read response; whether it came out of order.
    pub(in crate::sim::nic) fn on_read_response(&mut self, packet: &Packet, cx: &mut Context<'_>) -> bool {
        let Some(offset) = self.offset(packet.psn) else { return false };
        if self.selective().is_some() {
            return self.on_response_selective(offset, packet, cx);
        }
        // A response acknowledges everything before its Read, and shows a gap where an earlier one is missing.
        self.acknowledge(offset, cx);
        if self.recovery.oldest() != offset {
            self.imply_nak(offset, cx);
            return true;
        }
        // Where PSNs are left out, a response may be for one that no request has.
        let asked = |request: &Request| request.verb == Verb::Read && request.first <= offset;
        let Some(read) = self.work.front().copied().filter(asked) else { return false };
        if self.write_response(read, offset, packet, cx) {
            self.advance(offset + 1, cx);
        }
        false
    }

    /// Writes the data of a response at an offset of a Read; false if it has another length than was asked for.
    pub(super) fn write_response(
        &mut self,
        read: Request,
        offset: u32,
        packet: &Packet,
        cx: &mut Context<'_>,
    ) -> bool {
        let before = (offset - read.first) * cx.attributes.mtu;
        let due = read.bytes.saturating_sub(before).min(cx.attributes.mtu);
        // An empty packet that ends a response where the next one has to begin is more than was asked for, and no harm.
        let is_surplus = before == 0 && packet.payload == 0 && packet.opcode == Opcode::ReadResponseLast;
        if u32::from(packet.payload) != due && !is_surplus {
            // IBA vol. 1, 9.9.2: a response of another length than was asked for ends the QP.
            self.fail(CompletionStatus::Error, cx);
            return false;
        }
        let at = self.memory.address(read.message) + u64::from(before);
        self.memory.write(read.message, at, packet.content, packet.payload.into());
        true
    }

    /// Everything before `limit` is acknowledged, but for Reads, which only their responses complete.
    fn acknowledge(&mut self, limit: u32, cx: &mut Context<'_>) {
        if let Some(sender) = self.selective() {
            sender.acknowledged = sender.acknowledged.max(limit);
            return self.complete(cx);
        }
        let is_read = |request: &&Request| request.verb == Verb::Read;
        let unanswered = if self.reads_posted > 0 { self.work.iter().find(is_read) } else { None };
        let oldest = self.recovery.oldest();
        let limit = unanswered.map_or(limit, |read| limit.min(read.first.max(oldest)));
        if limit > oldest {
            self.advance(limit, cx);
        }
    }

    /// Moves the oldest unacknowledged PSN on: progress.
    pub(super) fn advance(&mut self, oldest: u32, cx: &mut Context<'_>) {
        while let Some(done) = self.work.front().copied().filter(|request| request.end() <= oldest) {
            self.work.pop_front();
            let is_read = u32::from(done.verb == Verb::Read);
            self.reads_posted -= is_read;
            if self.at > 0 {
                self.at -= 1;
                self.reads_out -= is_read;
            }
            if !done.is_dummy {
                let status = CompletionStatus::Success;
                cx.tell(HostEvent::Completed { qp: cx.qp, message: done.message, status });
            }
        }
        let outstanding = self.recovery.acknowledged_before(oldest);
        self.losses.progress(oldest);
        self.timers.progress(outstanding, cx);
    }

    /// Sends the packet at an offset again; with go-back-N it and everything after it.
    pub(super) fn send_again(&mut self, offset: u32) {
        if !self.recovery.send_again(offset) {
            return;
        }
        self.at = self.work.iter().position(|request| request.end() > offset).unwrap_or(self.work.len());
        let before = self.work.iter().take(self.at);
        self.reads_out = before.filter(|request| request.verb == Verb::Read).count() as u32;
    }

    /// Ends the QP: the oldest request fails, all others are flushed.
    pub(super) fn fail(&mut self, mut status: CompletionStatus, cx: &mut Context<'_>) {
        self.failed = true;
        self.losses.stop(cx);
        self.selective().into_iter().for_each(Sender::stop);
        self.timers.stop(cx);
        for request in std::mem::take(&mut self.work) {
            if !request.is_dummy {
                cx.tell(HostEvent::Completed { qp: cx.qp, message: request.message, status });
            }
            status = CompletionStatus::Flushed;
        }
        (self.at, self.reads_out, self.reads_posted) = (0, 0, 0);
    }

    /// The ACK timer expires. A requester that its reaction point holds back in the middle of its requests waits for
    /// no ACK yet: the timer starts with its next packet (IBA vol. 1, 9.7.6.1.3: it measures from a request
    /// that asks for an ACK).
    pub(in crate::sim::nic) fn on_ack_timer(&mut self, cx: &mut Context<'_>) {
        let held = cx.slowed && self.is_ready(cx.attributes.max_rd_atomic) && self.sends_data_next();
        if !held {
            self.on_timeout(cx);
        }
    }
}
