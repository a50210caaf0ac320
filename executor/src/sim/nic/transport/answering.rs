//! Sending of a responder's answers, one packet at a time.

use dumper::wire::{AethRepr, NakCode, Opcode, Position, Syndrome};

use super::answers::{Answer, ReadAnswer};
use super::opcodes;
use super::responder::Responder;
use crate::sim::nic::context::{Context, Job, every_nth};
use crate::sim::nic::stats::Stat;
use crate::sim::packet::Packet;

impl Responder {
    /// Returns true if an answer may be sent now; if only later, starts the timer.
    #[inline]
    pub(in crate::sim::nic) fn is_ready(&mut self, cx: &mut Context<'_>) -> bool {
        match self.answers.ready_at() {
            Some(ready) if ready > cx.now => {
                cx.agenda.set(&mut self.answers.ready, ready, Job::AnswerReady(cx.qp));
                false
            }
            ready => ready.is_some(),
        }
    }

    /// Returns true if the next packet, if there is one, is of a Read response.
    pub(in crate::sim::nic) fn sends_data_next(&self) -> bool {
        matches!(self.answers.first(), Some(Answer::Read(_)))
    }

    /// The next packet, if one may be sent now.
    pub(in crate::sim::nic) fn next_packet(&mut self, blank: Packet, cx: &mut Context<'_>) -> Option<Packet> {
        while self.answers.ready_at().is_some_and(|ready| ready <= cx.now) {
            let (ready, answer) = self.answers.pop()?;
            let packet = match answer {
                Answer::Ack { offset, msn } => {
                    let syndrome = Syndrome::Ack(AethRepr::NO_CREDITS);
                    Some(self.acknowledge(offset, syndrome, msn, blank, cx))
                }
                Answer::Nak { offset, msn, syndrome } => {
                    if syndrome == Syndrome::Nak(NakCode::PsnSequenceError) {
                        cx.count(Stat::SequenceNaksSent);
                    }
                    Some(self.acknowledge(offset, syndrome, msn, blank, cx))
                }
                Answer::Read(mut read) => {
                    let packet = self.response(&mut read, blank, cx);
                    if read.next < read.end {
                        self.answers.push_front(Answer::Read(read), ready);
                    }
                    packet
                }
            };
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn acknowledge(
        &self,
        offset: u32,
        syndrome: Syndrome,
        msn: u32,
        blank: Packet,
        cx: &Context<'_>,
    ) -> Packet {
        let psn = self.first_psn.add(offset);
        let aeth = AethRepr { syndrome, msn: self.wire_msn(msn, cx) };
        Packet { opcode: Opcode::Acknowledge, psn, aeth, ..blank }
    }

    /// The next packet of a Read response; none where a quirk leaves it out.
    fn response(&mut self, read: &mut ReadAnswer, blank: Packet, cx: &Context<'_>) -> Option<Packet> {
        let quirks = cx.quirks;
        let index = read.next - read.first;
        if index == 0 && every_nth(&mut self.answers.surplus, quirks.response_surplus_every) {
            read.end += 1;
        }
        let before = index * cx.attributes.mtu;
        let payload = read.bytes.saturating_sub(before).min(cx.attributes.mtu);
        let mut position = read.position();
        if position == Position::Last && quirks.response_never_ends {
            position = Position::Middle;
        }
        let psn = self.first_psn.add(read.next);
        read.next += 1;
        if every_nth(&mut self.answers.gaps, quirks.response_gap_every) {
            return None;
        }
        let aeth =
            AethRepr { syndrome: Syndrome::Ack(AethRepr::NO_CREDITS), msn: self.wire_msn(read.msn, cx) };
        Some(Packet {
            opcode: opcodes::response(position),
            psn,
            aeth,
            payload: payload as u16,
            content: read.address + u64::from(before),
            ..blank
        })
    }

    /// An MSN in 24 bits.
    const fn wire_msn(&self, msn: u32, cx: &Context<'_>) -> u32 {
        msn.wrapping_add_signed(cx.quirks.msn_offset) & 0xff_ffff
    }
}
