//! The traffic of a test at its host: posting, and taking completions.

use std::ops::Range;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use corpus::{Pattern, Role, Verb};
use dumper::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use tonic::Status;

use super::poster::{Post, Poster};
use super::proto::{
    self, Completion, Completions, Outstanding, Settled, StillOutstanding, event::Event as Said,
    step::Step as Asked,
};
use super::steps::{End, Out, Steps, out_of_order};
use super::test::{DUMMY, Test, message_of};
use crate::verbs::{VerbsError, WorkCompletion};

/// Requests that are posted before completions are looked for.
const POSTED_AT_ONCE: usize = 64;

/// Completions, or outstanding messages, in one message to the client.
const REPORTED_AT_ONCE: usize = 512;

/// Longest idle time before the thread polls, in case a wake-up was lost: a driver under test may well lose
/// one.
const LOOK_AROUND: Duration = Duration::from_millis(500);

/// Least time between two looks at the memory for a Write that is answered, of which no event tells: a host that answers sees it so much
/// later. To look without pause, as perftest does, would take the processor from a stack that is software.
const LOOK_AT_MEMORY: Duration = Duration::from_micros(20);

/// Looks at the memory in as much time as nothing has happened for: the host looks ever more seldom, and sees a Write later by a
/// thirty-second of that time. A Write may be repeated for minutes, which would be millions of looks, and in virtual time an hour.
const LOOKS: u32 = 32;

/// The parts of a host in a test: one of them, or both where the hosts post in turn.
pub(super) struct Traffic {
    requester: Option<Requester>,
    responder: Option<Responder>,
    /// When something was posted, or had completed or arrived, for the last time.
    worked: Nanos,
}

/// Posts requests.
struct Requester {
    poster: Poster,
    message_bytes: u64,
    completions: Vec<Completion>,
    settled: bool,
    /// First posting and last completion of the completed requests, and their bytes.
    span: Option<(Nanos, Nanos)>,
    bytes: u64,
}

/// Posts Receives for Sends, and looks for Writes where they are answered.
struct Responder {
    connections: Vec<Receives>,
    /// By connection: the next Write to be answered.
    written: Vec<(u32, u32)>,
}

/// The Receives of a connection.
#[derive(Default)]
struct Receives {
    /// Receives that are kept posted, of which so many may have completed before more are posted.
    depth: usize,
    at_once: usize,
    /// Messages that are Sends, in their order.
    sends: Vec<u32>,
    /// Receives posted, ever.
    posted: usize,
    /// Bytes of each Receive that completed.
    received: Vec<u32>,
}

impl Traffic {
    /// The traffic of a connected test; a responder posts its first Receives.
    pub(super) fn new(test: &Test) -> Result<Self, VerbsError> {
        let has = |end| test.ends_at_host().any(|(_, has)| has == end);
        let requester = has(Role::Requester).then(|| Requester::new(test));
        let responder = has(Role::Responder).then(|| Responder::new(test)).transpose()?;
        Ok(Self { requester, responder, worked: monotonic() })
    }

    /// Delivery of a message as the application sees it: a Send has arrived when its Receive has completed.
    pub(super) fn told(&self, found: proto::Delivery) -> proto::Delivery {
        let Some(responder) = &self.responder else { return found };
        let receives = &responder.connections[found.connection as usize - 1];
        match receives.sends.binary_search(&(found.message - 1)) {
            Err(_) => found,
            Ok(at) => {
                let told = receives.received.get(at).copied().unwrap_or(0);
                proto::Delivery { bytes: found.bytes.min(told.into()), ..found }
            }
        }
    }

    /// Goodput of the requests that this host posted, in bits per second.
    pub(super) fn goodput(&self) -> Option<f64> {
        let Requester { span: Some((first, last)), bytes, .. } = self.requester.as_ref()? else {
            return None;
        };
        let seconds = (*last - *first).as_secs_f64();
        (seconds > 0.0).then(|| *bytes as f64 * 8.0 / seconds)
    }

