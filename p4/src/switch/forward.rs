//! The threads that move frames: one for each direction.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use corpus::Role;
use dumper::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::SocketError;
use nix::sys::time::TimeSpec;

use super::port::{self, Incoming, Inlet, OpenError, Outgoing, Outlet, PortSpec};
use super::{Departure, Losses, Mirrored, Switch};

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
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Frames that came in, by [`Role`].
    pub received: [u64; 2],
    /// Frames that went out.
    pub sent: [u64; 2],
    /// Frames that were lost.
    pub lost: [Losses; 2],
    /// Mirrored packets that went out, by dumper.
    pub mirrored: Vec<u64>,
    /// Mirrored packets that were lost, by dumper.
    pub unmirrored: Vec<Losses>,
}

impl Totals {
    /// Those of both threads.
    #[must_use]
    pub fn and(mut self, more: &Self) -> Self {
        for at in 0..2 {
            self.received[at] += more.received[at];
            self.sent[at] += more.sent[at];
            self.lost[at].add(more.lost[at]);
        }
        // Each thread has all dumpers.
        self.mirrored.iter_mut().zip(&more.mirrored).for_each(|(all, more)| *all += more);
        self.unmirrored.iter_mut().zip(&more.unmirrored).for_each(|(all, more)| all.add(*more));
        self
    }
}

/// The way of the frames that come in at a host's port: to the other host's, and copies to the dumpers.
pub(crate) struct Direction {
    from: Role,
    inlet: Inlet,
    /// The ways out at the ports of both hosts, by [`Role`]: a packet that is held may leave where it has not come in otherwise.
    outlets: Arc<[Outlet; 2]>,
    /// Of this direction alone: mirrored packets have numbers, and no order.
    dumpers: Vec<Outlet>,
}

