//! Packets of one connection that have left the switch, and those that have not: causes of an expiry of its ACK timer.

use std::collections::VecDeque;

use dumper::Psn;

use super::table::{Answer, ExpiryCause, Facts, Missing, cause};

/// Request packets in the order of their PSNs.
type Requests = VecDeque<Sent>;

/// A request packet that the responder does not have yet, or a Read that is not answered.
#[derive(Clone, Copy, Debug)]
struct Sent {
    first: Psn,
    end: Psn,
    is_read: bool,
    /// Of a Read: issued more than once. Of others: last sent when a NAK of it had left the switch, or the timer had expired for it.
    again: bool,
    /// The last transmission has left the switch.
    left: bool,
}

impl Sent {
    fn covers(&self, psn: Psn) -> bool {
        !psn.is_before(self.first) && psn.is_before(self.end)
    }
}

/// A Read response that has entered the switch, and not left it: it is lost, or held there.
#[derive(Clone, Copy, Debug)]
struct LostResponse {
    psn: Psn,
    /// The Read was issued again from it.
    is_known: bool,
    /// It was lost once more after that.
    again: bool,
    /// One behind it has left the switch since.
    beyond: bool,
}

/// Packets of a connection, as far as they may be causes of an expiry.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Those that the responder does not have.
    sent: Requests,
    /// Reads that are not answered.
    reads: Requests,
    /// Responses that did not leave the switch, in the order of their PSNs.
    responses: VecDeque<LostResponse>,
    /// One past the highest PSN that was sent.
    next: Psn,
    /// PSN that a responder expects that has received what left the switch.
    expected: Psn,
    /// Something beyond it has left the switch since it was last sent.
    beyond: bool,
    /// Its NAK.
    nak: Answer,
    /// A NAK of it left the switch, or the timer has expired while it was missing.
    is_known: bool,
    /// One past the highest PSN of a response.
    responded: Psn,
    /// The timer has expired for the oldest unacknowledged PSN.
    has_expired: bool,
    /// Since the last expiry: one past the highest PSN of a packet that left the switch and asks for an answer.
    asked: Option<Psn>,
    /// Since the last expiry: one past the highest PSN that an answer named.
    answered: Option<Psn>,
}

impl Watch {
    /// Of a connection that begins with a PSN.
    pub(crate) fn starting_at(psn: Psn) -> Self {
        Self {
            sent: Requests::new(),
            reads: Requests::new(),
            responses: VecDeque::new(),
            next: psn,
            expected: psn,
            beyond: false,
            nak: Answer::Unsent,
            is_known: false,
            responded: psn,
            has_expired: false,
            asked: None,
            answered: None,
        }
    }

    /// A request enters the switch, and leaves it at once or not.
    #[inline]
    pub(crate) fn sends(&mut self, psn: Psn, end: Psn, is_read: bool, leaves: bool) {
        if psn.is_before(self.next) {
            return self.sends_again(psn, end, is_read);
        }
        if leaves && psn == self.expected && !is_read {
            // By far the most packets: the responder has it before anything else happens.
            self.next = end;
            return;
        }
        let sent = Sent { first: psn, end, is_read, again: false, left: false };
        self.sent.push_back(sent);
        if is_read {
            self.reads.push_back(sent);
        }
        self.next = end;
    }

    #[cold]
    fn sends_again(&mut self, psn: Psn, end: Psn, is_read: bool) {
        if let Some(read) = covering(&mut self.reads, psn) {
            (read.again, read.left) = (true, false);
            if let Some(lost) = self.response(psn) {
                lost.is_known = true;
            }
        }
        if psn.is_before(self.expected) {
            return;
        }
        let again = self.is_known && self.expected.is_before(end) && !self.expected.is_before(psn);
        match covering(&mut self.sent, psn) {
            Some(sent) => (sent.again, sent.left) = (again, false),
            // The responder has refused it, and is to get it again.
            None => {
                let at = place(&self.sent, psn);
                self.sent.insert(at, Sent { first: psn, end, is_read, again, left: false });
            }
        }
        if psn == self.expected {
            self.beyond = false;
        }
    }

    /// A request leaves the switch.
    #[inline]
    pub(crate) fn delivers(&mut self, psn: Psn, end: Psn, asks: bool) {
        if asks && self.asked.is_none_or(|asked| end.is_after(asked)) {
            self.asked = Some(end);
        }
        if let Some(read) = covering(&mut self.reads, psn) {
            read.left = true;
        }
        if psn.is_after(self.expected) {
            self.beyond = true;
            if let Some(sent) = covering(&mut self.sent, psn) {
                sent.left = true;
            }
        } else if end.is_after(self.expected) {
            self.expect(end);
            while self.sent.front().is_some_and(|sent| !sent.end.is_after(end)) {
                self.sent.pop_front();
            }
        }
    }

    /// The responder expects another PSN than before.
    #[inline]
    fn expect(&mut self, psn: Psn) {
        self.expected = psn;
        (self.beyond, self.nak, self.is_known) = (false, Answer::Unsent, false);
    }

