//! Reactions of a requester with selective repeat: to acknowledgements, to responses in any order, to what is missing.

use corpus::Verb;
use dumper::Nanos;

use super::requester::{Request, Requester};
use super::selective_repeat::Sender;
use crate::sim::nic::context::{Context, Job};
use crate::sim::nic::reorder::Bitmap;
use crate::sim::nic::stats::Stat;
use crate::sim::packet::Packet;

impl Requester {
    /// The sender of selective repeat; none of go-back-N.
    pub(super) fn selective(&mut self) -> Option<&mut Sender> {
        self.recovery.selective.as_deref_mut()
    }

    /// A packet is missing at the responder. No retry is spent: as many NAKs as packets were lost may come before any progress.
    pub(super) fn on_nak_selective(&mut self, offset: u32, cx: &mut Context<'_>) {
        // A Read request is one packet, whose responses take further PSNs.
        let Some(request) =
            self.request_of(offset).filter(|one| one.verb != Verb::Read || one.first == offset)
        else {
            return;
        };
        if !cx.quirks.nak_ignored {
            let latency = cx.draw(*cx.profile.retransmission.nack_reaction_ns.of(request.verb));
            self.repeat_after(offset, latency, cx);
        }
    }

    /// Sends a packet again after a latency.
    fn repeat_after(&mut self, offset: u32, latency: Nanos, cx: &mut Context<'_>) {
        let due = cx.now + latency;
        if let Some(first) = self.selective().map(|sender| sender.repeat_at(offset, due)) {
            cx.agenda.set(&mut self.losses.recover, first, Job::Recover(cx.qp));
        }
    }

    /// Packets that are to be sent again are due; returns true if one is still missing.
    pub(super) fn on_repeats_due(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(next) = self.recovery.due(cx.now) {
            cx.agenda.set(&mut self.losses.recover, next, Job::Recover(cx.qp));
        }
        self.recovery.next_again().is_some()
    }

    /// The request that an offset is of.
    pub(super) fn request_of(&self, offset: u32) -> Option<Request> {
        let at = self.work.partition_point(|request| request.end() <= offset);
        self.work.get(at).copied().filter(|request| request.first <= offset)
    }

    /// Offset after the last response that is missing from one of a Read on, without a gap.
    pub(super) fn missing_until(&self, offset: u32, request: Request) -> u32 {
        let has = |response: &u32| {
            self.recovery.selective.as_ref().is_some_and(|sender| sender.responses.has(*response))
        };
        (offset + 1..request.end()).find(has).unwrap_or(request.end())
    }

    /// Handles a packet of a Read response at an offset; returns true if an earlier one is missing.
    pub(super) fn on_response_selective(
        &mut self,
        offset: u32,
        packet: &Packet,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(read) = self.request_of(offset).filter(|request| request.verb == Verb::Read) else {
            return false;
        };
        self.skip_to_read();
        let Some(sender) = self.selective() else { return false };
        // A response acknowledges everything before its Read.
        sender.acknowledged = sender.acknowledged.max(read.first);
        if sender.responses.has(offset) {
            return false;
        }
        let out_of_order = offset > sender.responses.base;
        if !sender.responses.holds(offset) {
            self.ask_for_first(cx);
            return true;
        }
        sender.responses.keep(offset, ());
        if !self.write_response(read, offset, packet, cx) {
            return false;
        }
        while let Some(sender) = self.selective()
            && sender.responses.take_first().is_some()
        {
            sender.responses.advance(1);
            self.skip_to_read();
        }
        self.complete(cx);
        self.ask_for_lost(offset, cx);
        out_of_order
    }

    /// The first missing response is of a Read: PSNs of other requests before it have none.
    fn skip_to_read(&mut self) {
        let Some(sender) = &mut self.recovery.selective else { return };
        let base = sender.responses.base;
        let at = self.work.partition_point(|request| request.end() <= base);
        let read = self.work.iter().skip(at).find(|request| request.verb == Verb::Read);
        if let Some(read) = read.filter(|read| read.first > base) {
            sender.responses.advance(read.first - base);
        }
    }

    /// Completes the requests that are acknowledged, and the Reads whose responses are there.
    pub(super) fn complete(&mut self, cx: &mut Context<'_>) {
        let Some(sender) = &self.recovery.selective else { return };
        let before = self.recovery.oldest();
        let mut oldest = before;
        for request in &self.work {
            let limit = if request.verb == Verb::Read { sender.responses.base } else { sender.acknowledged };
            let reached = limit.min(request.end());
            if reached > request.first {
                oldest = oldest.max(reached);
            }
            if reached < request.end() {
                break;
            }
        }
        if oldest > before {
            self.advance(oldest, cx);
        }
    }

    /// Asks for the responses that count as lost now that one at an offset has arrived: a Read request for each gap.
    fn ask_for_lost(&mut self, arrived: u32, cx: &mut Context<'_>) {
        let Some(sender) = self.selective() else { return };
        let lost = sender.responses.lost(arrived);
        let mut asked_until = 0;
        for offset in lost {
            let Some(read) = self.request_of(offset).filter(|request| request.verb == Verb::Read) else {
                continue;
            };
            let is_there = self.selective().is_some_and(|sender| sender.responses.has(offset));
            if !is_there && offset >= asked_until {
                asked_until = self.missing_until(offset, read);
                self.ask_again(offset, cx);
            }
        }
    }

    /// There is no room for a response that arrived: it is dropped, and the first missing one asked for, unless it was.
    pub(in crate::sim::nic) fn ask_for_first(&mut self, cx: &mut Context<'_>) {
        let Some(sender) = self.selective() else { return };
        let first = sender.responses.base;
        if sender.responses.asks_for_first() {
            self.ask_again(first, cx);
        }
    }

    fn ask_again(&mut self, offset: u32, cx: &mut Context<'_>) {
        if cx.quirks.implied_nak_ignored {
            return;
        }
        cx.count(Stat::ImpliedNaks);
        let latency = cx.nack_generation(Verb::Read);
        self.repeat_after(offset, latency, cx);
    }

    /// Offset of the first missing response, and the bitmap of those beyond it; none with go-back-N.
    pub(in crate::sim::nic) fn bitmap(&self) -> Option<(u32, Bitmap)> {
        let sender = self.recovery.selective.as_ref()?;
        Some(if self.failed {
            (self.posted, Bitmap::default())
        } else {
            (sender.responses.base, sender.responses.bitmap())
        })
    }

    /// Distance of a response from the first missing one; none if it is there already.
    pub(in crate::sim::nic) fn distance(&mut self, packet: &Packet) -> Option<u32> {
        let offset = self.offset(packet.psn)?;
        self.skip_to_read();
        let sender = self.selective()?;
        (!sender.responses.has(offset)).then(|| offset - sender.responses.base)
    }
}
