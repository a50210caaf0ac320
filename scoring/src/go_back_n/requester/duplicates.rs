//! Duplicate ACKs: they acknowledge nothing new, and are no reason to retransmit.

use dumper::{Nanos, Psn};

use super::Requester;
use crate::anomaly::{Evidence, Role};
use crate::go_back_n::ledger::Ledger;
use crate::go_back_n::packet::Packet;
use crate::known::Timeout;
use crate::rules::Rule;
use crate::thresholds::{DUPLICATE_ACK_RETURNS, SHORTEST_TIMEOUT};

/// An ACK that acknowledged nothing new.
#[derive(Clone, Copy, Debug)]
struct Duplicate {
    sequence: u32,
    time: Nanos,
}

/// Retransmissions one after another, each right behind a duplicate ACK and none behind a NAK.
#[derive(Clone, Copy, Debug)]
struct Streak {
    first: Nanos,
    last: Nanos,
    count: u64,
}

/// What followed duplicate ACKs.
#[derive(Debug, Default)]
pub(super) struct DuplicateAcks {
    /// The last one since the requester last went back.
    last: Option<Duplicate>,
    /// When a NAK or RNR NAK was last delivered, stale or not.
    naked: Option<Nanos>,
    streak: Option<Streak>,
}

impl DuplicateAcks {
    #[inline]
    pub(super) const fn heard(&mut self, packet: &Packet) {
        self.last = Some(Duplicate { sequence: packet.sequence, time: packet.time });
    }

    #[inline]
    pub(super) const fn naked(&mut self, packet: &Packet) {
        self.naked = Some(packet.time);
    }
}

impl Requester {
    /// The requester goes back with `packet`. A timer expires once in T at most: what comes more often, each time
    /// behind a duplicate ACK and never behind a NAK, is done for those ACKs.
    pub(super) fn judge_duplicate_acks(&mut self, packet: &Packet, ledger: &mut Ledger<'_>) {
        let now = packet.time;
        let since = std::mem::take(&mut self.duplicates.last);
        let prompt = since.filter(|ack| now - ack.time <= ledger.known.times.slow_retransmission);
        let Some(ack) = prompt.filter(|_| !self.may_act_on_nack(now, ledger)) else {
            self.duplicates.streak = None;
            return;
        };
        let shortest = match ledger.known.timeout {
            Some(Timeout::Enabled(shortest)) => shortest,
            Some(Timeout::Disabled) => Nanos(u64::MAX),
            None => SHORTEST_TIMEOUT,
        };
        let goes_on = |streak: &Streak| now - streak.last < shortest;
        let mut streak =
            self.duplicates.streak.filter(goes_on).unwrap_or(Streak { first: now, last: now, count: 0 });
        (streak.last, streak.count) = (now, streak.count + 1);
        let within = now - streak.first;
        let expiries = (within + ledger.known.times.timer_slack).0 / shortest.0;
        let broken = streak.count > expiries + DUPLICATE_ACK_RETURNS;
        self.duplicates.streak = (!broken).then_some(streak);
        if broken {
            self.report_returns(packet, ack.sequence, (streak.count, within), ledger);
        }
    }

    /// Whether a NAK, an implied NAK or an RNR NAK may be acted on, as none that is recent or pending is certainly used up.
    fn may_act_on_nack(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        let is_recent = |time: Nanos| now - time <= ledger.known.times.ack_in_flight;
        self.duplicates.naked.is_some_and(is_recent)
            || self.rnr.is_some() && is_recent(self.rnr_until)
            || self.gap.is_some_and(|gap| is_recent(gap.last))
            || [self.nak, self.gap, self.rnr].into_iter().flatten().any(|cause| cause.pending > 0)
            || self.window.awaits_responses()
            // A response that was lost behind the switch makes an implied NAK that no trace shows.
            || self.window.has_sent_reads() && ledger.requester_discards != Some(0)
    }

    fn report_returns(
        &self,
        packet: &Packet,
        ack: u32,
        (count, within): (u64, Nanos),
        ledger: &mut Ledger<'_>,
    ) {
        let relative = ledger.relative(packet.psn);
        let what = format!(
            "retransmits from PSN {relative} for the duplicate ACK in packet {ack}, {count} times within {within}"
        );
        let evidence = Evidence::packets([packet.sequence, ack])
            .with_number("retransmissions", count)
            .with_time("within", within);
        ledger.broken(Role::Requester, Rule::RetransmissionOnDuplicateAck, self.state.name(), what, evidence);
    }

    /// Whether an ACK of everything before `end` is news.
    #[inline]
    pub(super) fn is_duplicate_ack(&self, end: Psn) -> bool {
        !end.is_after(self.window.una())
    }
}
