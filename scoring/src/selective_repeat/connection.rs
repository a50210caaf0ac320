//! One connection with selective repeat, fed packet by packet.

use dumper::wire::{AethRepr, Class, NakCode, Syndrome};
use dumper::{Nanos, Psn, Record};
use rustc_hash::FxHashMap;

use super::psn::{One, Psns};
use super::tables::{receiver, sender};
use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::go_back_n::{Belief, Beliefs, SharedPath};
use crate::known::{Host, Known, Timeout};
use crate::machines::Transitions;
use crate::machines::table::Next;
use crate::see::connections::Pair;
use crate::see::psns::psns_of;

/// Knowledge and results that outlive the packets of a connection.
pub(super) struct Ledger<'a> {
    pub(super) known: &'a Known,
    pub(super) shared_path: &'a SharedPath,
    pub(super) transitions: &'a mut Transitions,
    pub(super) anomalies: &'a mut Anomalies,
    /// Limits of all connections together.
    pub(super) room: &'a mut Room,
}

/// What is left for all connections together. A Read request of one packet takes thousands of PSNs, and each time that it is delivered
/// they are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// PSNs that may be kept.
    pub(super) psns: u32,
    /// PSNs that may be looked at.
    pub(super) looks: u64,
}

/// Retransmissions of a connection, by their reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Repeats {
    /// A NAK, an RNR NAK or a missing response.
    pub(crate) asked: usize,
    /// The ACK timer.
    pub(crate) by_timer: usize,
}

impl Repeats {
    const fn count(&mut self, was_asked: bool) {
        if was_asked {
            self.asked += 1;
        } else {
            self.by_timer += 1;
        }
    }
}

/// The PSNs of a connection at both of its ends. Offsets count from its first PSN.
pub(super) struct Connection {
    pair: Pair,
    /// From 1.
    number: usize,
    mtu: u32,
    requester: Host,
    responder: Host,
    /// The requester's timer expires after T at the earliest, and not when it is set to its shortest by an adaptive mechanism.
    timeout: Option<Timeout>,
    psns: Psns,
    /// Requests before this offset were delivered, without a gap.
    delivered: u32,
    /// Requests before this offset have arrived for certain, if the host discards nothing.
    taken: u32,
    /// The same of responses.
    answered: u32,
    /// Everything before this offset is acknowledged for certain, but for the responses to Reads.
    acknowledged: u32,
    /// The highest request that was delivered, and the highest response, each counted from 1.
    furthest: [u32; 2],
    /// The responder has said that everything before this offset has arrived.
    proven: u32,
    /// Acknowledgements that were delivered cover everything before this offset, but for the responses to Reads.
    covered: u32,
    /// Everything before this offset is acknowledged to the requester, if all of that has arrived.
    oldest: u32,
    rnr_naks: u32,
    /// Repetitions that NAKs asked for and that were not sent yet, by offset.
    asked: FxHashMap<u32, u8>,
    /// Time at which an acknowledgement left the switch after which PSNs were done with.
    done_at: Nanos,
    /// A NAK ended the QP, or an acknowledgement left the requester's knowledge open: nothing is judged from then on.
    ended: bool,
    /// The packets do not show what its ends have received.
    given_up: bool,
    pub(super) repeats: Repeats,
}

impl Connection {
    /// A connection of which no packet has passed. `None` if it may have had packets before the trace.
    pub(super) fn new(
        pair: Pair,
        number: usize,
        mtu: u32,
        [requester, responder]: [Host; 2],
        timeout: Option<Timeout>,
    ) -> Option<Self> {
        let is_whole = pair.connection.requester.initial_psn == Some(pair.initial_psn);
        (is_whole && !pair.answers_unknown()).then(|| Self {
            pair,
            number,
            mtu,
            requester,
            responder,
            timeout,
            psns: Psns::default(),
            delivered: 0,
            taken: 0,
            answered: 0,
            acknowledged: 0,
            furthest: [0; 2],
            proven: 0,
            covered: 0,
            oldest: 0,
            rnr_naks: 0,
            asked: FxHashMap::default(),
            done_at: Nanos::ZERO,
            ended: false,
            given_up: false,
            repeats: Repeats::default(),
        })
    }

