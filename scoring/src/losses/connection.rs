//! Losses of one connection, packet by packet as they enter the switch.

use dumper::timers::ack_timeout;
use dumper::wire::{AethRepr, Class, NakCode, Syndrome};
use dumper::{Nanos, Psn, Record};

use super::Losses;
use super::hunt::{Hunt, Of, Place};
use super::unanswered::Unanswered;

/// A packet.
#[derive(Clone, Copy)]
pub(super) struct Seen<'t> {
    pub(super) record: &'t Record,
    /// How many of it left the switch at once; none of one that is lost.
    pub(super) copies: u32,
    /// PSNs that it takes.
    pub(super) count: u32,
    /// A dummy comes behind it.
    pub(super) before_dummy: bool,
}

/// An expiry of the ACK timer, by the analyzers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expiry {
    /// Of a loss or a fault.
    Explained,
    /// Nobody knows why, or hosts have discarded packets.
    Unclear,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// Only Reads, or none; unknown before the first request.
    is_read: Option<bool>,
    /// It has requests of several kinds, or others than are known here: nothing more is counted.
    is_done: bool,
    /// PSN that the responder expects, and one past the highest that was sent.
    expected: Psn,
    next: Psn,
    request: Option<Hunt>,
    /// One past the highest PSN that was sent, when the last two lost packets arrived.
    repaired: [Option<Psn>; 2],
    /// PSN of the next Read response, and one past the highest one.
    wanted: Psn,
    responded: Psn,
    /// The Read was issued again from this PSN while its response was not known to be lost.
    asked_for: Option<Psn>,
    response: Option<Hunt>,
    unanswered: Unanswered,
    timer: Timer,
}

/// What is known of the ACK timer.
#[derive(Debug)]
struct Timer {
    /// `min-retransmit-timeout`, and the shortest time that it may be: T (IBA vol. 1, 9.7.6.1.3).
    timeout: u8,
    least: Option<Nanos>,
    /// Time of the last packet of the connection.
    last: Nanos,
    /// Expiries since the last progress.
    expiries: u32,
}

/// Part of T that a connection is silent before an expiry, at the least: the shortest that is published is 0.06 T (Lumina §6.3, adaptive
/// retransmission). A timer that expires while packets flow is too short for its test, and says nothing of a loss.
const LEAST_SILENCE: u64 = 20;

impl Timer {
    /// An expiry as it counts, by what the analyzers say and how long the connection was silent before: one that goes on after T or
    /// more has waited for its timer, or for a NAK that repairs nothing sooner.
    fn judged(&self, expiry: Option<Expiry>, silent: Nanos) -> Option<Expiry> {
        match (expiry, self.least) {
            (_, Some(least)) if silent >= least => Some(Expiry::Explained),
            (Some(_), Some(least)) if silent.0 < least.0 / LEAST_SILENCE => Some(Expiry::Unclear),
            _ => expiry,
        }
    }
}

impl Connection {
    /// One whose first PSN is `psn`, with this `min-retransmit-timeout`.
    pub(super) fn starting_at(psn: Psn, timeout: u8) -> Self {
        let timer = Timer { timeout, least: ack_timeout(timeout), last: Nanos::ZERO, expiries: 0 };
        Self {
            timer,
            is_read: None,
            is_done: false,
            expected: psn,
            next: psn,
            request: None,
            repaired: [None; 2],
            wanted: psn,
            responded: psn,
            asked_for: None,
            response: None,
            unanswered: Unanswered::default(),
        }
    }

    /// A packet enters the switch, maybe as the first one after an expiry.
    pub(super) fn sees(&mut self, seen: Seen<'_>, expiry: Option<Expiry>, losses: &mut Losses) {
        if self.is_done {
            return;
        }
        let silent = seen.record.time - std::mem::replace(&mut self.timer.last, seen.record.time);
        match seen.record.class() {
            class @ (Class::Request(..) | Class::ReadRequest) => {
                let is_read = class == Class::ReadRequest;
                self.is_done = *self.is_read.get_or_insert(is_read) != is_read;
                if seen.record.psn.is_before(self.next) {
                    match self.timer.judged(expiry, silent) {
                        Some(expiry) => self.expires(expiry, silent, losses),
                        None if is_read => self.reissues(&seen),
                        None => {}
                    }
                }
                self.requests(&seen, losses);
            }
            Class::ReadResponse(_) => self.responds(&seen, losses),
            Class::Acknowledge => self.answers(&seen, losses),
            Class::AtomicRequest | Class::AtomicAcknowledge => self.is_done = true,
            Class::Cnp | Class::Datagram | Class::Unknown => {}
        }
    }

