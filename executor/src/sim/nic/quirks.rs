//! The quirks of a NIC that hold at the moment: those without conditions, and those whose conditions hold.

use corpus::Verb;
use dumper::wire::{Class, Position};

use super::Nic;
use super::context::Subject;
use super::stats::{Stat, Stats, stats_of};
use super::transport::Qp;
use crate::NicProfile;
use crate::profile::{ConditionalQuirk, Quirks, Span, When};
use crate::sim::packet::Packet;

/// The quirks of a profile, for each set of the conditions that may hold together.
#[derive(Debug)]
pub(super) struct QuirkSets {
    /// By the conditions that hold, a bit each.
    sets: Vec<Quirks>,
    /// The counts that the conditions ask for, with the number that they ask for.
    counts: Vec<(Vec<Stat>, u64)>,
}

impl QuirkSets {
    pub(super) fn new(profile: &NicProfile) -> Self {
        let conditional = &profile.quirk;
        let set = |holding: usize| {
            let mut set = profile.quirks.clone();
            let holds = |(at, _): &(usize, &ConditionalQuirk)| holding >> at & 1 == 1;
            conditional.iter().enumerate().filter(holds).for_each(|(_, one)| set.join(&one.quirks));
            set
        };
        let counts = |when: &When| (stats_of(&when.counters, profile), when.counted.unwrap_or(1));
        Self {
            sets: (0..1 << conditional.len()).map(set).collect(),
            counts: conditional.iter().map(|one| counts(&one.when)).collect(),
        }
    }

    /// Those of a set that [`Nic::holding`] has told.
    #[inline]
    pub(super) fn get(&self, holding: usize) -> &Quirks {
        &self.sets[holding]
    }
}

/// Activity of a QP.
#[derive(Clone, Copy, Debug)]
pub(super) enum Activity<'p> {
    /// A packet arrives.
    Arrival(&'p Packet),
    /// A request is posted.
    Post { message: u32, verb: Verb },
    /// The requester sends its next packet.
    Request,
    /// The responder sends its next answer.
    Answer,
    /// A requester's timer expires.
    Expiry,
}

impl Qp {
    fn subject(&self, activity: Activity<'_>) -> Subject {
        let (requester, responder) = (&self.requester, &self.responder);
        match activity {
            Activity::Arrival(packet) => match packet.opcode.class() {
                Class::Request(verb, position) => {
                    responder.subject_of_request(verb_of(verb), position, packet.reth.dma_length)
                }
                Class::ReadRequest => {
                    responder.subject_of_request(Verb::Read, Position::Only, packet.reth.dma_length)
                }
                Class::ReadResponse(position) => {
                    Subject { position: Some(position), ..requester.oldest_subject() }
                }
                Class::Acknowledge => requester.subject_of_answer(packet.psn),
                _ => requester.oldest_subject(),
            },
            Activity::Post { message, verb } => {
                Subject { verb: Some(verb), message: Some(message + 1), ..Subject::default() }
            }
            Activity::Request => requester.next_subject(),
            Activity::Answer => responder.subject_of_answer(),
            Activity::Expiry => requester.oldest_subject(),
        }
    }
}

const fn verb_of(verb: dumper::wire::Verb) -> Verb {
    match verb {
        dumper::wire::Verb::Send => Verb::Send,
        dumper::wire::Verb::Write => Verb::Write,
    }
}

impl Nic {
    /// The conditions that hold for an activity of a QP, a bit each.
    #[inline]
    pub(super) fn holding(&self, qp: u32, activity: Activity<'_>) -> usize {
        if self.profile.quirk.is_empty() { 0 } else { self.holding_of(&self.qps[qp as usize], activity) }
    }

    #[inline(never)]
    fn holding_of(&self, qp: &Qp, activity: Activity<'_>) -> usize {
        let subject = qp.subject(activity);
        let conditions = self.profile.quirk.iter().zip(&self.quirks.counts).enumerate();
        conditions.fold(0, |holding, (at, (one, counts))| {
            holding | usize::from(self.holds(&one.when, counts, qp, subject)) << at
        })
    }

    fn holds(&self, when: &When, counts: &(Vec<Stat>, u64), qp: &Qp, subject: Subject) -> bool {
        let verb = |listed| subject.verb == Some(Verb::from(listed));
        let position = |listed| subject.position == Some(Position::from(listed));
        (when.verb.is_empty() || when.verb.iter().copied().any(verb))
            && (when.position.is_empty() || when.position.iter().copied().any(position))
            && (when.mtu.is_empty() || when.mtu.contains(&self.attributes.mtu))
            && (when.class.is_empty() || when.class.contains(&qp.class))
            && within(when.message, subject.message)
            && within(when.message_size, Some(qp.message_size))
            && within(when.connections, Some(self.qps.len() as u32))
            && within(when.retries, subject.retries)
            && has_counted(&self.stats, counts)
            // Last, as all QPs are looked at.
            && when.recovering.is_none_or(|span| within(Some(span), Some(self.recovering())))
    }

    /// QPs that recover from a loss.
    fn recovering(&self) -> u32 {
        let recovers = |qp: &&Qp| qp.requester.timers.is_retrying() || qp.responder.is_recovering();
        self.qps.iter().filter(recovers).count() as u32
    }
}

/// Returns true if a number is in a span, where there is one; nothing is in no span.
fn within(span: Option<Span<u32>>, number: Option<u32>) -> bool {
    let inside = |span: Span<u32>| number.is_some_and(|number| span.min <= number && number <= span.max);
    span.is_none_or(inside)
}

fn has_counted(stats: &Stats, (asked, times): &(Vec<Stat>, u64)) -> bool {
    asked.iter().all(|stat| stats.of(*stat) >= *times)
}