    /// The packets do not show any more what its ends have received.
    pub(super) const fn give_up(&mut self) {
        (self.ended, self.given_up) = (true, true);
    }

    pub(super) const fn gave_up(&self) -> bool {
        self.given_up
    }

    /// The state of both ends when they sent the packet that enters now.
    pub(super) fn beliefs(&self) -> Option<Beliefs> {
        let psn = |offset: u32| self.pair.initial_psn.add(offset);
        let between = |least: u32, most: u32| {
            let mut belief = Belief::certain(psn(least));
            belief.may_reach(psn(most));
            belief
        };
        let up_to = |most: u32| {
            let mut belief = Belief::certain(0);
            belief.may_reach(most);
            belief
        };
        // An expiry shows when the packet has waited for its turn, and it may have been asked for meanwhile.
        let retries = up_to((self.repeats.asked + self.repeats.by_timer) as u32 + 1);
        (!self.ended).then(|| Beliefs {
            // A NAK may have waited while what it asks for came.
            expected: between(self.proven, self.delivered),
            oldest: between(0, self.oldest),
            transport_retries: retries,
            rnr_retries: up_to(self.rnr_naks),
        })
    }

    /// A packet enters the switch: its sender is judged.
    pub(super) fn enters(&mut self, record: &Record, ledger: &mut Ledger<'_>) {
        if self.ended {
            return;
        }
        match record.class() {
            Class::Request(..) | Class::ReadRequest | Class::AtomicRequest => self.sends(record, ledger),
            Class::Acknowledge => self.answers(record, ledger),
            Class::ReadResponse(_) | Class::AtomicAcknowledge => {
                // The Read was executed, and so was everything before it.
                if let Some(offset) = self.offset(record.psn) {
                    self.proven = self.proven.max((offset + 1).min(self.psns.end()));
                }
            }
            Class::Cnp | Class::Datagram | Class::Unknown => {}
        }
    }

    /// A packet has left the switch towards its receiver.
    pub(super) fn leaves(&mut self, record: &Record, left: Nanos, ledger: &mut Ledger<'_>) {
        let Some(offset) = self.offset(record.psn).filter(|_| !self.ended) else { return };
        match record.class() {
            Class::Request(..) | Class::ReadRequest | Class::AtomicRequest => {
                self.delivers(offset, psns_of(record, record.class(), self.mtu), ledger);
            }
            Class::Acknowledge => match AethRepr::from(record.aeth).syndrome {
                Syndrome::Ack(_) => {
                    self.acknowledged = self.acknowledged.max((offset + 1).min(self.psns.end()));
                    self.hears_ack(offset + 1, left, ledger);
                }
                Syndrome::Nak(NakCode::PsnSequenceError) => self.hears_nak(offset, ledger),
                Syndrome::RnrNak(_) => {
                    self.rnr_naks = self.rnr_naks.saturating_add(1);
                    self.hears_nak(offset, ledger);
                    // It names the expected PSN.
                    self.acknowledged = self.acknowledged.max(offset.min(self.psns.end()));
                    self.hears_ack(offset, left, ledger);
                }
                Syndrome::Nak(_) | Syndrome::Reserved(_) => {}
            },
            Class::ReadResponse(_) | Class::AtomicAcknowledge => self.hears_response(offset, left, ledger),
            Class::Cnp | Class::Datagram | Class::Unknown => {}
        }
    }

