//! The thread that moves frames.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use corpus::Role;
use dumper::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::port::{Batch, Port};
use super::{Departure, Losses, Switch};

/// A switch that the thread and the services share.
#[derive(Clone, Debug)]
pub struct Shared {
    switch: Arc<Mutex<Switch>>,
    origin: Instant,
}

impl Shared {
    /// Shares a switch, whose clock starts now.
    #[must_use]
    pub fn new(switch: Switch) -> Self {
        Self { switch: Arc::new(Mutex::new(switch)), origin: Instant::now() }
    }

    /// The switch. A thread that panicked with it leaves it usable: it is changed by whole packets.
    pub fn lock(&self) -> MutexGuard<'_, Switch> {
        self.switch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The switch's clock.
    #[must_use]
    pub fn now(&self) -> Nanos {
        Nanos(self.origin.elapsed().as_nanos() as u64)
    }
}

/// Totals of the ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Frames that came in, by [`Role`].
    pub received: [u64; 2],
    /// Frames that went out.
    pub sent: [u64; 2],
    /// Frames that were lost.
    pub lost: [Losses; 2],
}

/// Moves frames until `stop` can be read from or is closed.
///
/// # Errors
/// When a socket cannot be waited for or received from.
pub(crate) fn forward(shared: &Shared, ports: &mut [Port; 2], stop: &UnixStream) -> io::Result<Totals> {
    // Delays are as exact as the system's timers: by default they may be 50 µs late. A refusal of the system
    // is ignored.
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut batch = Batch::new();
    let mut out: Vec<Departure> = Vec::new();
    let mut totals = Totals::default();
    loop {
        let ready = wait(shared, ports, stop)?;
        if ready.stop {
            return Ok(totals);
        }
        let mut losses = [Losses::default(); 2];
        {
            let mut switch = shared.lock();
            for role in Role::ALL {
                let at = role as usize;
                if ready.readable[at] {
                    let received = &mut totals.received[at];
                    losses[at] = ports[at].receive(&mut batch, |frame| {
                        *received += 1;
                        switch.receive(role, frame, shared.now(), &mut out);
                    })?;
                }
            }
            switch.handle_timeout(shared.now(), &mut out);
        }
        for Departure { to, frame } in out.drain(..) {
            losses[to as usize].overflow += u64::from(!ports[to as usize].push(frame));
        }
        for role in Role::ALL {
            let at = role as usize;
            let (sent, lost) = ports[at].flush(shared.now());
            totals.sent[at] += sent as u64;
            losses[at].add(lost);
            if losses[at] != Losses::default() {
                totals.lost[at].add(losses[at]);
                shared.lock().note_losses(role, losses[at]);
            }
        }
    }
}

struct Ready {
    readable: [bool; 2],
    stop: bool,
}

/// Waits until there is something to do.
fn wait(shared: &Shared, ports: &[Port; 2], stop: &UnixStream) -> io::Result<Ready> {
    let timers = [shared.lock().next_timeout(), ports[0].retry_at(), ports[1].retry_at()];
    let timeout = timers.into_iter().flatten().min().map(|at| {
        let wait = at - shared.now();
        TimeSpec::from(Duration::from_nanos(wait.0))
    });
    let mut sockets = vec![
        PollFd::new(ports[0].receiver(), PollFlags::POLLIN),
        PollFd::new(ports[1].receiver(), PollFlags::POLLIN),
        PollFd::new(stop.as_fd(), PollFlags::POLLIN),
    ];
    let blocked = ports.iter().filter_map(Port::blocked_sender);
    sockets.extend(blocked.map(|socket| PollFd::new(socket, PollFlags::POLLOUT)));
    match ppoll(&mut sockets, timeout, None) {
        Ok(_) => {}
        Err(Errno::EINTR) => return Ok(Ready { readable: [false; 2], stop: false }),
        Err(error) => return Err(error.into()),
    }
    let ready = |socket: &PollFd<'_>| socket.any().unwrap_or(true);
    Ok(Ready { readable: [ready(&sockets[0]), ready(&sockets[1])], stop: ready(&sockets[2]) })
}