    /// Does one round of work; whether there was any.
    fn work(&mut self, test: &mut Test, taken: &mut Vec<WorkCompletion>) -> Result<bool, End> {
        let mut busy = false;
        if let Some(requester) = &mut self.requester {
            busy = requester.post(test)?;
        }
        test.poll(taken)?;
        busy |= !taken.is_empty();
        let now = monotonic();
        let mut arrived = Vec::new();
        for completion in taken.drain(..) {
            let (connection, _) = message_of(completion.id & !DUMMY);
            match (test.end_of(connection), &mut self.requester, &mut self.responder) {
                (Role::Requester, Some(requester), _) => requester.complete(test, &completion, now),
                (_, _, Some(responder)) => responder.complete(test, &completion, &mut arrived),
                (_, Some(requester), None) => requester.complete(test, &completion, now),
                (_, None, None) => {}
            }
        }
        if let (Some(requester), Some(responder)) = (&mut self.requester, &mut self.responder) {
            responder.look(test, &mut arrived);
            busy |= !arrived.is_empty();
            arrived.into_iter().for_each(|connection| requester.poster.arrived(connection));
        }
        if busy {
            self.worked = now;
        }
        Ok(busy)
    }

    /// Longest time until there is something to do without an event.
    fn next_look(&self, deadline: Instant) -> Duration {
        let Some(requester) = &self.requester else { return LOOK_AROUND };
        let left = || deadline.saturating_duration_since(Instant::now());
        let settles = if requester.settled { LOOK_AROUND } else { left() };
        let now = monotonic();
        let pause = requester.poster.pause_ends().map(|end| end.0.saturating_sub(now.0));
        let looks = self.responder.as_ref().is_some_and(|responder| !responder.written.is_empty());
        let memory =
            if looks && !requester.settled { next_look_at_memory(now - self.worked) } else { LOOK_AROUND };
        memory.min(settles).min(pause.map_or(LOOK_AROUND, Duration::from_nanos))
    }
}

/// Time until the next look at the memory, where nothing has happened for so long.
fn next_look_at_memory(quiet: Nanos) -> Duration {
    (Duration::from_nanos(quiet.0) / LOOKS).clamp(LOOK_AT_MEMORY, LOOK_AROUND)
}

impl Requester {
    fn new(test: &Test) -> Self {
        let traffic = &test.config.traffic;
        Self {
            poster: Poster::new(traffic, test.role),
            message_bytes: traffic.message_size.into(),
            completions: Vec::new(),
            settled: false,
            span: None,
            bytes: 0,
        }
    }

    fn post(&mut self, test: &Test) -> Result<bool, End> {
        for posted in 0..POSTED_AT_ONCE {
            let Some(next) = self.poster.next(monotonic) else { return Ok(posted > 0) };
            let (connection, message, done) = match next {
                Post::Message(connection, message) => {
                    (connection, message, test.post_request(connection, message))
                }
                Post::Dummies(connection, message) => {
                    (connection, message, test.post_dummies(connection, message))
                }
            };
            done.map_err(|error| {
                let (connection, message) = (connection + 1, message + 1);
                Status::internal(format!("message {message} of connection {connection}: {error}"))
            })?;
        }
        Ok(true)
    }

    fn complete(&mut self, test: &mut Test, completion: &WorkCompletion, now: Nanos) {
        let success = completion.status == 0;
        if completion.id & DUMMY != 0 && !success {
            // The messages behind it are flushed, and say so.
            return;
        }
        let (connection, message) = message_of(completion.id);
        let Some(posted) = self.poster.complete(connection, message, success, now) else {
            let (number, status) = (message.saturating_add(1), completion.status);
            let what = format!("message {number} is not outstanding (status {status})");
            return test.note_unfounded(connection.saturating_add(1), what);
        };
        if success {
            self.bytes += self.message_bytes;
            let (first, _) = self.span.unwrap_or((posted, now));
            self.span = Some((first.min(posted), now));
        }
        self.completions.push(Completion {
            connection: connection + 1,
            message: message + 1,
            posted_ns: posted.0,
            completed_ns: now.0,
            bytes: self.message_bytes,
            wc_status: completion.status,
            vendor_error: completion.vendor_error,
        });
    }

