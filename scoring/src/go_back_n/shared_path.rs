//! Shared path of all connections, where one may wait for another: both NICs, and the ports of the switch.

use std::collections::VecDeque;

use dumper::{Nanos, Record};

use crate::see::slowest::{link_time, takes};
use crate::thresholds::{FASTEST_LINK_NS_PER_KB, LARGEST_PIPELINE, LONGEST_QUEUE, TIMER_SLACK};

/// Progress of the packets of all connections so far.
#[derive(Clone, Debug, Default)]
pub struct SharedPath {
    /// Time since which requests have been entering the switch without a break: a retransmission may wait
    /// behind them in its requester's NIC.
    pub(super) requests_flow_since: Nanos,
    /// Time of the request before the one that enters now, of any connection.
    pub(super) request_before: Nanos,
    last_request: Nanos,
    pipeline: Pipeline,
    requests: Queue,
    answers: Queue,
    /// Time at which the last packet of a responder entered the switch, and the time until then in which it
    /// had nothing to send.
    last_answer: Nanos,
    idle: Nanos,
}

/// A moment, and for how long until then the responder's NIC had nothing to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) time: Nanos,
    idle: Nanos,
}

impl Moment {
    /// Time since an earlier moment in which an answer had nothing to wait behind in the responder's NIC.
    pub(super) fn idle_since(self, earlier: Self) -> Nanos {
        self.idle - earlier.idle
    }
}

impl SharedPath {
    /// A packet of a requester enters the switch; when it leaves, and how often.
    #[inline]
    pub fn request(&mut self, record: &Record, departure: (Nanos, u8)) {
        self.request_before = self.last_request;
        self.last_request = record.time;
        if record.time - self.request_before > TIMER_SLACK {
            self.requests_flow_since = record.time;
        }
        self.pipeline.take(record);
        self.requests.take(record, departure);
    }

    /// Earliest time at which the NIC can have scheduled the request that enters now.
    #[inline]
    pub(super) fn scheduled(&self) -> Nanos {
        self.pipeline.packets.front().map_or(self.last_request, |(time, _)| *time)
    }

    /// A packet of a responder enters the switch; when it leaves, and how often.
    #[inline]
    pub fn answer(&mut self, record: &Record, departure: (Nanos, u8)) {
        self.answers.take(record, departure);
        self.idle = self.at(record.time).idle;
        self.last_answer = record.time;
    }

    /// A moment at or after the last packet.
    #[inline]
    pub(super) fn at(&self, time: Nanos) -> Moment {
        let silent = time - self.last_answer;
        let idle = if silent > TIMER_SLACK { self.idle + silent } else { self.idle };
        Moment { time, idle }
    }

    /// Largest delay from a request at the switch to the responder, as requests queue up where its link is
    /// slower than the requester's.
    pub(super) const fn requests_queued(&self) -> Nanos {
        self.requests.longest
    }

    /// Largest delay from an answer at the switch to the requester.
    pub(super) const fn answers_queued(&self) -> Nanos {
        self.answers.longest
    }

    /// Latest time at which an answer that leaves the switch now reaches the requester, behind the answers before it.
    #[inline]
    pub(super) fn answer_arrives_by(&self, now: Nanos) -> Nanos {
        self.answers.ends.max(now)
    }
}

/// Packets of the requester's host that may have been in its transmit pipeline together with the last one: it sent them
/// without a break, and they fit.
#[derive(Clone, Debug, Default)]
struct Pipeline {
    packets: VecDeque<(Nanos, u32)>,
    bytes: u64,
}

impl Pipeline {
    #[inline]
    fn take(&mut self, record: &Record) {
        let waits = |(before, _): &(Nanos, u32)| record.time - *before <= takes(record.frame_len);
        if !self.packets.back().is_some_and(waits) {
            self.packets.clear();
            self.bytes = 0;
        }
        self.packets.push_back((record.time, record.frame_len));
        self.bytes += u64::from(record.frame_len);
        while self.bytes > LARGEST_PIPELINE
            && self.packets.len() > 1
            && let Some((_, frame_len)) = self.packets.pop_front()
        {
            self.bytes -= u64::from(frame_len);
        }
    }
}

/// Queue at a port of the switch, if the link behind it is the slowest that there is.
#[derive(Clone, Debug, Default)]
struct Queue {
    ends: Nanos,
    /// Longest queue so far.
    longest: Nanos,
    /// Packets that were held and left together: no buffer bounds them, as they were held before it.
    held: Held,
}

/// Packets that were held and left one behind the other, faster than on any link; those of each sender in order.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// Times at which the first and the last one left.
    first: Nanos,
    last: Nanos,
    /// Time that they take on the slowest link.
    on_the_link: Nanos,
}

impl Queue {
    #[inline]
    fn take(&mut self, record: &Record, (left, copies): (Nanos, u8)) {
        let bytes = u64::from(record.frame_len) * u64::from(copies);
        let on_the_link = link_time(copies.into(), bytes);
        self.ends = (self.ends.max(record.time) + on_the_link).min(record.time + LONGEST_QUEUE);
        self.longest = self.longest.max(self.ends - record.time);
        if left > record.time {
            let fastest = Nanos(bytes * FASTEST_LINK_NS_PER_KB / 1_000);
            if left < self.held.first || left > self.held.last + fastest {
                self.held = Held { first: left, last: left, on_the_link: Nanos::ZERO };
            }
            self.held.last = self.held.last.max(left);
            self.held.on_the_link += on_the_link;
            self.longest = self.longest.max(self.held.on_the_link);
        }
    }
}
