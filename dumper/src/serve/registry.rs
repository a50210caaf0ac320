//! The connections of a service: which one makes way for a new one, and which one has had its time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, interval};

use super::Limits;
use super::log::{Kind, Log};

/// Interval of the looks at connections, unless their times are shorter.
const LOOK: Duration = Duration::from_secs(1);

/// A part of the shortest time between two looks, so that none lasts much longer than it may.
const LOOKS: u32 = 4;

/// Where the state of an open connection is.
#[derive(Debug)]
pub(super) struct State {
    /// The client's address, for lines on stderr.
    client: String,
    log: Arc<Log>,
    pub(super) limits: Limits,
    accepted: Instant,
    /// True after the handshake.
    pub(super) is_established: AtomicBool,
    /// Requests that have begun and not ended.
    requests: AtomicUsize,
    /// Those of them that have sent a message.
    in_service: AtomicUsize,
    /// When the last request ended.
    quiet_since: Mutex<Instant>,
    /// Bytes of unfinished messages.
    unfinished: AtomicUsize,
    /// Ends the connection.
    cut: Mutex<Option<oneshot::Sender<()>>>,
}

impl State {
    pub(super) fn begin_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// A request has sent its first message.
    pub(super) fn begin_service(&self) {
        self.in_service.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end_request(&self, was_in_service: bool) {
        self.in_service.fetch_sub(usize::from(was_in_service), Ordering::Relaxed);
        *locked(&self.quiet_since) = Instant::now();
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes bytes of an unfinished message, if there is room for them.
    pub(super) fn take_unfinished(&self, bytes: usize) -> bool {
        let with = |before: usize| before.checked_add(bytes).filter(|sum| *sum <= self.limits.message_bytes);
        self.unfinished.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with).is_ok()
    }

    pub(super) fn return_unfinished(&self, bytes: usize) {
        self.unfinished.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Says that a message of this client is refused.
    pub(super) fn say_refused(&self, why: &str) {
        self.log.say(Kind::Message, &format!("a message from {} is refused: {why}", self.client));
    }

    /// Says that a client that has to show a certificate did not, or not a good one.
    pub(super) fn say_not_secured(&self, error: &std::io::Error) {
        self.log
            .say(Kind::Connection, &format!("{} is not served: no TLS as with --keys: {error}", self.client));
    }

    fn is_in_service(&self) -> bool {
        self.in_service.load(Ordering::Relaxed) > 0
    }

    fn is_quiet(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0
    }

    fn quiet_since(&self) -> Instant {
        *locked(&self.quiet_since)
    }

    fn close(&self, why: &str) {
        self.log.say(Kind::Connection, &format!("the connection from {} is closed: {why}", self.client));
        // It may be ending already.
        drop(locked(&self.cut).take());
    }

    /// Why the connection has had its time, if it has.
    fn overdue(&self, now: Instant) -> Option<String> {
        let Limits { handshake, idle, .. } = self.limits;
        if !self.is_established.load(Ordering::Relaxed) {
            let late = now.duration_since(self.accepted) > handshake;
            return late.then(|| format!("no HTTP/2 handshake within {handshake:?}"));
        }
        let late = self.is_quiet() && now.duration_since(self.quiet_since()) > idle;
        late.then(|| format!("no request within {idle:?}"))
    }
}

/// All open connections.
#[derive(Debug)]
pub(super) struct Registry {
    limits: Limits,
    pub(super) log: Arc<Log>,
    open: Mutex<Vec<Arc<State>>>,
}

impl Registry {
    pub(super) fn new(limits: Limits, log: Arc<Log>) -> Self {
        Self { limits, log, open: Mutex::default() }
    }

    /// Takes a connection, if need be in the place of another; its state, and what ends when it is to be closed. None
    /// where a request is in service on each.
    pub(super) fn admit(&self, client: String) -> Option<(Arc<State>, oneshot::Receiver<()>)> {
        let mut open = locked(&self.open);
        if open.len() >= self.limits.connections {
            let waiting = open.iter().enumerate().filter(|(_, state)| !state.is_in_service());
            let Some((longest, _)) = waiting.min_by_key(|(_, state)| state.quiet_since()) else {
                let all = self.limits.connections;
                self.log.say(
                    Kind::Connection,
                    &format!(
                        "a connection from {client} is refused: all {all} that may be open are in service"
                    ),
                );
                return None;
            };
            let state = open.swap_remove(longest);
            state.close(&format!(
                "{} are open, which is the limit, and it was without a request for the longest time",
                self.limits.connections
            ));
        }
        let (cut, is_cut) = oneshot::channel();
        let state = Arc::new(State {
            client,
            log: Arc::clone(&self.log),
            limits: self.limits,
            accepted: Instant::now(),
            is_established: AtomicBool::default(),
            requests: AtomicUsize::default(),
            in_service: AtomicUsize::default(),
            quiet_since: Mutex::new(Instant::now()),
            unfinished: AtomicUsize::default(),
            cut: Mutex::new(Some(cut)),
        });
        open.push(Arc::clone(&state));
        Some((state, is_cut))
    }

    /// A connection has ended.
    pub(super) fn leave(&self, state: &Arc<State>) {
        locked(&self.open).retain(|open| !Arc::ptr_eq(open, state));
    }

    /// Closes connections that have had their time. Never ends.
    pub(super) async fn watch(&self) {
        let shortest = self.limits.handshake.min(self.limits.idle);
        let mut looks = interval(LOOK.min(shortest / LOOKS).max(Duration::from_millis(1)));
        loop {
            let now = looks.tick().await;
            locked(&self.open).retain(|state| match state.overdue(now) {
                Some(why) => {
                    state.close(&why);
                    false
                }
                None => true,
            });
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