    /// A request, first sent or repeated.
    fn sends(&mut self, record: &Record, ledger: &mut Ledger<'_>) {
        let end = self.psns.end();
        let offset = record.psn.since(self.pair.initial_psn.add(end));
        if offset >= 0 {
            let psns = psns_of(record, record.class(), self.mtu);
            if offset > 0 || psns > ledger.room.psns {
                self.give_up();
                return;
            }
            ledger.room.psns -= psns;
            let (is_request_alone, since) =
                (record.class().is_data(), ledger.shared_path.scheduled().min(record.time));
            for _ in 0..psns {
                self.psns.push(One {
                    sender: sender::State::Sent,
                    receiver: receiver::State::Awaited,
                    response: (!is_request_alone).then_some(receiver::State::Awaited),
                    timed_since: since,
                    acknowledged_at: Nanos::ZERO,
                });
            }
            return;
        }
        let Some(offset) = end.checked_add_signed(offset) else { return };
        self.repeats(offset, record, ledger);
    }

    /// A request that was sent before is sent again.
    fn repeats(&mut self, offset: u32, record: &Record, ledger: &mut Ledger<'_>) {
        let (oldest, may_expire) = (self.oldest, self.may_expire(offset, record.time, ledger.known));
        let unheard = self.requester.discards != Some(0);
        let in_flight = ledger.known.times.ack_in_flight;
        let was_asked = self.asked.get_mut(&offset).is_some_and(|asked| {
            let was = *asked > 0;
            *asked = asked.saturating_sub(1);
            was
        });
        let (is_done, furthest) = (self.psns.is_done(offset), self.furthest[1]);
        let Some(one) = self.psns.get(offset) else {
            // Delivered and acknowledged: nothing of it is kept.
            self.repeats.count(was_asked);
            let was_heard = !unheard && record.time - self.done_at > in_flight;
            if is_done && was_heard && !was_asked {
                let next: Next<sender::State> =
                    sender::State::Acknowledged.step(sender::Event::RepeatUnasked, ledger.transitions);
                self.judge(Role::Requester, next, record, "sends", ledger);
            }
            return;
        };
        if let Some(response) = &mut one.response
            && !was_asked
            && !(may_expire && offset <= oldest)
        {
            // A Read request for a response that is missing.
            let may_have_discarded =
                *response == receiver::State::Arrived && furthest > offset + 1 && unheard;
            let event = if may_have_discarded { receiver::Event::NakDiscarded } else { receiver::Event::Nak };
            let next = receives(response, event, ledger);
            self.repeats.count(true);
            self.judge(Role::Requester, next, record, "asks again for", ledger);
            return;
        }
        // A response that came before one that is missing may have been dropped for lack of room.
        let unheard = unheard || one.response.is_some_and(|state| state != receiver::State::Arrived);
        let event = match one.sender {
            _ if was_asked => sender::Event::RepeatAsked,
            sender::State::Acknowledged
                if may_expire && (unheard || record.time - one.acknowledged_at <= in_flight) =>
            {
                sender::Event::RepeatUnheard
            }
            sender::State::Acknowledged => sender::Event::RepeatUnasked,
            _ if may_expire && offset <= oldest => sender::Event::RepeatByTimer,
            _ => sender::Event::RepeatUnasked,
        };
        let next = sends(&mut one.sender, event, ledger);
        if !was_asked {
            one.timed_since = record.time;
        }
        self.repeats.count(was_asked);
        self.judge(Role::Requester, next, record, "sends", ledger);
    }

    /// Returns true if the timer of the PSN at an offset can have expired, were it the oldest.
    fn may_expire(&mut self, offset: u32, now: Nanos, known: &Known) -> bool {
        let Some(one) = self.psns.get(offset) else { return true };
        match self.timeout {
            None => true,
            Some(Timeout::Disabled) => false,
            Some(Timeout::Enabled(shortest)) => now + known.times.timer_slack >= one.timed_since + shortest,
        }
    }