    fn requests(&mut self, seen: &Seen<'_>, losses: &mut Losses) {
        let Seen { record, copies, count, before_dummy } = *seen;
        let (psn, end) = (record.psn, record.psn.add(count));
        let is_new = !psn.is_before(self.next);
        self.unanswered.sent(psn);
        if end.is_after(self.next) {
            self.next = end;
        }
        if copies == 0 {
            self.unanswered.lost(psn);
            if psn == self.expected {
                match &mut self.request {
                    Some(hunt) => hunt.lost_again(losses),
                    None => {
                        let repaired =
                            self.repaired.iter().flatten().filter(|next| next.is_after(psn)).count();
                        let behind = self.next.relative_to(end);
                        let place = Place { repaired, behind };
                        let of = if record.class() == Class::ReadRequest { Of::Reads } else { Of::Requests };
                        self.request = Some(Hunt::new(of, record.time, is_new, place));
                    }
                }
            }
        } else if psn.is_after(self.expected) {
            if let Some(hunt) = &mut self.request {
                hunt.passed_by(copies);
            }
        } else if !end.is_after(self.expected) {
            // The requester repeats for something older, and what was lost since comes again as well.
            if let Some(hunt) = &mut self.request {
                hunt.is_repaired_by_chance(losses);
            }
            self.unanswered.abandon();
        } else {
            self.expected = end;
            self.timer.expiries = 0;
            if let Some(hunt) = self.request.take() {
                hunt.found(record.time, losses);
                self.repaired = [self.repaired[1], Some(self.next)];
            }
            // A Read is answered by its responses. Copies are acknowledged one by one: the loss of one ACK is no loss then.
            self.unanswered.arrives(
                psn,
                end,
                record.ack_req() && copies == 1 && record.class() != Class::ReadRequest,
                before_dummy,
            );
        }
    }

    /// A Read is issued again, and no timer has expired.
    fn reissues(&mut self, seen: &Seen<'_>) {
        let is_asked_for = |hunt: &Hunt| seen.record.psn == self.expected && hunt.was_asked();
        // A Read that has not arrived was asked for by a NAK. One behind a missing response is issued again with those before it.
        if seen.record.psn.is_after(self.wanted) || self.request.as_ref().is_some_and(is_asked_for) {
            return;
        }
        match &mut self.response {
            Some(hunt) => hunt.asked(seen.copies == 0),
            None => self.asked_for = Some(self.wanted),
        }
        // All Reads behind it are issued again as well.
        if let Some(hunt) = &mut self.request {
            hunt.abandon();
        }
    }

    fn responds(&mut self, seen: &Seen<'_>, losses: &mut Losses) {
        let (psn, time) = (seen.record.psn, seen.record.time);
        if psn == self.wanted {
            if seen.copies > 0 {
                self.wanted = psn.add(1);
                self.timer.expiries = 0;
                if let Some(hunt) = self.response.take() {
                    hunt.found(time, losses);
                }
            } else {
                match &mut self.response {
                    Some(hunt) => hunt.lost_again(losses),
                    None => {
                        let is_new = !psn.is_before(self.responded);
                        let hunt =
                            self.response.insert(Hunt::new(Of::Responses, time, is_new, Place::default()));
                        if self.asked_for == Some(psn) {
                            // Its only implied NAK may have been spent before it was lost.
                            hunt.abandon();
                        }
                    }
                }
            }
        } else if psn.is_after(self.wanted)
            && let Some(hunt) = &mut self.response
        {
            hunt.passed_by(seen.copies);
        }
        if !psn.is_before(self.responded) {
            self.responded = psn.add(1);
        }
    }

    fn answers(&mut self, seen: &Seen<'_>, losses: &mut Losses) {
        let (psn, is_lost) = (seen.record.psn, seen.copies == 0);
        match AethRepr::from(seen.record.aeth).syndrome {
            Syndrome::Ack(_) => self.unanswered.answered(psn.add(1), is_lost, losses),
            Syndrome::Nak(NakCode::PsnSequenceError) => {
                self.unanswered.answered(psn, is_lost, losses);
                if psn == self.expected
                    && let Some(hunt) = &mut self.request
                {
                    hunt.asked(is_lost);
                }
            }
            // The responder has refused the request: it is sent again for that.
            _ => self.is_done = true,
        }
    }

    /// The timer expires: for a response if one is missing, as it is older than any request that is, and else for a request.
    fn expires(&mut self, expiry: Expiry, waited: Nanos, losses: &mut Losses) {
        if expiry == Expiry::Explained {
            let [first, further] = losses.waits.entry(self.timer.timeout).or_default();
            if self.timer.expiries == 0 {
                first.count(waited);
            } else {
                further.count(waited);
            }
            self.timer.expiries += 1;
        }
        let [missing, other] = match self.response {
            Some(_) => [&mut self.response, &mut self.request],
            None => [&mut self.request, &mut self.response],
        };
        if let Some(other) = other {
            other.abandon();
        }
        match (missing, expiry) {
            (Some(hunt), Expiry::Explained) => hunt.expired(losses),
            (Some(hunt), Expiry::Unclear) => hunt.abandon(),
            (None, Expiry::Explained) => return self.unanswered.expired(losses),
            (None, Expiry::Unclear) => {}
        }
        self.unanswered.abandon();
    }
}