    /// An ACK or a NAK enters the switch: one past the highest PSN that it answers.
    #[inline]
    pub(crate) fn answers(&mut self, end: Psn) {
        if self.answered.is_none_or(|answered| end.is_after(answered)) {
            self.answered = Some(end);
        }
    }

    /// A sequence NAK has entered the switch, or left it.
    pub(crate) fn naks(&mut self, psn: Psn, nak: Answer) {
        if psn == self.expected {
            self.nak = self.nak.max(nak);
            self.is_known |= nak == Answer::Left;
        }
    }

    /// The responder has refused a request that left the switch, and is to get it again.
    pub(crate) fn refuses(&mut self, psn: Psn) {
        if psn.is_before(self.expected) {
            self.expect(psn);
        }
    }

    /// A Read response enters the switch, and leaves it at once or not.
    #[inline]
    pub(crate) fn responds(&mut self, psn: Psn, leaves: bool) {
        if !psn.is_before(self.responded) {
            self.responded = psn.add(1);
        }
        if leaves {
            return;
        }
        match self.response(psn) {
            Some(lost) => (lost.again, lost.beyond) = (lost.is_known, false),
            None => {
                let at = self.response_place(psn);
                let lost = LostResponse { psn, is_known: false, again: false, beyond: false };
                self.responses.insert(at, lost);
            }
        }
    }

    /// A Read response leaves the switch, while the requester waits for the PSN `una`.
    #[inline]
    pub(crate) fn response_leaves(&mut self, psn: Psn, una: Psn) {
        if !self.responses.is_empty() {
            let at = self.response_place(psn);
            if self.responses.get(at).is_some_and(|lost| lost.psn == psn) {
                self.responses.remove(at);
            }
            if psn.is_after(una)
                && let Some(lost) = self.response(una)
            {
                lost.beyond = true;
            }
        }
    }

    fn response(&mut self, psn: Psn) -> Option<&mut LostResponse> {
        let at = self.response_place(psn);
        self.responses.get_mut(at).filter(|lost| lost.psn == psn)
    }

    fn response_place(&self, psn: Psn) -> usize {
        self.responses.partition_point(|lost| lost.psn.is_before(psn))
    }

    /// The requester's oldest unacknowledged PSN has moved.
    #[inline]
    pub(crate) fn progresses(&mut self, una: Psn) {
        self.has_expired = false;
        while self.reads.front().is_some_and(|read| !read.end.is_after(una)) {
            self.reads.pop_front();
        }
        while self.responses.front().is_some_and(|lost| lost.psn.is_before(una)) {
            self.responses.pop_front();
        }
    }

    /// The ACK timer has expired, and the requester repeats from a PSN; `discards` says if the hosts of the requester and the
    /// responder count packets that they discarded.
    pub(crate) fn expires(&mut self, from: Psn, una: Psn, discards: [bool; 2]) -> ExpiryCause {
        let facts = Facts { discards, ..self.facts(from, una) };
        (self.asked, self.answered) = (None, None);
        (self.has_expired, self.is_known) = (true, true);
        cause(&facts)
    }

    /// What the trace shows, discards left out.
    fn facts(&mut self, from: Psn, una: Psn) -> Facts {
        let read = covering(&mut self.reads, una).copied();
        let reissue_lost =
            read.is_some_and(|read| read.again && !read.left && self.expected.is_after(read.first));
        if reissue_lost {
            return Facts { again: true, ..Facts::of(Missing::Request) };
        }
        if let Some(sent) = covering(&mut self.sent, self.expected).filter(|sent| !sent.left) {
            let missing = if sent.is_read { Missing::Request } else { Missing::Data };
            return Facts { again: sent.again, beyond: self.beyond, nak: self.nak, ..Facts::of(missing) };
        }
        let nothing = |answer| Facts { answer, ..Facts::of(Missing::Nothing) };
        if from.is_before(una) {
            return nothing(Answer::Left);
        }
        if read.is_some() {
            return match self.response(una).copied() {
                Some(LostResponse { again, beyond, .. }) => {
                    Facts { again, beyond, ..Facts::of(Missing::Response) }
                }
                None if self.responded.is_after(una) => nothing(Answer::Left),
                None => nothing(Answer::Unsent),
            };
        }
        let has = |psn: Option<Psn>| psn.is_some_and(|psn| psn.is_after(una));
        if self.has_expired && !has(self.asked) {
            // What was sent again, and asks for an answer, was lost.
            return Facts { again: true, ..Facts::of(Missing::Data) };
        }
        nothing(if has(self.answered) { Answer::Lost } else { Answer::Unsent })
    }
}

/// Place of the request that a PSN belongs to, or of the first one behind it.
fn place(requests: &Requests, psn: Psn) -> usize {
    requests.partition_point(|sent| !sent.end.is_after(psn))
}

fn covering(requests: &mut Requests, psn: Psn) -> Option<&mut Sent> {
    let at = place(requests, psn);
    requests.get_mut(at).filter(|sent| sent.covers(psn))
}
