//! CNP limits of a notification point: scope and interval (Lumina §6.3).
//!
//! For the right scope there is an interval such that a mark is answered exactly if the last CNP of its scope was
//! sent so long ago. Two CNPs bound the interval from above, a mark without an answer bounds it from below, and a
//! scope whose bounds contradict each other is the wrong one. A CNP that comes late, at the end of an interval in
//! which a mark came, contradicts nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dumper::Nanos;
use dumper::Trace;
use dumper::trace::FlowId;
use serde::Serialize;

use super::log::{Cnp, HostLog, Mark, by_scope};
use crate::CnpScope;
use crate::see::prompt::PromptAnswer;
use crate::see::slowest::{link_time, on_the_slowest_link};
use crate::thresholds::{CNP_BEHIND_DATA, FEWEST_WAYS};

/// CNP limits of a notification point, as far as the trace shows them (Lumina §6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CnpLimiter {
    /// The narrowest scope that explains which marks were answered; `None` where none does.
    pub scope: Option<CnpScope>,
    /// True if no wider scope would explain them as well.
    pub scope_certain: bool,
    /// A marked packet came so long after a CNP of its scope and was not answered: the interval is longer.
    pub longer_than_ns: Nanos,
    /// Two CNPs of one scope came so soon after each other: the interval is not longer. `None` of a single CNP.
    pub at_most_ns: Option<Nanos>,
    /// Marked data packets that were delivered.
    pub marked: u64,
    /// CNPs.
    pub cnps: u64,
}

/// CNPs that share one interval have one key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ScopeKey {
    Qp(FlowId),
    Address(IpAddr),
    Port,
}

impl ScopeKey {
    /// The key of a flow of marked packets, whose source is the destination of the CNPs.
    fn of(scope: CnpScope, trace: &Trace, flow: FlowId) -> Self {
        match scope {
            CnpScope::Qp => Self::Qp(flow),
            CnpScope::DestinationIp => Self::Address(trace.flows()[flow.index()].source),
            CnpScope::Port => Self::Port,
        }
    }
}

/// A mark, and when its CNP enters the switch at the earliest and at the latest, if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) mark: Mark,
    pub(super) earliest: Nanos,
    pub(super) latest: Nanos,
}

/// Since when CNPs are known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Since {
    /// There was none before the trace.
    Ever,
    /// There may have been some before.
    Start(Nanos),
}

/// Bounds of the interval by marks and CNPs, if a scope is the right one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// A mark had no answer although no CNP of its scope had been sent: no interval explains that.
    never: bool,
    pub(super) longer_than: Nanos,
    /// Shortest time between two CNPs of the scope, if the first one waited as long as it can have.
    pub(super) apart: Option<Nanos>,
    /// Largest amount by which that time may look shorter than the interval.
    jitter: Nanos,
}

impl Bounds {
    /// Bounds from marks that certainly are without an answer where no CNP comes in their window.
    pub(super) fn of(scope: CnpScope, trace: &Trace, sent: &Sent, windows: &[Window], jitter: Nanos) -> Self {
        let key = |flow| ScopeKey::of(scope, trace, flow);
        let scopes = by_scope(sent.cnps, |cnp| key(cnp.flow));
        let apart = |two: &[Cnp]| two[1].sent - two[0].sent + two[0].waited;
        let apart = scopes.values().flat_map(|cnps| cnps.windows(2)).map(apart).min();
        let mut bounds = Self { apart, jitter, ..Self::default() };
        for window in windows.iter().filter(|window| sent.unanswered(window)) {
            let cnps = scopes.get(&key(window.mark.flow)).map_or(&[][..], Vec::as_slice);
            let before = cnps.partition_point(|cnp| cnp.sent < window.earliest);
            if cnps.get(before).is_some_and(|cnp| cnp.sent <= window.latest) {
                // It may have been sent before the mark came or after.
                continue;
            }
            match (before.checked_sub(1).map(|at| cnps[at].sent), sent.since) {
                (None, Since::Ever) => bounds.never = true,
                (None, Since::Start(last)) | (Some(last), _) => {
                    bounds.longer_than = bounds.longer_than.max(window.earliest - last);
                }
            }
        }
        bounds
    }

    /// The longest interval that two CNPs of the scope allow.
    pub(super) fn at_most(&self) -> Option<Nanos> {
        self.apart.map(|apart| apart + self.jitter)
    }

    /// Returns true if some interval explains everything.
    pub(super) fn explain(&self) -> bool {
        !self.never && self.at_most().is_none_or(|most| self.longer_than <= most)
    }
}

/// The CNPs of a host.
#[derive(Debug)]
pub(super) struct Sent<'a> {
    cnps: &'a [Cnp],
    of_qp: BTreeMap<FlowId, Vec<Cnp>>,
    pub(super) since: Since,
}

