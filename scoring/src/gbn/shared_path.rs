//! What all connections share on their way, and one may wait for another at: the requester's NIC, and the ports of the
//! switch.

use dumper::{Nanos, Record};

use crate::thresholds::{LONGEST_QUEUE, SLOWEST_LINK_NS_PER_KB, TIMER_SLACK};

/// What has passed of all connections so far.
#[derive(Clone, Debug, Default)]
pub struct SharedPath {
    /// Since when requests have been entering the switch without a break: what a requester means to repeat may wait
    /// behind them in its NIC.
    pub(super) requests_flow_since: Nanos,
    /// When the request before the one that enters now did, whichever connection's it is.
    pub(super) request_before: Nanos,
    last_request: Nanos,
    requests: Queue,
    answers: Queue,
}

impl SharedPath {
    /// A packet of a requester enters the switch, and so many copies of it leave.
    #[inline]
    pub fn request(&mut self, record: &Record, copies: u8) {
        self.request_before = self.last_request;
        self.last_request = record.time;
        if record.time - self.request_before > TIMER_SLACK {
            self.requests_flow_since = record.time;
        }
        self.requests.take(record, copies);
    }

    /// A packet of a responder enters the switch, and so many copies of it leave.
    #[inline]
    pub fn answer(&mut self, record: &Record, copies: u8) {
        self.answers.take(record, copies);
    }

    /// How much later than the switch a responder may have seen a request, as requests queue up where its link is slower
    /// than the requester's.
    pub(super) const fn requests_queued(&self) -> Nanos {
        self.requests.longest
    }

    /// How much later than the switch a requester may have seen an answer.
    pub(super) const fn answers_queued(&self) -> Nanos {
        self.answers.longest
    }
}

/// What may wait at a port of the switch, if the link behind it is the slowest that there is.
#[derive(Clone, Debug, Default)]
struct Queue {
    ends: Nanos,
    /// How long it can have been so far.
    longest: Nanos,
}

impl Queue {
    #[inline]
    fn take(&mut self, record: &Record, copies: u8) {
        let bytes = u64::from(record.frame_len) * u64::from(copies);
        let on_the_link = Nanos(bytes * SLOWEST_LINK_NS_PER_KB / 1_000);
        self.ends = (self.ends.max(record.time) + on_the_link).min(record.time + LONGEST_QUEUE);
        self.longest = self.longest.max(self.ends - record.time);
    }
}
