//! Copies of a NAK, and requesters that give up when they come.

use dumper::{Nanos, Psn};

use super::Requester;
use crate::go_back_n::end_at_copies::EndAtCopies;
use crate::go_back_n::ledger::Ledger;
use crate::go_back_n::packet::Packet;
use crate::known::Timeout;

/// A sequence NAK and its copies, until the requester repeats from an earlier PSN.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopiedNak {
    sequence: u32,
    psn: Psn,
    time: Nanos,
    copies: u32,
}

impl CopiedNak {
    /// A NAK leaves the switch, or a copy of the last one.
    pub(super) fn leaves(last: &mut Option<Self>, packet: &Packet) {
        match last {
            Some(nak) if nak.sequence == packet.sequence => nak.copies += 1,
            _ => {
                let Packet { sequence, psn, time, .. } = *packet;
                *last = Some(Self { sequence, psn, time, copies: 0 });
            }
        }
    }
}

impl Requester {
    /// The end of a requester that failed with retries exceeded, if the copies of a NAK alone explain it.
    ///
    /// Nothing else may have spent a retry unseen: no Read was sent and nothing refused for lack of a Receive, the host discarded nothing,
    /// and the timer was not due. Copies that come after the retransmission are not counted: a requester may take them for another NAK.
    pub(super) fn ends_at_copies(&self, ledger: &Ledger<'_>) -> Option<EndAtCopies> {
        let nak = self.copied.filter(|nak| nak.copies > 0 && nak.psn == self.window.una())?;
        let retries = ledger.known.retries?;
        let to_expiry = match ledger.known.timeout? {
            Timeout::Disabled => Nanos(u64::MAX),
            Timeout::Enabled(minimum) => {
                minimum - ledger.known.times.timer_slack - self.window.waited_at_most(nak.time)
            }
        };
        let [spent, _] = self.budget.spent_at_most(self.last_sent, nak.copies);
        let all_heard = ledger.requester_discards == Some(0) && self.has_only_naks(ledger);
        (all_heard && spent <= retries && to_expiry > Nanos::ZERO).then_some(EndAtCopies {
            connection: ledger.connection(),
            nak: nak.sequence,
            copies: nak.copies,
            spent,
            retries,
            to_expiry,
        })
    }
}
