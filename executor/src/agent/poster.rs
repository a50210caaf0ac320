//! Order in which a host posts the requests of its connections, without the requests themselves.

use std::collections::VecDeque;

use corpus::{DummyRule, Pattern, Role, Traffic};
use dumper::Nanos;

/// A connection, as the requester's host sees it.
#[derive(Debug, Default)]
struct Progress {
    /// Messages that this host posts: none on a connection of the other one.
    messages: u32,
    /// Messages that may be posted by now, where the hosts post in turn: the first one of a pair, and one for each that has
    /// arrived on the other connection.
    turns: Option<u32>,
    /// Messages posted.
    posted: u32,
    /// Messages that have not completed, with the time of their posting.
    outstanding: VecDeque<(u32, Nanos)>,
    /// Messages that have completed and whose pauses are not over: until then they count as outstanding.
    pausing: u32,
    /// Time of the last request.
    last: Option<Nanos>,
    failed: bool,
    /// True while the connection waits for its turn to post.
    waits: bool,
}

/// What is posted after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The next message of a connection.
    Message(u32),
    /// The messages behind the barrier.
    Round,
}

/// Connections post one request each in turn, up to `tx-depth` outstanding ones, and with `barrier-sync` the next
/// `tx-depth` only when none is outstanding on any connection. A message, or with `barrier-sync` all of them, waits for
/// `gap-ns` after the completion that makes room for it. Where the hosts post in turn, it waits for a message of the other
/// connection of its pair. All indices count from 0.
pub(super) struct Poster {
    messages: u32,
    depth: u32,
    barrier: bool,
    gap: Nanos,
    /// Messages of every connection that may be posted by now: all, or up to the barrier.
    released: u32,
    connections: Vec<Progress>,
    /// Connections that may post, in turn.
    ready: VecDeque<u32>,
    /// Pauses and their ends, which are in order: all take as long.
    pauses: VecDeque<(Nanos, Next)>,
    /// Requests outstanding, over all connections.
    outstanding: u64,
    /// When dummies are posted by themselves.
    dummies: Option<DummyRule>,
    /// Time that they wait.
    idle: Nanos,
    /// Messages behind which dummies come if nothing is posted until then, in order: all wait as long.
    idle_ends: VecDeque<(Nanos, u32, u32)>,
}

/// What is posted next, with connection and message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Post {
    /// The request of a message.
    Message(u32, u32),
    /// The dummies behind it.
    Dummies(u32, u32),
}

impl Progress {
    /// Returns true if there are messages to be posted.
    const fn is_left(&self) -> bool {
        !self.failed && self.posted < self.messages
    }
}

impl Poster {
    pub(super) fn new(traffic: &Traffic, host: Role) -> Self {
        let connections = traffic.load.connections();
        let depth = traffic.tx_depth;
        let messages = traffic.num_msgs_per_qp;
        let progress = |connection: u32| Progress {
            messages: if traffic.end_at(host, connection + 1) == Role::Requester { messages } else { 0 },
            // The first connection of a pair begins.
            turns: (traffic.pattern == Pattern::PingPong).then(|| u32::from(connection.is_multiple_of(2))),
            ..Progress::default()
        };
        let mut poster = Self {
            messages,
            depth,
            barrier: traffic.barrier_sync,
            gap: Nanos(traffic.gap_ns),
            released: if traffic.barrier_sync { depth.min(messages) } else { messages },
            connections: (0..connections).map(progress).collect(),
            ready: VecDeque::new(),
            pauses: VecDeque::new(),
            outstanding: 0,
            dummies: traffic.times_dummies().then_some(traffic.dummy_rule),
            idle: Nanos(traffic.dummy_idle_ns),
            idle_ends: VecDeque::new(),
        };
        (0..connections).for_each(|connection| poster.make_ready(connection));
        poster
    }