    /// Tells of completions when there are so many: to tell of one takes about as long as a message.
    fn report(&mut self, out: &Out, at_least: usize) -> Result<(), End> {
        if self.completions.len() >= at_least {
            out.say(Said::Completions(Completions { completions: std::mem::take(&mut self.completions) }))?;
        }
        Ok(())
    }

    /// Says once that nothing more will complete, or that the deadline has passed.
    fn settle(&mut self, out: &Out, deadline: Instant) -> Result<(), End> {
        if self.settled || !(self.poster.is_settled() || Instant::now() >= deadline) {
            return Ok(());
        }
        self.settled = true;
        self.poster.stop();
        self.report(out, 1)?;
        let outstanding = self.poster.outstanding().map(|(connection, message, posted)| Outstanding {
            connection: connection + 1,
            message: message + 1,
            posted_ns: posted.0,
        });
        let outstanding: Vec<_> = outstanding.collect();
        for messages in outstanding.chunks(REPORTED_AT_ONCE) {
            out.say(Said::StillOutstanding(StillOutstanding { messages: messages.to_vec() }))?;
        }
        out.say(Said::Settled(Settled { unposted: self.poster.unposted() }))
    }
}

impl Receives {
    /// Sends whose Receives are to be posted now: none until a batch of them is missing.
    fn due(&self) -> Range<usize> {
        let outstanding = self.posted - self.received.len();
        let missing = self.depth - outstanding;
        let more = if missing < self.at_once { 0 } else { missing };
        self.posted..(self.posted + more).min(self.sends.len())
    }
}

impl Responder {
    /// Posts its first Receives.
    fn new(test: &Test) -> Result<Self, VerbsError> {
        let traffic = &test.config.traffic;
        let mut responder = Self { connections: Vec::new(), written: Vec::new() };
        for (connection, end) in test.ends_at_host() {
            let answers = end == Role::Responder;
            let is_send =
                |message: &u32| answers && traffic.load.verb(connection + 1, *message) == Verb::Send;
            let sends = (0..traffic.num_msgs_per_qp).filter(is_send).collect();
            let (depth, at_once) = (traffic.recv_depth as usize, traffic.receives_at_once() as usize);
            responder.connections.push(Receives { depth, at_once, sends, ..Receives::default() });
            responder.post_due(test, connection)?;
            // All messages of such a test have one verb.
            let is_write = traffic.load.verb(connection + 1, 0) == Verb::Write;
            if traffic.pattern == Pattern::PingPong && answers && is_write {
                responder.written.push((connection, 0));
            }
        }
        Ok(responder)
    }

    /// Looks for the Writes that are answered; a connection whose next one is there is put into `arrived`.
    fn look(&mut self, test: &Test, arrived: &mut Vec<u32>) {
        let messages = test.config.traffic.num_msgs_per_qp;
        self.written.retain_mut(|(connection, next)| {
            if test.has_arrived(*connection, *next) {
                arrived.push(*connection);
                *next += 1;
            }
            *next < messages
        });
    }

    /// Posts the Receives of a connection that are due.
    fn post_due(&mut self, test: &Test, connection: u32) -> Result<(), VerbsError> {
        let receives = &mut self.connections[connection as usize];
        for at in receives.due() {
            receives.posted = at + 1;
            test.post_receive(connection, receives.sends[at])?;
        }
        Ok(())
    }

    /// Takes the completion of a Receive; its connection is put into `arrived`.
    fn complete(&mut self, test: &mut Test, completion: &WorkCompletion, arrived: &mut Vec<u32>) {
        let (connection, message) = message_of(completion.id);
        let number = connection.saturating_add(1);
        let Some(receives) = self.connections.get_mut(connection as usize) else {
            return test.note_unfounded(0, format!("no Receive has the number {:#x}", completion.id));
        };
        match completion.status {
            0 => {}
            FLUSHED => return,
            status => {
                let name = test.status_name(status);
                return test.note(number, format!("a Receive ended with status {status} ({name})"));
            }
        }
        // Receives complete in the order in which they were posted (IBA vol. 1, 10.8.5.1).
        if receives.sends.get(receives.received.len()) != Some(&message) {
            let what = format!("the Receive of message {} is not the next one", message.saturating_add(1));
            return test.note_unfounded(number, what);
        }
        receives.received.push(completion.bytes);
        arrived.push(connection);
        if let Err(error) = self.post_due(test, connection) {
            test.note(number, format!("no further Receive could be posted: {error}"));
        }
    }
}