    /// An ACK, a NAK or an RNR NAK of the responder.
    fn answers(&mut self, record: &Record, ledger: &mut Ledger<'_>) {
        let Some(offset) = self.offset(record.psn) else { return };
        match AethRepr::from(record.aeth).syndrome {
            Syndrome::Ack(_) => {
                // The first one that it cannot have, if the ACK covers one.
                let first = self.delivered.min(offset);
                let acknowledged = self.psns.get(first);
                let next = acknowledged.map(|one| receives(&mut one.receiver, receiver::Event::Ack, ledger));
                if let Some(next) = next {
                    self.judge(Role::Responder, next, record, "acknowledges", ledger);
                    if next.broken().is_some() {
                        self.ended = true;
                        return;
                    }
                }
                self.proven = self.proven.max(offset.saturating_add(1).min(self.psns.end()));
            }
            Syndrome::Nak(NakCode::PsnSequenceError) => {
                let state = match self.psns.get(offset) {
                    Some(one) if offset >= self.proven => one.receiver,
                    // It has said that it has it.
                    _ => receiver::State::Arrived,
                };
                let may_have_discarded = state == receiver::State::Arrived
                    && offset >= self.proven
                    && self.furthest[0] > offset + 1
                    && self.responder.discards != Some(0);
                let event =
                    if may_have_discarded { receiver::Event::NakDiscarded } else { receiver::Event::Nak };
                let next = state.step(event, ledger.transitions);
                if let Some(one) = self.psns.get(offset) {
                    one.receiver = next.state(one.receiver);
                }
                self.judge(Role::Responder, next, record, "NAKs", ledger);
            }
            Syndrome::RnrNak(_) => {
                self.proven = self.proven.max(offset.min(self.psns.end()));
                // What is behind it arrived while it was missing.
                let taken = self.taken;
                self.taken = taken.min(offset);
                for behind in offset + 1..taken {
                    if let Some(one) = self.psns.get(behind)
                        && one.receiver == receiver::State::Arrived
                    {
                        receives(&mut one.receiver, receiver::Event::Refuse, ledger);
                    }
                }
                let refused = self.psns.get(offset);
                let next = refused.map(|one| receives(&mut one.receiver, receiver::Event::Rnr, ledger));
                if let Some(next) = next {
                    self.judge(Role::Responder, next, record, "sends an RNR NAK for", ledger);
                }
            }
            // The QP ends, and what is still on its way has no rules.
            Syndrome::Nak(_) => self.ended = true,
            Syndrome::Reserved(_) => {}
        }
    }

    /// A request that takes so many PSNs is delivered.
    fn delivers(&mut self, offset: u32, psns: u32, ledger: &mut Ledger<'_>) {
        let end = offset + psns;
        match ledger.room.looks.checked_sub(psns.into()) {
            Some(left) => ledger.room.looks = left,
            None => return self.give_up(),
        }
        for overtaken in self.furthest[0]..offset {
            if let Some(one) = self.psns.get(overtaken)
                && one.receiver == receiver::State::Awaited
            {
                receives(&mut one.receiver, receiver::Event::Overtake, ledger);
            }
        }
        self.taken = self.taken.max(self.proven);
        let event = delivery(offset <= self.taken);
        for offset in offset..end {
            if let Some(one) = self.psns.get(offset) {
                receives(&mut one.receiver, event, ledger);
            }
        }
        if offset <= self.taken {
            self.taken = self.taken.max(end);
        }
        self.furthest[0] = self.furthest[0].max(end);
        let is_there = |one: &mut One| {
            use receiver::State::{Arrived, Beyond, Late, Served};
            matches!(one.receiver, Arrived | Beyond | Late | Served)
        };
        while self.psns.get(self.delivered).is_some_and(is_there) {
            self.delivered += 1;
        }
    }

    /// An ACK of everything before an offset is delivered.
    fn hears_ack(&mut self, end: u32, now: Nanos, ledger: &mut Ledger<'_>) {
        for offset in self.covered..end.min(self.psns.end()) {
            if let Some(one) = self.psns.get(offset).filter(|one| one.response.is_none()) {
                acknowledge(one, now, ledger);
            }
        }
        self.covered = self.covered.max(end.min(self.psns.end()));
        while self.psns.get(self.oldest).is_some_and(|one| one.sender == sender::State::Acknowledged) {
            self.oldest += 1;
        }
        self.passes_answered();
        let done = self.oldest.min(self.delivered).min(self.answered).min(self.acknowledged);
        let more = self.psns.done_before(done);
        if more > 0 {
            self.done_at = now;
        }
        ledger.room.psns += more;
    }

