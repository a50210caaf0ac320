//! By when the answer to a mark has certainly come, if there is one.

use dumper::Nanos;
use dumper::trace::FlowId;

use super::limiter::Window;
use super::log::{HostLog, Mark};
use crate::see::prompt::PromptAnswer;
use crate::thresholds::{CNP_PATIENCE, RECEIVER_JITTER};

/// The windows of all marks of which it is known by when a CNP must have come: a CNP never enters the switch
/// before the mark has left it, and not after
///
/// - an answer to a packet that left later, as packets reach a host in order,
/// - the longest queue that all before it can make, where the host sent something after that, and left no
///   packet unanswered that it usually answers at once: a receiver that stands still makes no CNPs either,
/// - the end of the trace, where all messages of its connection are complete.
pub(super) fn windows(
    marks: &[Mark],
    log: &HostLog,
    answers: &[PromptAnswer],
    complete: impl Fn(FlowId) -> bool,
) -> Vec<Window> {
    let mut answers = answers.to_vec();
    answers.sort_by_key(|answer| answer.left);
    // Since when the host left something unanswered, and the latest end of all until then.
    let mut still: Vec<(Nanos, Nanos)> = Vec::new();
    for answer in answers.iter().filter(|answer| answer.took() > CNP_PATIENCE) {
        let until = still.last().map_or(answer.answered, |(_, until)| answer.answered.max(*until));
        still.push((answer.left, until));
    }
    let stands_still = |at: Nanos| {
        let begun = still.partition_point(|(left, _)| *left <= at);
        begun.checked_sub(1).is_some_and(|last| at < still[last].1)
    };
    // Of each, the earliest answer to it or to a later one.
    let mut earliest = Nanos(u64::MAX);
    for answer in answers.iter_mut().rev() {
        earliest = earliest.min(answer.answered);
        answer.answered = earliest;
    }
    let latest = |mark: &Mark| {
        let later = answers.partition_point(|answer| answer.left < mark.left);
        let in_order = answers.get(later).map(|answer| answer.answered + RECEIVER_JITTER);
        let through = Some(mark.through + CNP_PATIENCE)
            .filter(|latest| *latest <= log.last_sent && !stands_still(*latest));
        in_order.into_iter().chain(through).min().or_else(|| complete(mark.flow).then_some(Nanos(u64::MAX)))
    };
    marks
        .iter()
        .filter_map(|mark| Some(Window { mark: *mark, earliest: mark.left, latest: latest(mark)? }))
        .collect()
}