impl Direction {
    /// Opens the ports of the hosts, by [`Role`], and those of the dumpers; the directions, for a thread each.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub(crate) fn open(
        hosts: &[PortSpec; 2],
        dumpers: &[PortSpec],
        tell: &mut dyn FnMut(String),
    ) -> Result<[Self; 2], OpenError> {
        let (first, to_first) = port::open(&hosts[0], tell)?;
        let (second, to_second) = port::open(&hosts[1], tell)?;
        let outlets = Arc::new([to_first, to_second]);
        let direction = |from, inlet| {
            let dumpers = dumpers.iter().map(Outlet::open).collect::<Result<_, _>>()?;
            Ok(Self { from, inlet, outlets: Arc::clone(&outlets), dumpers })
        };
        Ok([direction(Role::Requester, first)?, direction(Role::Responder, second)?])
    }

    /// Moves frames until `stop` can be read from or is closed.
    ///
    /// # Errors
    /// When a socket cannot be waited for or received from.
    pub(crate) fn forward(&mut self, shared: &Shared, stop: &UnixStream) -> io::Result<Totals> {
        // Delays are as exact as the system's timers: by default they may be 50 µs late. A refusal of the system
        // is ignored.
        let _ = nix::sys::prctl::set_timerslack(1);
        let (mut incoming, mut outgoing) = (Incoming::new(), Outgoing::new());
        let unmirrored = vec![Losses::default(); self.dumpers.len()];
        let mut passing = Passing { unmirrored: unmirrored.clone(), ..Passing::default() };
        let mirrored = vec![0; self.dumpers.len()];
        let mut totals = Totals { mirrored, unmirrored, ..Totals::default() };
        let mut passes = 0_u32;
        loop {
            let is_there = self.inlet.look(&mut incoming)?;
            if !is_there {
                passing.losses[self.from as usize].missed += self.inlet.dropped();
                passing.note(&mut totals, || shared.lock());
            }
            // A flood does not keep the switch from being stopped.
            if !is_there || passes.is_multiple_of(PASSES) {
                match self.wait(shared, &passing, is_there, stop)? {
                    Ready::Stop => return Ok(totals),
                    Ready::Frames if !is_there => continue,
                    Ready::Frames | Ready::Other => {}
                }
            }
            passes = passes.wrapping_add(1);
            self.pass(shared, &mut incoming, &mut passing, &mut totals);
            self.send(shared, &mut outgoing, &mut passing, &mut totals);
        }
    }

    /// Waits until there is something to do, or looks if there is something besides frames that have come in already.
    fn wait(
        &self,
        shared: &Shared,
        passing: &Passing,
        is_there: bool,
        stop: &UnixStream,
    ) -> io::Result<Ready> {
        let mut sockets = vec![
            PollFd::new(stop.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.inlet.socket(), PollFlags::POLLIN),
        ];
        let mut timers = vec![shared.lock().next_timeout(), is_there.then_some(Nanos::ZERO)];
        for outlet in self.outlets(passing) {
            timers.push(outlet.retry_at());
            sockets.extend(outlet.blocked().map(|socket| PollFd::new(socket, PollFlags::POLLOUT)));
        }
        let timeout = timers.into_iter().flatten().min().map(|at| {
            let wait = at - shared.now();
            TimeSpec::from(Duration::from_nanos(wait.0))
        });
        match ppoll(&mut sockets, timeout, None) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Ready::Other),
            Err(error) => return Err(error.into()),
        }
        if sockets[1].revents().is_some_and(|events| events.contains(PollFlags::POLLERR)) {
            // An interface that goes down says so until it is asked; it may come up again.
            let _ = getsockopt(&self.inlet.socket(), SocketError);
        }
        let is_ready = |socket: &PollFd<'_>| socket.any().unwrap_or(true);
        Ok(match (is_ready(&sockets[0]), is_ready(&sockets[1])) {
            (true, _) => Ready::Stop,
            (false, true) => Ready::Frames,
            (false, false) => Ready::Other,
        })
    }

    /// The ways out that frames of this direction took.
    fn outlets(&self, passing: &Passing) -> impl Iterator<Item = &Outlet> {
        let took = passing.took;
        let hosts = self.outlets.iter().zip(took).filter(|(_, took)| *took).map(|(outlet, _)| outlet);
        hosts.chain(&self.dumpers)
    }

    /// Has the switch take in the frames that have come in, and puts those that leave into the queues of their ports: in their order,
    /// which the switch decides, before another thread has its turn.
    fn pass(&mut self, shared: &Shared, incoming: &mut Incoming, passing: &mut Passing, totals: &mut Totals) {
        let from = self.from;
        let Passing { departures, mirrored, took, losses, .. } = passing;
        let mut switch = shared.lock();
        let taken = self.inlet.take(incoming, |frame| {
            totals.received[from as usize] += 1;
            switch.receive(from, frame, shared.now(), departures);
        });
        losses[from as usize].add(taken);
        switch.handle_timeout(shared.now(), departures);
        for to in Role::ALL {
            let at = to as usize;
            let leaving = departures.iter().filter(|departure| departure.to == to);
            took[at] |= leaving.clone().next().is_some();
            losses[at].overflow += self.outlets[at].push(leaving.map(|departure| departure.frame.clone()));
        }
        departures.clear();
        mirrored.extend(switch.take_mirrored());
        // Before a frame is sent, so that a capture that ends when it has arrived has what was lost before it.
        passing.note(totals, || switch);
        for (at, outlet) in self.dumpers.iter().enumerate() {
            let copies = passing.mirrored.iter().filter(|copy| copy.dumper == at);
            passing.unmirrored[at].overflow += outlet.push(copies.map(|copy| copy.frame.clone()));
        }
        passing.mirrored.clear();
    }

    /// Sends what waits, as far as receivers take it.
    fn send(&self, shared: &Shared, outgoing: &mut Outgoing, passing: &mut Passing, totals: &mut Totals) {
        for to in Role::ALL {
            let at = to as usize;
            if passing.took[at] {
                let (sent, lost) = self.outlets[at].flush(outgoing, || shared.now());
                totals.sent[at] += sent;
                passing.losses[at].add(lost);
                // Another direction's port is waited for as long as something waits there.
                passing.took[at] = to == self.from.peer() || !self.outlets[at].is_empty();
            }
        }
        for (at, outlet) in self.dumpers.iter().enumerate() {
            let (sent, lost) = outlet.flush(outgoing, || shared.now());
            totals.mirrored[at] += sent;
            passing.unmirrored[at].add(lost);
        }
        passing.note(totals, || shared.lock());
    }
}

/// Passes after which a busy thread looks if it is to stop.
const PASSES: u32 = 64;

/// What ended a wait.
enum Ready {
    Stop,
    Frames,
    Other,
}

/// Frames on their way through a thread.
#[derive(Default)]
struct Passing {
    departures: Vec<Departure>,
    mirrored: Vec<Mirrored>,
    /// Ports that frames of this thread may wait at, by [`Role`].
    took: [bool; 2],
    /// Frames that were lost and not noted yet.
    losses: [Losses; 2],
    unmirrored: Vec<Losses>,
}

impl Passing {
    /// Notes what was lost.
    fn note<'s>(&mut self, totals: &mut Totals, switch: impl FnOnce() -> MutexGuard<'s, Switch>) {
        if self.losses.iter().chain(&self.unmirrored).all(|losses| losses.total() == 0) {
            return;
        }
        let mut switch = switch();
        for at in Role::ALL {
            let lost = std::mem::take(&mut self.losses[at as usize]);
            totals.lost[at as usize].add(lost);
            switch.note_losses(at, lost);
        }
        for (at, lost) in self.unmirrored.iter_mut().enumerate() {
            let lost = std::mem::take(lost);
            totals.unmirrored[at].add(lost);
            switch.note_unmirrored(at, lost);
        }
    }
}
