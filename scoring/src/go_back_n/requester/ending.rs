//! End of a requester: its completion status against its packets.

use dumper::Nanos;
use dumper::observation::CompletionStatus;
use dumper::timers::LATEST_EXPIRY;

use super::Requester;
use crate::anomaly::{Evidence, Role};
use crate::go_back_n::ledger::Ledger;
use crate::known::{RnrRetries, Timeout};
use crate::retransmission::Retransmission;
use crate::rules::Rule;
use crate::see::report::Report;
use crate::thresholds::STALL_EXPIRIES;

impl Requester {
    /// The trace has ended at `now`.
    pub(in crate::go_back_n) fn ends(&self, now: Nanos, report: Report, ledger: &mut Ledger<'_>) {
        match report {
            Report::None => {}
            Report::NoFailure => self.judge_silence(now, ledger),
            Report::Failed(status) => {
                if status == CompletionStatus::RetryExceeded && !ledger.muted {
                    ledger.ends_at_copies.extend(self.ends_at_copies(ledger));
                }
                self.judge_failure(status, ledger);
            }
        }
    }

    /// A requester that nothing has failed for goes on until all is acknowledged.
    fn judge_silence(&self, now: Nanos, ledger: &mut Ledger<'_>) {
        let Some(Timeout::Enabled(minimum)) = ledger.known.timeout else { return };
        let all_done = self.window.una() == self.window.next();
        let last = self.last_sent.max(self.window.last_progress()).max(self.last_covered);
        let limit = minimum.times(LATEST_EXPIRY.into()).times(STALL_EXPIRIES) + self.rnr_wait;
        if all_done || self.failed.is_some() || now - last <= limit {
            return;
        }
        let (relative, silent) = (ledger.relative(self.window.una()), now - last);
        let what = format!("neither retransmits unacknowledged PSN {relative} nor fails, for {silent}");
        let evidence =
            Evidence::packets([self.last_packet]).with_time("silent", silent).with_time("limit", limit);
        ledger.broken(Role::Requester, Rule::RequestNeverAnswered, self.state.name(), what, evidence);
    }

    /// Returns true if the NAK that was delivered last made the requester give up, and spent no retry: the NAK made
    /// progress, so that the timer started again, and the requester, which acts on NAKs in a fraction of T, has not
    /// retransmitted for it.
    fn ends_at_nak(&self, ledger: &Ledger<'_>) -> bool {
        let Some(Timeout::Enabled(minimum)) = ledger.known.timeout else { return false };
        let Some(nak) = self.nak.filter(|nak| nak.pending == 1 && !nak.acted) else { return false };
        let reacts_soon = || {
            let of_connection = |entry: &&Retransmission| entry.connection == ledger.connection();
            let entries = ledger.retransmissions.iter().filter(of_connection);
            let reactions = entries.filter(|entry| entry.nack.is_some()).map(|entry| entry.reaction_ns);
            reactions.max().flatten().is_some_and(|slowest| slowest.times(4) <= minimum)
        };
        nak.psn == self.window.una()
            && nak.time == self.window.last_progress()
            && nak.time > self.last_sent
            && self.has_only_naks(ledger)
            && reacts_soon()
    }

    /// A requester that gave up had no retries left.
    fn judge_failure(&self, status: CompletionStatus, ledger: &mut Ledger<'_>) {
        // Losses behind the switch cause implied NAKs that the trace does not show.
        let all_heard = ledger.requester_discards == Some(0);
        let ends_at_nak = self.ends_at_nak(ledger);
        let [retries, rnr_retries] = self.budget.spent_at_most(self.last_sent, ends_at_nak.into());
        // While responses beyond a gap continue to come, the timer may expire among them: the next one then
        // is an implied NAK once more, which may end the QP before the expiry's retransmission is sent.
        let retries = retries + u32::from(self.gap.is_some_and(|gap| gap.pending > 1));
        // Where both kinds of NAK came, an expiry behind them may look like the retry of either.
        let both = ledger.counts.rnr_naks_heard > 0 && ledger.counts.sequence_naks_heard > 0;
        let retries = retries + u32::from(both);
        let (rule, what) = match (status, ledger.known.retries, ledger.known.rnr_retries) {
            // A timer too short to be seen may have expired any number of times.
            (CompletionStatus::RetryExceeded, Some(most), _)
                if all_heard && retries < most && (ledger.known.timer_shows() || ends_at_nak) =>
            {
                let what =
                    format!("fails with retry-exceeded after {retries} or fewer of its {most} retries");
                (Rule::RetriesBelowBudget, what)
            }
            (CompletionStatus::RetryExceeded, Some(_), _) if all_heard && self.ends_in_rnr_wait(ledger) => {
                let what = "fails with retries exceeded in the wait that an RNR NAK asks for, in which the ACK timer does not run";
                (Rule::RetriesBelowBudget, what.to_owned())
            }
            (CompletionStatus::RnrRetryExceeded, _, Some(RnrRetries::Unlimited)) => {
                let what = "fails with RNR-retry-exceeded where rnr_retry is unlimited".to_owned();
                (Rule::RnrRetriesBelowBudget, what)
            }
            // The RNR NAK after the last retry is the one that ends the QP.
            (CompletionStatus::RnrRetryExceeded, _, Some(RnrRetries::Limited(most)))
                if all_heard && rnr_retries <= most =>
            {
                let what = format!(
                    "fails with RNR-retry-exceeded after {rnr_retries} or fewer RNR NAKs, where rnr_retry is {most}"
                );
                (Rule::RnrRetriesBelowBudget, what)
            }
            _ => return,
        };
        let (name, most, retries) = match rule {
            Rule::RetriesBelowBudget => ("retry-cnt", ledger.known.retries, retries),
            _ => ("rnr-retry", ledger.known.rnr_retries.and_then(RnrRetries::limit), rnr_retries),
        };
        let mut evidence = Evidence::packets([self.last_packet]).with_number("retries", u64::from(retries));
        evidence.numbers.extend(most.map(|most| (name, u64::from(most))));
        ledger.broken(Role::Requester, rule, self.state.name(), what, evidence);
    }
}
