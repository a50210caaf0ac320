//! The shape of requests: where a packet stands in its message, and that a repeated packet is the one sent first.

use dumper::wire::{Class, Position, Verb};

use super::Requester;
use crate::anomaly::{Evidence, Role};
use crate::go_back_n::ledger::Ledger;
use crate::go_back_n::packet::Packet;
use crate::go_back_n::window::Sent;
use crate::rules::Rule;

/// Place of the requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Nobody knows: the capture may have begun in a message, or packets were left out.
    Unknown,
    /// A message has ended, or none has begun.
    Between,
    /// A Send or Write has begun and not ended.
    Inside(Verb),
}

impl Place {
    /// Where the requests stand after one of a class, and whether that one was in its place.
    #[inline]
    const fn after(self, class: Class) -> (Self, bool) {
        let (next, starts) = match class {
            Class::Request(verb, position) => {
                let next = if position.ends() { Self::Between } else { Self::Inside(verb) };
                (next, position.starts())
            }
            _ => (Self::Between, true),
        };
        let fits = match (self, class) {
            (Self::Unknown, _) => true,
            (Self::Between, _) => starts,
            (Self::Inside(open), Class::Request(verb, Position::Middle | Position::Last)) => {
                open as u8 == verb as u8
            }
            (Self::Inside(_), _) => false,
        };
        (next, fits)
    }
}

impl Requester {
    /// A new request takes its place behind those before. Returns whether it is the right one.
    #[inline]
    pub(super) fn takes_place(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) -> bool {
        let (next, fits) = self.place.after(packet.opcode.class());
        if !fits {
            let (relative, opcode) = (ledger.relative(packet.psn), packet.opcode);
            let where_it_is =
                if self.place == Place::Between { "between messages" } else { "inside a message" };
            let what = format!("sends {opcode} with PSN {relative} {where_it_is}");
            let evidence = Evidence::packets([packet.sequence]);
            ledger.broken(Role::Requester, Rule::RequestPosition, self.state.name(), what, evidence);
        }
        self.place = next;
        fits
    }

    /// A repeated request is the one that was sent first: of the same opcode, and a Read asks for the rest.
    pub(super) fn judge_repetition(&self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let Some(sent) = self.window.covering(packet.psn) else { return };
        if packet.opcode != sent.opcode {
            let (relative, opcode, first) = (ledger.relative(packet.psn), packet.opcode, sent.opcode);
            let what = format!("repeats PSN {relative} as {opcode}; the first packet was {first}");
            let evidence = Evidence::packets([packet.sequence]);
            ledger.broken(Role::Requester, Rule::RetransmissionDiffers, self.state.name(), what, evidence);
        } else if packet.opcode.class() == Class::ReadRequest {
            self.judge_rest(packet, sent, ledger);
        }
    }

    /// A Read that is issued again asks for the rest of what it asked for at first.
    fn judge_rest(&self, packet: &Packet, sent: &Sent, ledger: &mut Ledger<'_>) {
        let received = u64::from(packet.psn.since(sent.first).unsigned_abs()) * u64::from(ledger.mtu);
        let address = sent.read.address.wrapping_add(received);
        let length = u64::from(sent.read.length).saturating_sub(received);
        if packet.read.address != address || u64::from(packet.read.length) != length {
            let relative = ledger.relative(packet.psn);
            let what = format!(
                "retransmits the Read from PSN {relative} with {} bytes at {:#x} where {length} bytes at {address:#x} are missing",
                packet.read.length, packet.read.address,
            );
            let evidence = Evidence::packets([packet.sequence]);
            ledger.broken(Role::Requester, Rule::ReissueAddress, self.state.name(), what, evidence);
        }
    }
}