    /// What is to be posted now, if anything.
    pub(super) fn next(&mut self, now: impl Fn() -> Nanos) -> Option<Post> {
        if let Some((connection, message)) = self.idle(&now) {
            return Some(Post::Dummies(connection, message));
        }
        if !self.pauses.is_empty() {
            let now = now();
            while let Some((_, next)) = self.pauses.pop_front_if(|(end, _)| *end <= now) {
                self.go_on(next);
            }
        }
        let connection = self.next_ready()?;
        let progress = &mut self.connections[connection as usize];
        let (message, now) = (progress.posted, now());
        let last = progress.last.replace(now);
        match self.dummies {
            Some(DummyRule::GapBefore) if last.is_some_and(|last| last + self.idle < now) => {
                // It is its turn again: behind them.
                progress.waits = true;
                self.ready.push_front(connection);
                return Some(Post::Dummies(connection, message - 1));
            }
            Some(DummyRule::IdleAfter) => self.idle_ends.push_back((now + self.idle, connection, message)),
            Some(DummyRule::GapBefore) | None => {}
        }
        progress.posted += 1;
        progress.outstanding.push_back((message, now));
        self.outstanding += 1;
        self.make_ready(connection);
        Some(Post::Message(connection, message))
    }

    /// The next message behind which no request was posted for the time that dummies wait, and which has not completed: behind one
    /// that has there is nothing to be shown.
    fn idle(&mut self, now: impl Fn() -> Nanos) -> Option<(u32, u32)> {
        let now = if self.idle_ends.is_empty() { return None } else { now() };
        while let Some((_, connection, message)) = self.idle_ends.pop_front_if(|(end, ..)| *end <= now) {
            let progress = &self.connections[connection as usize];
            let is_last = progress.posted == message + 1 && !progress.failed;
            if is_last && progress.outstanding.iter().any(|(outstanding, _)| *outstanding == message) {
                return Some((connection, message));
            }
        }
        None
    }

    /// A message has arrived on a connection of the other host: that of its pair goes on.
    pub(super) fn arrived(&mut self, connection: u32) {
        let answers = connection ^ 1;
        let Some(progress) = self.connections.get_mut(answers as usize) else { return };
        if let Some(turns) = &mut progress.turns {
            *turns += 1;
            self.make_ready(answers);
        }
    }

    /// End of the next pause, or of the next time that dummies wait.
    pub(super) fn pause_ends(&self) -> Option<Nanos> {
        let idle = self.idle_ends.front().map(|(end, ..)| *end);
        self.pauses.front().map(|(end, _)| *end).into_iter().chain(idle).min()
    }

    /// A message has completed: when it had been posted. None for one that is not outstanding, which no completion
    /// should name. After a failure the connection posts no more.
    pub(super) fn complete(
        &mut self,
        connection: u32,
        message: u32,
        success: bool,
        now: Nanos,
    ) -> Option<Nanos> {
        let progress = self.connections.get_mut(connection as usize)?;
        let at = progress.outstanding.iter().position(|(outstanding, _)| *outstanding == message)?;
        let (_, posted) = progress.outstanding.remove(at)?;
        progress.failed |= !success;
        self.outstanding -= 1;
        if !success {
            self.pauses.retain(|(_, next)| *next != Next::Message(connection));
        }
        if let Some(next) = self.next_after(connection) {
            if self.gap == Nanos::ZERO {
                self.go_on(next);
            } else {
                self.pauses.push_back((now + self.gap, next));
            }
        }
        Some(posted)
    }

    /// What a completion on a connection makes room for.
    fn next_after(&mut self, connection: u32) -> Option<Next> {
        if self.barrier {
            let is_complete = self.outstanding == 0 && self.ready.is_empty();
            let is_needed = self.released < self.messages && self.connections.iter().any(|one| !one.failed);
            return (is_complete && is_needed).then_some(Next::Round);
        }
        let progress = &mut self.connections[connection as usize];
        progress.pausing += 1;
        // Earlier pauses may already end with the messages that are left.
        let is_needed = progress.pausing <= progress.messages - progress.posted;
        (is_needed && !progress.failed).then_some(Next::Message(connection))
    }

    fn go_on(&mut self, next: Next) {
        match next {
            Next::Message(connection) => {
                self.connections[connection as usize].pausing -= 1;
                self.make_ready(connection);
            }
            Next::Round => {
                self.released = self.released.saturating_add(self.depth).min(self.messages);
                (0..self.connections.len() as u32).for_each(|connection| self.make_ready(connection));
            }
        }
    }

    /// Returns true if no request is outstanding and no more will be posted.
    pub(super) fn is_settled(&self) -> bool {
        let waits = |progress: &Progress| progress.turns.is_some() && progress.is_left();
        self.outstanding == 0
            && self.pauses.is_empty()
            && self.connections.iter().all(|progress| !self.may_post(progress) && !waits(progress))
    }

