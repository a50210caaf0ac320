//! Inference about both hosts' notification points at the end of the trace.

use dumper::Nanos;
use dumper::trace::FlowId;

use super::limiter::{self, CnpLimiter, Sent, Since, Way};
use super::withheld::Judge;
use super::{CnpAnalyzer, certain};
use crate::anomaly::Anomalies;
use crate::see::prompt::PromptAnswer;
use crate::see::sides::Side;

/// Outcome of a connection, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// All of its messages are complete.
    Complete,
    /// It failed.
    Failed,
    /// Nobody says.
    Unknown,
}

impl CnpAnalyzer<'_> {
    /// CNP limits of each host, and the CNPs that it withholds. `prompt` are the hosts' prompt answers of
    /// other kinds, `outcome` is the outcome of a connection, by number.
    pub(crate) fn limiters(
        &self,
        prompt: &[Vec<PromptAnswer>; 2],
        outcome: impl Fn(usize) -> Outcome,
        anomalies: &mut Anomalies,
    ) -> [Option<CnpLimiter>; 2] {
        let from_start = self.known.from_the_start || self.from_start.iter().all(|told| *told);
        let since = if from_start { Since::Ever } else { Since::Start(self.start) };
        let connection = |flow: FlowId| self.partner[flow.index()].map(|(_, number)| number);
        let outcome = |flow| connection(flow).map_or(Outcome::Failed, &outcome);
        [Side::Requester, Side::Responder].map(|side| {
            let (log, known) = (self.log.host(side), self.known.host(side));
            // All discarded packets may have been marked.
            let lost = known.discards.is_some_and(|discards| discards > 0);
            let marks = self.log.marks(|flow| {
                let [_, receiver] = self.hosts[flow.index()];
                receiver == Some(side) && !lost && outcome(flow) != Outcome::Failed
            });
            let answers = &prompt[side.index()];
            let windows = certain::windows(&marks, log, answers, |flow| outcome(flow) == Outcome::Complete);
            let sent = Sent::new(&log.cnps, since);
            let way = Way::of(log, answers, &marks);
            let likely = limiter::likely_bounds(self.trace, &sent, way, &marks, &windows);
            let limiter = limiter::limiter(log, &likely)?;
            if let Some(configured) = known.cnp_interval
                && known.notifies == Some(true)
            {
                let (trace, sent, windows, likely) = (self.trace, &sent, &windows, &likely);
                let judge = Judge { trace, configured, sent, windows, likely };
                judge.anomaly(connection).into_iter().for_each(|anomaly| anomalies.push(anomaly));
            }
            Some(limiter)
        })
    }

    /// From a mark to its CNP, of each host: the shortest time, where it is certain which CNP answers which mark.
    pub(crate) fn shortest_answer(&self, side: Side) -> Option<Nanos> {
        self.log.host(side).answers.iter().map(PromptAnswer::took).min()
    }
}