impl<'a> Sent<'a> {
    pub(super) fn new(cnps: &'a [Cnp], since: Since) -> Self {
        Self { cnps, of_qp: by_scope(cnps, |cnp| cnp.flow), since }
    }

    /// Returns true if no CNP to its QP can be the answer to a mark.
    pub(super) fn unanswered(&self, window: &Window) -> bool {
        let cnps = self.of_qp.get(&window.mark.flow).map_or(&[][..], Vec::as_slice);
        let first = cnps.partition_point(|cnp| cnp.sent < window.earliest);
        cnps.get(first).is_none_or(|cnp| cnp.sent > window.latest)
    }

    /// The last CNP to the QP of a mark before its answer could come.
    pub(super) fn before(&self, window: &Window) -> Option<Cnp> {
        let cnps = self.of_qp.get(&window.mark.flow)?;
        cnps[..cnps.partition_point(|cnp| cnp.sent < window.earliest)].last().copied()
    }
}

/// Time from marks at the switch to a host and of its CNPs back, as prompt answers show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    shortest: Nanos,
    longest: Nanos,
    /// The longest frame that took part.
    frame_len: u32,
}

impl Way {
    /// `None` where too few answers show how much it varies.
    pub(super) fn of(log: &HostLog, others: &[PromptAnswer], marks: &[Mark]) -> Option<Self> {
        // CNPs alone do not show the queues on the way: in a long queue it is not certain which mark they
        // answer.
        if others.len() < FEWEST_WAYS {
            return None;
        }
        let answers = || log.answers.iter().chain(others);
        // A short frame is there sooner than a long one.
        let shortest_frame = marks.iter().map(|mark| mark.frame_len).min().unwrap_or_default();
        let sooner = |answer: &PromptAnswer| extra_time(answer.frame_len, shortest_frame);
        let shortest = log.unqueued.iter().map(|answer| answer.took() - sooner(answer)).min();
        Some(Self {
            shortest: shortest.unwrap_or_default(),
            longest: answers().map(PromptAnswer::took).max().unwrap_or_default()
                + link_time(0, LONGER_THAN_ACK),
            frame_len: answers().map(|answer| answer.frame_len).max().unwrap_or_default(),
        })
    }

    fn jitter(&self) -> Nanos {
        self.longest - self.shortest
    }

    fn window(&self, mark: Mark) -> Window {
        let longest = self.longest + extra_time(mark.frame_len, self.frame_len);
        Window { mark, earliest: mark.left + self.shortest, latest: mark.left + longest }
    }
}

/// Bytes by which a CNP is longer than an ACK: 16 zero bytes in place of an AETH (annex A17.9.3).
const LONGER_THAN_ACK: u64 = 12;

/// Largest extra time of a frame over a shorter one.
fn extra_time(frame_len: u32, than: u32) -> Nanos {
    on_the_slowest_link(frame_len) - on_the_slowest_link(than.min(frame_len))
}

/// The bounds of every scope, from the narrowest to the widest, as measured ways show them, or else as is certain.
pub(super) fn likely_bounds(
    trace: &Trace,
    sent: &Sent,
    way: Option<Way>,
    marks: &[Mark],
    certain: &[Window],
) -> [Bounds; 3] {
    let bounds = |windows: &[Window], jitter| {
        CnpScope::ALL.map(|scope| Bounds::of(scope, trace, sent, windows, jitter))
    };
    match way {
        Some(way) => {
            let windows: Vec<Window> = marks.iter().map(|mark| way.window(*mark)).collect();
            bounds(&windows, way.jitter())
        }
        None => bounds(certain, CNP_BEHIND_DATA),
    }
}

/// CNP limits of a notification point, if they can be inferred.
pub(super) fn limiter(log: &HostLog, bounds: &[Bounds; 3]) -> Option<CnpLimiter> {
    if log.cnps.is_empty() || log.stray {
        return None;
    }
    let explaining: Vec<(CnpScope, &Bounds)> =
        CnpScope::ALL.into_iter().zip(bounds).filter(|(_, bounds)| bounds.explain()).collect();
    // The wider a scope, the lower are its bounds: the interval of any of them is between these.
    let (narrowest, widest) = (explaining.first(), explaining.last());
    Some(CnpLimiter {
        scope: narrowest.map(|(scope, _)| *scope),
        scope_certain: explaining.len() == 1,
        longer_than_ns: widest.map(|(_, bounds)| bounds.longer_than).unwrap_or_default(),
        at_most_ns: narrowest.and_then(|(_, bounds)| bounds.at_most()),
        marked: log.marked,
        cnps: log.cnps.len() as u64,
    })
}