    /// Posts nothing more.
    pub(super) fn stop(&mut self) {
        self.ready.clear();
        self.pauses.clear();
        self.idle_ends.clear();
        self.connections.iter_mut().for_each(|progress| progress.failed = true);
    }

    /// Messages that are outstanding: connection, message, and when it was posted.
    pub(super) fn outstanding(&self) -> impl Iterator<Item = (u32, u32, Nanos)> {
        (0..).zip(&self.connections).flat_map(|(connection, progress)| {
            progress.outstanding.iter().map(move |(message, posted)| (connection, *message, *posted))
        })
    }

    /// Messages that were not posted.
    pub(super) fn unposted(&self) -> u64 {
        self.connections.iter().map(|progress| u64::from(progress.messages - progress.posted)).sum()
    }

    fn may_post(&self, progress: &Progress) -> bool {
        progress.is_left()
            && progress.posted < progress.turns.unwrap_or(self.released)
            && progress.outstanding.len() + (progress.pausing as usize) < self.depth as usize
    }

    /// The connection whose turn it is. One that has failed since it was given its turn has none any more.
    fn next_ready(&mut self) -> Option<u32> {
        loop {
            let connection = self.ready.pop_front()?;
            self.connections[connection as usize].waits = false;
            if self.may_post(&self.connections[connection as usize]) {
                return Some(connection);
            }
        }
    }

