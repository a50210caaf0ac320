//! The ACK timer, seen from the switch: when it can have expired, and whether it expired too early or too late (IBA vol. 1,
//! 9.7.6.1.3).

use dumper::Nanos;
use dumper::timers::LATEST_EXPIRY;

use super::Requester;
use super::cause::Cause;
use crate::anomaly::{Evidence, Role};
use crate::go_back_n::ledger::Ledger;
use crate::go_back_n::packet::Packet;
use crate::known::Timeout;
use crate::rules::Rule;
use crate::thresholds::{SHORTEST_TIMEOUT, SLOWEST_NACK, TIMER_AT_T_PERCENT, TIMER_SLACK};

/// Returns true if the timer is on, and would have expired after this time.
fn is_time_out(time: Nanos, ledger: &Ledger<'_>) -> bool {
    matches!(ledger.known.timeout, Some(Timeout::Enabled(minimum)) if time + ledger.known.times.timer_slack >= minimum)
}

impl Requester {
    /// Returns true if the repeated packet may have waited in its NIC since `then`, or since the slack of a timer after it:
    /// its requester has sent nothing since, and other connections have without a break.
    pub(super) fn may_have_waited_in_its_nic(&self, then: Nanos, ledger: &Ledger<'_>) -> bool {
        self.last_sent <= then
            && ledger.shared_path.requests_flow_since <= then + ledger.known.times.timer_slack
            && ledger.shared_path.request_before > then
    }

    /// Returns true if an expired timer explains the retransmission better than yet another delivery of a
    /// cause that was acted on before: most requesters act on a cause once.
    pub(super) fn timer_is_likelier(&self, cause: &Cause, now: Nanos, ledger: &Ledger<'_>) -> bool {
        match ledger.known.timeout {
            Some(_) => self.timer_is_due(now, ledger),
            None => now - cause.time > ledger.known.times.ack_in_flight,
        }
    }

    /// Returns true if the ACK timer can have expired at `now`: it is enabled, and the shortest time-out has
    /// passed since its earliest start. An expiry before the configured T is judged by its own rule.
    pub(super) fn timer_may_have_expired(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        let waited = self.window.waited_at_most(now);
        match ledger.known.timeout {
            Some(Timeout::Disabled) => false,
            Some(Timeout::Enabled(minimum)) if waited + ledger.known.times.timer_slack >= minimum => true,
            Some(Timeout::Enabled(_)) | None => waited >= SHORTEST_TIMEOUT,
        }
    }

    /// Returns true if a timer with the earliest possible start is due.
    pub(super) fn timer_is_due(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        match ledger.known.timeout {
            Some(Timeout::Enabled(minimum)) => {
                self.window.waited_at_most(now) + ledger.known.times.timer_slack >= minimum
            }
            Some(Timeout::Disabled) | None => self.timer_may_have_expired(now, ledger),
        }
    }

    /// Returns true if a timer that no acknowledgement stops would have expired by `now`.
    pub(super) fn would_expire_unanswered(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        is_time_out(now - self.last_sent, ledger)
    }

    /// Returns true if a timer that progress does not restart would have expired by `now`.
    pub(super) fn timer_has_ignored_progress(&self, now: Nanos, ledger: &Ledger<'_>) -> bool {
        is_time_out(now - self.window.outstanding_since(), ledger)
    }

    /// Returns true if no request of any connection has entered the switch for a while since this
    /// connection's last one. That points to an expired timer; a requester that repeats without a cause does
    /// so in its turn to send.
    pub(super) fn was_silent(&self, ledger: &Ledger<'_>) -> bool {
        ledger.shared_path.requests_flow_since > self.last_sent
    }