/// `IBV_WC_WR_FLUSH_ERR`: status of requests that an error of their QP leaves behind.
const FLUSHED: u32 = 5;

/// Longest time for taking the completions that are there when the test ends: a stack under test may deliver
/// them without end.
const LAST_COMPLETIONS: Duration = Duration::from_secs(1);

/// Runs a test's traffic until the client asks for its end.
pub(super) fn drive(
    test: &mut Test,
    traffic: &mut Traffic,
    patience: Duration,
    steps: &mut Steps,
    out: &Out,
) -> Result<(), End> {
    let deadline = Instant::now() + patience;
    let mut taken = Vec::new();
    loop {
        match steps.try_next()? {
            None => {}
            Some(Asked::Finish(_)) => break,
            Some(other) => return Err(out_of_order("Finish", &other).into()),
        }
        let mut busy = traffic.work(test, &mut taken)?;
        if !busy {
            // Completions before the queues were armed raise no event.
            test.arm()?;
            busy = traffic.work(test, &mut taken)?;
        }
        if let Some(requester) = &mut traffic.requester {
            requester.report(out, REPORTED_AT_ONCE)?;
            requester.settle(out, deadline)?;
        }
        if !busy {
            wait(test, steps, traffic.next_look(deadline))?;
        }
    }
    if let Some(requester) = &mut traffic.requester {
        requester.poster.stop();
    }
    let end = Instant::now() + LAST_COMPLETIONS;
    while traffic.work(test, &mut taken)? && Instant::now() < end {}
    traffic.requester.as_mut().map_or(Ok(()), |requester| requester.report(out, 1))
}

/// Sleeps until there is a completion, an event of the device, or a step.
fn wait(test: &mut Test, steps: &mut Steps, at_most: Duration) -> Result<(), End> {
    let mut waited = [
        PollFd::new(test.channel.as_fd(), PollFlags::POLLIN),
        PollFd::new(test.context.as_fd(), PollFlags::POLLIN),
        PollFd::new(steps.fd(), PollFlags::POLLIN),
    ];
    // Not in milliseconds, as by poll: pauses between messages are shorter.
    match ppoll(&mut waited, Some(TimeSpec::from(at_most)), None) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(Status::internal(format!("ppoll: {error}")).into()),
    }
    let [completed, reported, stepped] = waited.map(|fd| fd.any().unwrap_or(true));
    if completed {
        test.channel.clear()?;
    }
    if reported {
        test.take_async_events()?;
    }
    if stepped {
        steps.clear_wake();
    }
    Ok(())
}

/// Now, by `CLOCK_MONOTONIC`.
fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    Nanos(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_waits_for_a_write_looks_ever_more_seldom() {
        let (mut quiet, mut looks) = (Duration::ZERO, 0);
        while quiet < Duration::from_secs(60) {
            let next = next_look_at_memory(Nanos(u64::try_from(quiet.as_nanos()).unwrap()));
            assert!(next <= (quiet / LOOKS).max(LOOK_AT_MEMORY), "{next:?} after {quiet:?}");
            quiet += next;
            looks += 1;
        }
        assert!(looks < 500, "{looks} looks in a minute");
    }

    #[test]
    fn receives_are_posted_when_a_batch_of_them_has_completed() {
        let mut receives = Receives { depth: 6, at_once: 4, sends: (0..12).collect(), ..Receives::default() };
        let mut posted = Vec::new();
        for _ in 0..=receives.sends.len() {
            let due = receives.due();
            receives.posted = receives.posted.max(due.end);
            posted.push(due.len());
            receives.received.push(0);
        }
        // All at first; then four when four have completed; then those that are left.
        assert_eq!(posted, [6, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0]);
    }
}