    fn hears_nak(&mut self, offset: u32, ledger: &mut Ledger<'_>) {
        if offset >= self.psns.end() {
            return;
        }
        let asked = self.asked.entry(offset).or_default();
        *asked = asked.saturating_add(1);
        if let Some(one) = self.psns.get(offset) {
            sends(&mut one.sender, sender::Event::HearNak, ledger);
        }
    }

    /// A response is delivered to the requester.
    fn hears_response(&mut self, offset: u32, now: Nanos, ledger: &mut Ledger<'_>) {
        let offset = offset.min(self.psns.end());
        for overtaken in self.furthest[1]..offset {
            if let Some(response) = self.psns.get(overtaken).and_then(|one| one.response.as_mut())
                && *response == receiver::State::Awaited
            {
                receives(response, receiver::Event::Overtake, ledger);
            }
        }
        self.furthest[1] = self.furthest[1].max(offset + 1);
        self.passes_answered();
        let Some(one) = self.psns.get(offset) else { return };
        let Some(response) = &mut one.response else { return };
        let is_next = offset <= self.answered;
        receives(response, delivery(is_next), ledger);
        acknowledge(one, now, ledger);
        if is_next {
            self.acknowledged = self.acknowledged.max(offset);
        }
        // It acknowledges everything before it, but for other responses.
        self.hears_ack(offset, now, ledger);
    }

    /// Moves on over responses that have arrived, and PSNs that have none.
    fn passes_answered(&mut self) {
        let has_arrived = |one: &mut One| one.response.is_none_or(|state| state == receiver::State::Arrived);
        while self.psns.get(self.answered).is_some_and(has_arrived) {
            self.answered += 1;
        }
    }

    /// Offset of a PSN, which is near the requests that were sent; none of one before the first.
    fn offset(&self, psn: Psn) -> Option<u32> {
        let end = self.psns.end();
        end.checked_add_signed(psn.since(self.pair.initial_psn.add(end)))
    }

    /// Notes the rule that a step broke, if any.
    fn judge<S: Copy>(
        &self,
        role: Role,
        next: Next<S>,
        record: &Record,
        does: &'static str,
        ledger: &mut Ledger<'_>,
    ) {
        let Some(rule) = next.broken() else { return };
        let address = match role {
            Role::Requester => self.pair.connection.requester.ip,
            _ => self.pair.connection.responder.ip,
        };
        let relative = record.psn.relative_to(self.pair.initial_psn);
        ledger.anomalies.push(Anomaly {
            rule,
            who: Who { role, address: Some(address), connection: Some(self.number) },
            state: "".into(),
            what: format!("{does} PSN {relative}: {}", rule.expected()),
            evidence: Evidence::packets([record.sequence]),
        });
    }
}

/// Delivery of a packet, by whether everything before it has arrived.
const fn delivery(is_next: bool) -> receiver::Event {
    if is_next { receiver::Event::DeliverInOrder } else { receiver::Event::DeliverBeyond }
}

/// An acknowledgement of a PSN, or its response, is delivered.
fn acknowledge(one: &mut One, now: Nanos, ledger: &mut Ledger<'_>) {
    if one.sender != sender::State::Acknowledged {
        sends(&mut one.sender, sender::Event::HearAck, ledger);
        one.acknowledged_at = now;
    }
}

/// A step of a PSN at its sender.
fn sends(state: &mut sender::State, event: sender::Event, ledger: &mut Ledger<'_>) -> Next<sender::State> {
    let next = state.step(event, ledger.transitions);
    *state = next.state(*state);
    next
}

/// A step of a PSN at its receiver.
fn receives(
    state: &mut receiver::State,
    event: receiver::Event,
    ledger: &mut Ledger<'_>,
) -> Next<receiver::State> {
    let next = state.step(event, ledger.transitions);
    *state = next.state(*state);
    next
}