    /// Judges an expiry against T and 4T, where the configuration says what T is. Returns the rule that it breaks.
    pub(super) fn judge_timer(&self, packet: &Packet, ledger: &mut Ledger<'_>) -> Option<Rule> {
        let Some(Timeout::Enabled(minimum)) = ledger.known.timeout else { return None };
        let longest = self.window.waited_at_most(packet.time);
        // A gap in responses that the requester received, or discarded responses of its host, may be behind an early one.
        let is_early = packet.psn == self.window.una()
            && longest + ledger.known.times.timer_slack < minimum
            && self.expired_unseen.is_none()
            && !ledger.requester_has_discarded();
        let (rule, waited, limit) = if is_early {
            (Rule::RtoBelowMinimum, longest, minimum)
        } else {
            let maximum = minimum.times(LATEST_EXPIRY.into());
            (Rule::RtoAboveMaximum, self.waited_beyond(packet, maximum, ledger)?, maximum)
        };
        let relative = ledger.relative(packet.psn);
        let [after, earliest_or_latest] = waited.apart(limit);
        let bound = if is_early { "sooner than T" } else { "later than 4T" };
        let what = format!("times out on PSN {relative} after {after}, {bound} ({earliest_or_latest})");
        let evidence =
            Evidence::packets([packet.sequence]).with_time("waited", waited).with_time("limit", limit);
        ledger.broken(Role::Requester, rule, self.state.name(), what, evidence);
        Some(rule)
    }

    /// Time since the latest moment at which the timer can have been started, if that is certainly beyond `maximum`: the
    /// retransmission did not wait behind packets of other connections since before then, nor for the rate of its QP.
    fn waited_beyond(&self, packet: &Packet, maximum: Nanos, ledger: &Ledger<'_>) -> Option<Nanos> {
        let latest =
            self.last_sent.max(self.window.last_progress()).max(self.rnr_resumed).max(self.last_covered);
        let waited = packet.time - latest;
        let limit = maximum + ledger.known.times.timer_slack + ledger.shared_path.answers_queued();
        let is_late = waited > limit
            && !self.slowed
            && !self.may_have_waited_in_its_nic(packet.time - waited + maximum, ledger);
        is_late.then_some(waited)
    }

    /// Returns true if the ACK timer, and not the gap in a Read response, makes the requester issue the Read again: it
    /// does so at T, or later than the slowest NIC makes an implied NAK.
    pub(super) fn waits_out_gap(&self, gap: &Cause, packet: &Packet, ledger: &Ledger<'_>) -> bool {
        let Some(Timeout::Enabled(minimum)) = ledger.known.timeout else { return false };
        let waited = self.window.waited_at_most(packet.time) + TIMER_SLACK;
        let slowest = SLOWEST_NACK.max(ledger.known.times.answer_patience);
        // The implied NAK of an older gap, or of one before it, may be a slow NIC's.
        let (age, oldest) = (packet.time - gap.time, packet.time - gap.oldest);
        let at_t = minimum.times(TIMER_AT_T_PERCENT);
        self.reissues_first(gap, packet)
            && waited >= minimum
            && (age > slowest || [waited, oldest].iter().all(|time| time.times(100) <= at_t))
    }

    /// Returns true if the requester issues a Read with a gap in its responses again just when its ACK timer expires, by a clock
    /// that may count in ticks.
    pub(super) fn acts_at_t(&self, gap: &Cause, packet: &Packet, ledger: &Ledger<'_>) -> bool {
        let Some(Timeout::Enabled(t)) = ledger.known.timeout else { return false };
        let waited = self.window.waited_at_most(packet.time).times(100);
        let near_t = t.times(200 - TIMER_AT_T_PERCENT)..=t.times(TIMER_AT_T_PERCENT);
        self.reissues_first(gap, packet) && near_t.contains(&waited)
    }

    /// Returns true if a Read is issued again from a gap in its responses for the first time, and no RNR NAK makes the requester
    /// wait for longer.
    fn reissues_first(&self, gap: &Cause, packet: &Packet) -> bool {
        let is_refused = self.rnr.is_some_and(|rnr| rnr.pending > 0);
        // One that has issued the Read from there before may take further responses beyond the gap for those of before.
        let once = self.window.was_sent_once(packet.psn);
        !gap.acted && once && !is_refused && packet.psn == self.window.una()
    }

    /// Notes that the timer certainly started again at `when`. Of one too short to be seen nobody knows when it did.
    pub(super) fn restart_timer(&mut self, when: Nanos, ledger: &Ledger<'_>) {
        if ledger.known.timer_shows() {
            self.window.restart_timer(when);
        }
    }
}