    /// Gives a connection a turn to post, if it may.
    fn make_ready(&mut self, connection: u32) {
        let progress = &self.connections[connection as usize];
        if self.may_post(progress) && !progress.waits {
            self.connections[connection as usize].waits = true;
            self.ready.push_back(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use corpus::{Load, Verb};

    use super::*;

    fn poster(connections: u32, messages: u32, depth: u32, barrier: bool) -> Poster {
        Poster::new(
            &Traffic {
                load: Load::Same { verb: Verb::Write, connections },
                num_msgs_per_qp: messages,
                tx_depth: depth,
                barrier_sync: barrier,
                ..Traffic::default()
            },
            Role::Requester,
        )
    }

    fn post_all(poster: &mut Poster) -> Vec<(u32, u32)> {
        post_at(poster, 7)
    }

    fn post_at(poster: &mut Poster, now: u64) -> Vec<(u32, u32)> {
        let message = |post| match post {
            Post::Message(connection, message) => (connection, message),
            Post::Dummies(..) => panic!("{post:?}"),
        };
        posts_at(poster, now).into_iter().map(message).collect()
    }

    fn posts_at(poster: &mut Poster, now: u64) -> Vec<Post> {
        std::iter::from_fn(|| poster.next(|| Nanos(now))).collect()
    }

    fn with_dummies(rule: DummyRule, depth: u32) -> Poster {
        let load = Load::Same { verb: Verb::Write, connections: 1 };
        let traffic = Traffic { load, num_msgs_per_qp: 4, tx_depth: depth, ..Traffic::default() };
        let traffic = Traffic { dummy_headers: 1, dummy_idle_ns: 100, dummy_rule: rule, ..traffic };
        Poster::new(&traffic, Role::Requester)
    }

    #[test]
    fn dummies_follow_the_last_request_that_waits_for_an_answer() {
        let mut poster = with_dummies(DummyRule::IdleAfter, 2);
        assert_eq!(post_at(&mut poster, 0), [(0, 0), (0, 1)]);
        assert_eq!((post_at(&mut poster, 99), poster.pause_ends()), (vec![], Some(Nanos(100))));
        assert_eq!(posts_at(&mut poster, 100), [Post::Dummies(0, 1)], "and once");
        assert_eq!((posts_at(&mut poster, 300), poster.pause_ends()), (vec![], None));
        poster.complete(0, 0, true, Nanos(310));
        assert_eq!(post_at(&mut poster, 310), [(0, 2)]);
        poster.complete(0, 1, true, Nanos(320));
        poster.complete(0, 2, true, Nanos(320));
        assert_eq!(post_at(&mut poster, 320), [(0, 3)]);
        poster.complete(0, 3, true, Nanos(330));
        assert_eq!((posts_at(&mut poster, 500), poster.is_settled()), (vec![], true), "nothing is behind it");
    }

    #[test]
    fn dummies_of_a_gap_come_before_the_next_request() {
        let mut poster = with_dummies(DummyRule::GapBefore, 1);
        assert_eq!(post_at(&mut poster, 0), [(0, 0)]);
        assert_eq!((posts_at(&mut poster, 500), poster.pause_ends()), (vec![], None));
        poster.complete(0, 0, true, Nanos(510));
        assert_eq!(posts_at(&mut poster, 510), [Post::Dummies(0, 0), Post::Message(0, 1)]);
        poster.complete(0, 1, true, Nanos(600));
        assert_eq!(post_at(&mut poster, 610), [(0, 2)], "soon behind the one before it");
    }

    #[test]
    fn connections_take_turns_up_to_their_depth() {
        let mut poster = poster(2, 3, 2, false);
        assert_eq!(post_all(&mut poster), [(0, 0), (1, 0), (0, 1), (1, 1)]);
        assert_eq!(poster.complete(1, 0, true, Nanos(7)), Some(Nanos(7)));
        assert_eq!(post_all(&mut poster), [(1, 2)]);
        assert_eq!(poster.complete(1, 1, true, Nanos(7)), Some(Nanos(7)));
        assert_eq!(post_all(&mut poster), []);
        assert!(!poster.is_settled());
        for (connection, message) in [(0, 0), (0, 1), (1, 2)] {
            assert!(poster.complete(connection, message, true, Nanos(7)).is_some());
        }
        assert!(!poster.is_settled(), "one is left");
        assert_eq!(post_all(&mut poster), [(0, 2)]);
        assert!(poster.complete(0, 2, true, Nanos(7)).is_some());
        assert!(poster.is_settled());
        assert_eq!((poster.unposted(), poster.outstanding().count()), (0, 0));
    }

    #[test]
    fn a_barrier_waits_for_all_and_a_failure_stops_its_own_connection_alone() {
        let mut poster = poster(2, 2, 1, true);
        assert_eq!(post_all(&mut poster), [(0, 0), (1, 0)]);
        poster.complete(0, 0, true, Nanos(7));
        assert_eq!(post_all(&mut poster), []);
        poster.complete(1, 0, false, Nanos(7));
        assert_eq!(post_all(&mut poster), [(0, 1)]);
        poster.complete(0, 1, true, Nanos(7));
        assert!(poster.is_settled());
        assert_eq!(poster.unposted(), 1);
    }

    #[test]
    fn completions_of_what_is_not_outstanding_are_told() {
        let mut poster = poster(1, 2, 2, false);
        post_all(&mut poster);
        assert_eq!(poster.complete(0, 1, true, Nanos(7)), Some(Nanos(7)), "even out of order");
        assert_eq!(poster.complete(0, 1, true, Nanos(7)), None, "twice");
        assert_eq!(poster.complete(3, 0, true, Nanos(7)), None, "no such connection");
        assert_eq!(poster.outstanding().collect::<Vec<_>>(), [(0, 0, Nanos(7))]);
        poster.stop();
        assert!(!poster.is_settled());
        poster.complete(0, 0, true, Nanos(7));
        assert!(poster.is_settled());
    }

    #[test]
    fn a_connection_that_fails_before_its_turn_has_none() {
        let mut poster = poster(2, 3, 2, false);
        assert_eq!(poster.next(|| Nanos(7)), Some(Post::Message(0, 0)));
        assert!(poster.complete(0, 0, false, Nanos(7)).is_some());
        assert_eq!(post_all(&mut poster), [(1, 0), (1, 1)]);
    }

    #[test]
    fn each_message_that_completes_is_followed_by_another_after_the_pause() {
        let mut poster = Poster { gap: Nanos(100), ..poster(2, 4, 2, false) };
        assert_eq!(post_at(&mut poster, 0), [(0, 0), (1, 0), (0, 1), (1, 1)]);
        poster.complete(0, 0, true, Nanos(10));
        poster.complete(1, 0, true, Nanos(30));
        poster.complete(0, 1, true, Nanos(40));
        assert_eq!(poster.pause_ends(), Some(Nanos(110)));
        assert_eq!(post_at(&mut poster, 109), []);
        assert_eq!(post_at(&mut poster, 110), [(0, 2)]);
        assert_eq!(post_at(&mut poster, 135), [(1, 2)], "one is left of connection 0, and one pause");
        assert_eq!(post_at(&mut poster, 140), [(0, 3)]);
        poster.complete(1, 1, true, Nanos(150));
        poster.complete(0, 2, true, Nanos(150));
        poster.complete(0, 3, true, Nanos(150));
        // A pause of connection 1 is left, and no message for another one.
        poster.complete(1, 2, true, Nanos(160));
        assert_eq!((poster.pause_ends(), poster.is_settled()), (Some(Nanos(250)), false));
        assert_eq!(post_at(&mut poster, 300), [(1, 3)]);
        poster.complete(1, 3, true, Nanos(310));
        assert_eq!((poster.pause_ends(), poster.is_settled()), (None, true));
    }

    #[test]
    fn a_round_begins_after_the_pause_and_a_connection_that_fails_has_none() {
        let mut poster = Poster { gap: Nanos(100), ..poster(2, 2, 1, true) };
        assert_eq!(post_at(&mut poster, 0), [(0, 0), (1, 0)]);
        poster.complete(0, 0, true, Nanos(10));
        assert_eq!(poster.pause_ends(), None);
        poster.complete(1, 0, true, Nanos(20));
        assert_eq!((post_at(&mut poster, 119), poster.is_settled()), (vec![], false));
        assert_eq!(post_at(&mut poster, 120), [(0, 1), (1, 1)]);

        let mut poster = Poster { gap: Nanos(100), ..self::poster(1, 4, 2, false) };
        assert_eq!(post_at(&mut poster, 0), [(0, 0), (0, 1)]);
        poster.complete(0, 0, true, Nanos(10));
        poster.complete(0, 1, false, Nanos(20));
        assert_eq!((poster.pause_ends(), poster.is_settled()), (None, true));
        assert_eq!(post_at(&mut poster, 200), []);
    }

    #[test]
    fn the_last_messages_wait_for_their_own_pauses() {
        let mut poster = Poster { gap: Nanos(100), ..poster(1, 5, 3, false) };
        assert_eq!(post_at(&mut poster, 0).len(), 3);
        for message in 0..3 {
            assert!(poster.complete(0, message, true, Nanos(10 * u64::from(message))).is_some());
        }
        assert_eq!(post_at(&mut poster, 100), [(0, 3)]);
        assert_eq!(post_at(&mut poster, 110), [(0, 4)]);
        assert_eq!(poster.pause_ends(), None);
    }

    /// What both hosts post of two pairs, whatever is outstanding.
    #[test]
    fn hosts_that_post_in_turn_wait_for_each_other() {
        let traffic = Traffic {
            load: Load::Same { verb: Verb::Write, connections: 4 },
            num_msgs_per_qp: 2,
            pattern: Pattern::PingPong,
            ..Traffic::default()
        };
        let [mut begins, mut answers] = Role::ALL.map(|host| Poster::new(&traffic, host));
        assert_eq!((post_all(&mut begins), post_all(&mut answers)), (vec![(0, 0), (2, 0)], vec![]));
        answers.arrived(2);
        assert_eq!(post_all(&mut answers), [(3, 0)]);
        begins.arrived(3);
        assert_eq!(post_all(&mut begins), [], "the message before has not completed");
        assert!(begins.complete(2, 0, true, Nanos(7)).is_some());
        assert_eq!(post_all(&mut begins), [(2, 1)]);
        assert!(begins.complete(2, 1, true, Nanos(7)).is_some());
        assert!(begins.complete(0, 0, true, Nanos(7)).is_some());
        assert!(!begins.is_settled(), "an answer is to come");
        answers.arrived(0);
        assert!(answers.complete(3, 0, true, Nanos(7)).is_some());
        assert_eq!(post_all(&mut answers), [(1, 0)]);
        begins.arrived(1);
        assert_eq!(post_all(&mut begins), [(0, 1)]);
        assert!(begins.complete(0, 1, true, Nanos(7)).is_some());
        assert!(begins.is_settled() && !answers.is_settled());
        assert_eq!((begins.unposted(), answers.unposted()), (0, 2));
        assert!(answers.complete(1, 0, false, Nanos(7)).is_some());
        answers.arrived(0);
        answers.arrived(2);
        assert_eq!(post_all(&mut answers), [(3, 1)], "connection 1 has failed");
        answers.arrived(9);
        assert!(answers.complete(3, 1, true, Nanos(7)).is_some());
        assert!(answers.is_settled());
    }
}
