//! Shared path of all connections, where one may wait for another: both NICs, and the ports of the switch.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use dumper::{Nanos, Record};

use crate::see::slowest::{on_the_slowest_link, takes};
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
    pub(crate) fn scheduled(&self) -> Nanos {
        self.pipeline.packets.front().map_or(self.last_request, |(time, _)| *time)
    }

    /// A packet of a responder enters the switch; when it leaves, and how often.
    #[inline]
    pub fn answer(&mut self, record: &Record, departure: (Nanos, u8)) {
        self.answers.take(record, departure);
        self.idle = self.at(record.time).idle;
        self.last_answer = record.time;
    }

    /// A packet leaves the switch: those that were held, and left before, are on the links.
    #[inline]
    pub fn leaves(&mut self, left: Nanos) {
        self.requests.until(left);
        self.answers.until(left);
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
        self.requests.longest()
    }

    /// Largest delay from an answer at the switch to the requester.
    pub(super) const fn answers_queued(&self) -> Nanos {
        self.answers.longest()
    }

    /// Latest time at which an answer that leaves the switch now reaches the requester, behind the answers before it.
    #[inline]
    pub(super) fn answer_arrives_by(&self, now: Nanos) -> Nanos {
        self.answers.ends.max(now) + self.answers.bursts
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
    /// Packets that have entered, and leave later: the time, and the frame's length.
    held: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Time until which the fastest link that there is was busy with the last packet.
    sent: Nanos,
    /// Time at which those that left one by one are through; no more of them wait than the switch's buffer holds.
    ends: Nanos,
    /// Longest queue of these so far.
    longest: Nanos,
    /// Time that all others take on the link: copies, and packets that were held, which left faster than on any link. No buffer bounds
    /// them, and a link that is busy with what enters never catches up.
    bursts: Nanos,
}

impl Queue {
    /// A packet enters the switch; when it leaves, and how often.
    #[inline]
    fn take(&mut self, record: &Record, (left, copies): (Nanos, u8)) {
        self.until(record.time);
        for _ in 0..copies {
            if left > record.time {
                self.held.push(Reverse((left, record.frame_len)));
            } else {
                self.leave(left, record.frame_len);
            }
        }
    }

    /// Packets that are held until then have left.
    #[inline]
    fn until(&mut self, now: Nanos) {
        while let Some(Reverse((left, frame_len))) =
            self.held.peek().copied().filter(|Reverse((left, _))| *left <= now)
        {
            self.held.pop();
            self.leave(left, frame_len);
        }
    }

    #[inline]
    fn leave(&mut self, left: Nanos, frame_len: u32) {
        let on_the_link = on_the_slowest_link(frame_len);
        if left > self.sent {
            self.ends = (self.ends.max(left) + on_the_link).min(left + LONGEST_QUEUE);
            self.longest = self.longest.max(self.ends - left);
        } else {
            self.bursts += on_the_link;
        }
        self.sent = left + Nanos(u64::from(frame_len) * FASTEST_LINK_NS_PER_KB / 1_000);
    }

    /// Longest queue.
    const fn longest(&self) -> Nanos {
        Nanos(self.longest.0 + self.bursts.0)
    }
}
