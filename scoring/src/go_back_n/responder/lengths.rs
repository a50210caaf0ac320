//! The lengths of requests: a responder refuses a Write whose packets do not carry as much as its RETH says, and a
//! packet that is shorter than the path MTU before the end of its message (IBA vol. 1, 9.7.4.1.6).

use dumper::Psn;
use dumper::wire::{Class, Verb};

use super::Responder;
use crate::anomaly::{Evidence, Role};
use crate::go_back_n::ledger::Ledger;
use crate::go_back_n::packet::Packet;
use crate::rules::Rule;

/// A packet by which a message, or the packet itself, does not have the length that it must have.
#[derive(Clone, Copy, Debug)]
struct Misfit {
    psn: Psn,
    sequence: u32,
    /// Bytes that are carried, and bytes that have to be.
    carried: u32,
    due: u32,
    what: &'static str,
}

/// The lengths of what is delivered in order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lengths {
    /// The length of the open Write by its RETH, and what its packets have carried so far; `None` where its start was
    /// not seen.
    open: Option<(u32, u32)>,
    misfit: Option<Misfit>,
    /// There was one, ever.
    misfits: bool,
}

impl Lengths {
    /// The next request in order is delivered; `mtu` is the path MTU, where the test and the packets agree on it.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet, mtu: Option<u32>) {
        let Class::Request(verb, position) = packet.opcode.class() else {
            self.open = None;
            return;
        };
        let short = mtu.filter(|mtu| !position.ends() && packet.payload != *mtu);
        if let Some(mtu) = short {
            self.found(packet, packet.payload, mtu, "the packet carries");
        }
        if verb != Verb::Write {
            self.open = None;
            return;
        }
        let before = if position.starts() { Some((packet.read.length, 0)) } else { self.open };
        let Some((due, carried)) = before else { return };
        let carried: u32 = packet.payload.saturating_add(carried);
        let fits = if position.ends() { carried == due } else { carried < due };
        self.open = (fits && !position.ends()).then_some((due, carried));
        if !fits {
            self.found(packet, carried, due, "its packets carry");
        }
    }

    #[cold]
    fn found(&mut self, packet: &Packet, carried: u32, due: u32, what: &'static str) {
        let (psn, sequence) = (packet.psn, packet.sequence);
        self.misfit.get_or_insert(Misfit { psn, sequence, carried, due, what });
        self.misfits = true;
    }

    /// What comes next may not follow what came before.
    pub(super) const fn forget(&mut self) {
        (self.open, self.misfit) = (None, None);
    }
}

impl Responder {
    /// Whether a delivered request had a length that may be refused.
    pub(in crate::go_back_n) const fn took_misfits(&self) -> bool {
        self.lengths.misfits
    }

    /// An ACK enters the switch: it may accept what does not have its length.
    #[inline]
    pub(super) fn judge_accepted_length(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        if self.lengths.misfit.is_some_and(|misfit| !packet.psn.is_before(misfit.psn)) {
            self.accepts_length(packet, ledger);
        }
    }

    #[cold]
    fn accepts_length(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let Some(Misfit { psn, sequence, carried, due, what }) = self.lengths.misfit.take() else { return };
        let relative = ledger.relative(psn);
        let what = format!("acknowledges PSN {relative}, where {what} {carried} bytes and not {due}");
        let evidence = Evidence::packets([packet.sequence, sequence]);
        ledger.broken(Role::Responder, Rule::WrongLengthAccepted, self.state.name(), what, evidence);
    }
}
