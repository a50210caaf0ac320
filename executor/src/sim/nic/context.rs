//! State that the parts of a NIC share while one of them handles an input.

use corpus::Verb;
use dumper::Nanos;
use dumper::wire::Position;
use rand_chacha::ChaCha8Rng;

use super::stats::{Stat, Stats};
use crate::NicProfile;
use crate::profile::{Quirks, Span};
use crate::sim::agenda::Agenda;
use crate::sim::random;

/// Attributes of the QPs, from the test.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Attributes {
    /// Payload of a full packet, in bytes.
    pub(in crate::sim) mtu: u32,
    /// Exponent of the ACK timeout; 0 disables the timer.
    pub(in crate::sim) timeout: u8,
    /// Retry budget of time-outs and NAKs.
    pub(in crate::sim) retry_cnt: u8,
    /// Retry budget of RNR NAKs; 7 is unlimited.
    pub(in crate::sim) rnr_retry: u8,
    /// Timer code of the RNR NAKs that a responder sends.
    pub(in crate::sim) min_rnr_timer: u8,
    /// Reads that a requester may have outstanding.
    pub(in crate::sim) max_rd_atomic: u8,
    /// Receives posted at the start.
    pub(in crate::sim) recv_depth: u32,
    /// True if this host's reaction point is on.
    pub(in crate::sim) reacts: bool,
    /// True if this host's notification point is on.
    pub(in crate::sim) notifies: bool,
    /// Shortest time between two CNPs, as configured.
    pub(in crate::sim) cnp_interval: Nanos,
    /// True if losses count as congestion.
    pub(in crate::sim) slow_restart: bool,
    /// True if losses are recovered by selective repeat.
    pub(in crate::sim) selective_repeat: bool,
    /// True if adaptive retransmission is on.
    pub(in crate::sim) adaptive: bool,
    /// True if the NIC bounds the data in flight: each packet asks for its ACK, as others may wait for its room.
    pub(in crate::sim) bounds_flight: bool,
}

/// Later action of a NIC.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Job {
    /// The ACK timer of a QP expires.
    AckTimer(u32),
    /// A requester answers a NACK: it retransmits, or repeats a Read request.
    Recover(u32),
    /// The wait that an RNR NAK asked for is over.
    RnrOver(u32),
    /// The next answer of a responder is ready.
    AnswerReady(u32),
    /// The reaction point of a QP lets it send data again.
    HoldOver(u32),
    /// A context of the slow path is free again.
    ContextFree,
    /// A context of path migration is free again.
    PathResolved,
}

/// A half of a QP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sim) enum Half {
    /// It sends requests.
    Requester,
    /// It answers them.
    Responder,
}

impl Half {
    /// Both.
    pub(in crate::sim) const ALL: [Self; 2] = [Self::Requester, Self::Responder];
}

/// Report of a NIC to its host.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum HostEvent {
    /// A request of a QP has completed.
    Completed { qp: u32, message: u32, status: dumper::observation::CompletionStatus },
    /// A Receive of a QP has been filled.
    Received { qp: u32 },
    /// The last byte of a Write to a QP is in the host's memory.
    Written { qp: u32 },
}

/// The message and packet that a QP handles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Subject {
    pub(super) verb: Option<Verb>,
    pub(super) position: Option<Position>,
    /// Number of the message on its QP, from 1.
    pub(super) message: Option<u32>,
    /// Retries spent since the last progress, of a requester.
    pub(super) retries: Option<u32>,
}

/// The surroundings of a QP while it handles one input.
pub(in crate::sim) struct Context<'a> {
    pub(super) now: Nanos,
    pub(super) qp: u32,
    /// True if its reaction point spaces the data that it sends.
    pub(super) slowed: bool,
    pub(super) profile: &'a NicProfile,
    /// The quirks that hold.
    pub(super) quirks: &'a Quirks,
    pub(super) attributes: &'a Attributes,
    pub(super) rng: &'a mut ChaCha8Rng,
    pub(super) stats: &'a mut Stats,
    pub(super) agenda: &'a mut Agenda<Job>,
    pub(super) events: &'a mut Vec<HostEvent>,
    pub(super) contexts_in_use: &'a mut u32,
}

impl Context<'_> {
    pub(super) fn draw(&mut self, span: Span<u64>) -> Nanos {
        Nanos(random::draw(span, self.rng))
    }

    /// Draws whether something of a probability in percent happens; nothing is drawn of what never does.
    pub(super) fn happens(&mut self, percent: u32) -> bool {
        percent > 0 && random::draw(Span { min: 1, max: 100 }, self.rng) <= percent.into()
    }

    pub(super) fn count(&mut self, stat: Stat) {
        self.stats.count(stat);
    }

    pub(super) fn tell(&mut self, event: HostEvent) {
        self.events.push(event);
    }

    /// The latency of a NACK of a receiver of data, which holds a context of the slow path meanwhile if its losses are
    /// recovered there.
    pub(super) fn nack_generation(&mut self, verb: Verb) -> Nanos {
        let latency = self.draw(*self.profile.retransmission.nack_generation_ns.of(verb));
        if self.profile.slow_path.verbs.iter().any(|slow| Verb::from(*slow) == verb) {
            *self.contexts_in_use += 1;
            self.agenda.note(self.now + latency, Job::ContextFree);
        }
        latency
    }
}

/// Returns true if the n-th of something is due, where it happens at every `every`-th time; 0 is never.
pub(super) fn every_nth(count: &mut u32, every: u32) -> bool {
    if every == 0 {
        return false;
    }
    *count += 1;
    if *count < every {
        return false;
    }
    *count = 0;
    true
}
