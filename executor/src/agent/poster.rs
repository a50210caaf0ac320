//! Order in which requests are posted: the requester's side of a test, without the requests themselves.

use std::collections::VecDeque;

use corpus::Traffic;
use dumper::Nanos;

/// A connection, as the requester's host sees it.
#[derive(Debug, Default)]
struct Progress {
    /// Messages posted.
    posted: u32,
    /// Messages that have not completed, with the time of their posting.
    outstanding: VecDeque<(u32, Nanos)>,
    failed: bool,
    /// True while the connection waits for its turn to post.
    waits: bool,
}

/// Connections post one request each in turn, up to `tx-depth` outstanding ones, and with `barrier-sync` the next
/// `tx-depth` only when none is outstanding on any connection. All indices count from 0.
pub(super) struct Poster {
    messages: u32,
    depth: u32,
    barrier: bool,
    /// Messages of every connection that may be posted by now: all, or up to the barrier.
    released: u32,
    connections: Vec<Progress>,
    /// Connections that may post, in turn.
    ready: VecDeque<u32>,
    /// Requests outstanding, over all connections.
    outstanding: u64,
}

impl Poster {
    pub(super) fn new(traffic: &Traffic) -> Self {
        let connections = traffic.load.connections();
        let depth = traffic.tx_depth;
        let messages = traffic.num_msgs_per_qp;
        let mut poster = Self {
            messages,
            depth,
            barrier: traffic.barrier_sync,
            released: if traffic.barrier_sync { depth.min(messages) } else { messages },
            connections: (0..connections).map(|_| Progress::default()).collect(),
            ready: VecDeque::new(),
            outstanding: 0,
        };
        (0..connections).for_each(|connection| poster.make_ready(connection));
        poster
    }

    /// Connection and message to post now, if any may be.
    pub(super) fn next(&mut self, now: impl FnOnce() -> Nanos) -> Option<(u32, u32)> {
        let connection = self.next_ready()?;
        let progress = &mut self.connections[connection as usize];
        let message = progress.posted;
        progress.posted += 1;
        progress.outstanding.push_back((message, now()));
        self.outstanding += 1;
        self.make_ready(connection);
        Some((connection, message))
    }

    /// A message has completed: when it had been posted. None for one that is not outstanding, which no completion
    /// should name. After a failure the connection posts no more.
    pub(super) fn complete(&mut self, connection: u32, message: u32, success: bool) -> Option<Nanos> {
        let progress = self.connections.get_mut(connection as usize)?;
        let at = progress.outstanding.iter().position(|(outstanding, _)| *outstanding == message)?;
        let (_, posted) = progress.outstanding.remove(at)?;
        progress.failed |= !success;
        self.outstanding -= 1;
        if self.barrier && self.outstanding == 0 && self.ready.is_empty() {
            self.released = self.released.saturating_add(self.depth).min(self.messages);
            (0..self.connections.len() as u32).for_each(|connection| self.make_ready(connection));
        } else {
            self.make_ready(connection);
        }
        Some(posted)
    }

    /// Returns true if no request is outstanding and no more will be posted.
    pub(super) fn is_settled(&self) -> bool {
        self.outstanding == 0 && self.connections.iter().all(|progress| !self.may_post(progress))
    }

    /// Posts nothing more.
    pub(super) fn stop(&mut self) {
        self.ready.clear();
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
        self.connections.iter().map(|progress| u64::from(self.messages - progress.posted)).sum()
    }

    fn may_post(&self, progress: &Progress) -> bool {
        !progress.failed
            && progress.posted < self.released
            && progress.outstanding.len() < self.depth as usize
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
        Poster::new(&Traffic {
            load: Load::Same { verb: Verb::Write, connections },
            num_msgs_per_qp: messages,
            tx_depth: depth,
            barrier_sync: barrier,
            ..Traffic::default()
        })
    }

    fn post_all(poster: &mut Poster) -> Vec<(u32, u32)> {
        std::iter::from_fn(|| poster.next(|| Nanos(7))).collect()
    }

    #[test]
    fn connections_take_turns_up_to_their_depth() {
        let mut poster = poster(2, 3, 2, false);
        assert_eq!(post_all(&mut poster), [(0, 0), (1, 0), (0, 1), (1, 1)]);
        assert_eq!(poster.complete(1, 0, true), Some(Nanos(7)));
        assert_eq!(post_all(&mut poster), [(1, 2)]);
        assert_eq!(poster.complete(1, 1, true), Some(Nanos(7)));
        assert_eq!(post_all(&mut poster), []);
        assert!(!poster.is_settled());
        for (connection, message) in [(0, 0), (0, 1), (1, 2)] {
            assert!(poster.complete(connection, message, true).is_some());
        }
        assert!(!poster.is_settled(), "one is left");
        assert_eq!(post_all(&mut poster), [(0, 2)]);
        assert!(poster.complete(0, 2, true).is_some());
        assert!(poster.is_settled());
        assert_eq!((poster.unposted(), poster.outstanding().count()), (0, 0));
    }

    #[test]
    fn a_barrier_waits_for_all_and_a_failure_stops_its_own_connection_alone() {
        let mut poster = poster(2, 2, 1, true);
        assert_eq!(post_all(&mut poster), [(0, 0), (1, 0)]);
        poster.complete(0, 0, true);
        assert_eq!(post_all(&mut poster), []);
        poster.complete(1, 0, false);
        assert_eq!(post_all(&mut poster), [(0, 1)]);
        poster.complete(0, 1, true);
        assert!(poster.is_settled());
        assert_eq!(poster.unposted(), 1);
    }

    #[test]
    fn completions_of_what_is_not_outstanding_are_told() {
        let mut poster = poster(1, 2, 2, false);
        post_all(&mut poster);
        assert_eq!(poster.complete(0, 1, true), Some(Nanos(7)), "even out of order");
        assert_eq!(poster.complete(0, 1, true), None, "twice");
        assert_eq!(poster.complete(3, 0, true), None, "no such connection");
        assert_eq!(poster.outstanding().collect::<Vec<_>>(), [(0, 0, Nanos(7))]);
        poster.stop();
        assert!(!poster.is_settled());
        poster.complete(0, 0, true);
        assert!(poster.is_settled());
    }

    #[test]
    fn a_connection_that_fails_before_its_turn_has_none() {
        let mut poster = poster(2, 3, 2, false);
        assert_eq!(poster.next(|| Nanos(7)), Some((0, 0)));
        assert!(poster.complete(0, 0, false).is_some());
        assert_eq!(post_all(&mut poster), [(1, 0), (1, 1)]);
    }
}
