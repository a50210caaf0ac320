//! A dumper: threads that take the packets of interfaces.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::SocketError;

use super::kept::{KEPT, Kept};
use super::merge::Merge;
use super::{Losses, Packet};
use crate::ring::{Blocks, Interface, OpenError};

/// Bytes of a ring, which holds packets until a thread takes them.
const RING: usize = 32 << 20;

/// Longest time until a thread asks what the system has dropped.
const LOOK_MS: u16 = 20;

/// Options of a dumper.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Names of the interfaces that packets come in at.
    pub interfaces: Vec<String>,
    /// Threads for each, which share its packets.
    pub threads: u16,
    /// Most packets of a dump, over all threads.
    pub packets: u32,
}

/// A dumper that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The packets of an interface cannot be had.
    #[error("interface {name}: {source}")]
    Interface {
        /// Its name.
        name: String,
        /// Reason.
        source: OpenError,
    },
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(#[from] io::Error),
}

/// A dumper. Its threads end when it is dropped.
#[derive(Debug)]
pub struct Dumper {
    options: Options,
    shares: Vec<Arc<Mutex<Share>>>,
    /// Number of the dump; 0 before the first.
    dump: Mutex<Dump>,
    threads: Vec<JoinHandle<()>>,
    stop: Option<UnixStream>,
}

/// The dump that is running, or that ended last.
#[derive(Clone, Copy, Debug, Default)]
struct Dump {
    number: u64,
    /// What the interfaces had dropped when it began.
    dropped_before: u64,
}

/// The packets of a thread.
#[derive(Debug)]
struct Share {
    kept: Kept,
    /// Packets that the system had no room to hand over, in this dump.
    ring: u64,
    is_running: bool,
}

impl Dumper {
    /// Starts the threads, which keep nothing yet.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(options: Options) -> Result<Self, StartError> {
        let (stop, stopped) = UnixStream::pair()?;
        let mut dumper = Self {
            shares: Vec::new(),
            dump: Mutex::default(),
            threads: Vec::new(),
            stop: Some(stop),
            options,
        };
        let threads = dumper.options.threads.max(1);
        let all = u32::from(threads) * dumper.options.interfaces.len().max(1) as u32;
        let packets = dumper.options.packets.div_ceil(all);
        for name in dumper.options.interfaces.clone() {
            let error = |source| StartError::Interface { name: name.clone(), source };
            let interface = Interface::named(&name).map_err(error)?;
            let mut group = None;
            for _ in 0..threads {
                let blocks = Blocks::open(interface, RING, KEPT, group).map_err(error)?;
                group = Some(blocks.group());
                let share = Share { kept: Kept::new(packets), ring: 0, is_running: false };
                let share = Arc::new(Mutex::new(share));
                let (taken, stopped) = (Arc::clone(&share), stopped.try_clone()?);
                dumper.shares.push(share);
                let named = thread::Builder::new().name(format!("dump {name}"));
                dumper.threads.push(named.spawn(move || take(blocks, &taken, &stopped))?);
            }
        }
        Ok(dumper)
    }

    /// What it was started with.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Forgets all packets and keeps those that come from now on; the number of this dump.
    pub fn begin(&self) -> u64 {
        let mut dump = locked(&self.dump);
        *dump = Dump { number: dump.number + 1, dropped_before: dropped(&self.options.interfaces) };
        for share in &self.shares {
            let mut share = locked(share);
            share.kept.clear();
            share.ring = 0;
            share.is_running = true;
        }
        dump.number
    }

    /// Packets of a dump so far, and those that it did not keep; none if another one has begun since.
    #[must_use]
    pub fn counted(&self, number: u64) -> Option<(u64, Losses)> {
        let dump = *locked(&self.dump);
        if number == 0 || dump.number != number {
            return None;
        }
        let interface = dropped(&self.options.interfaces).saturating_sub(dump.dropped_before);
        let none = (0, Losses { interface, ..Losses::default() });
        Some(self.shares.iter().fold(none, |(kept, losses), share| {
            let share = locked(share);
            let of_ring = Losses { ring: share.ring, ..share.kept.losses() };
            (kept + share.kept.len(), losses.and(of_ring))
        }))
    }

    /// Ends a dump, whose packets can be read then; none if another one has begun since.
    #[must_use]
    pub fn end(&self, number: u64) -> Option<Ended<'_>> {
        if number == 0 || locked(&self.dump).number != number {
            return None;
        }
        for share in &self.shares {
            let mut share = locked(share);
            if std::mem::take(&mut share.is_running) {
                share.kept.finish();
            }
        }
        Some(Ended { dumper: self, number, next: vec![0; self.shares.len()], merge: None })
    }
}

/// The packets of a dump that has ended, in order.
#[derive(Debug)]
pub struct Ended<'d> {
    dumper: &'d Dumper,
    number: u64,
    /// The next packet of each thread.
    next: Vec<usize>,
    merge: Option<Merge>,
}

impl Ended<'_> {
    /// Hands out the next packets, up to so many; false where there are no more, or another dump has begun.
    pub fn take(&mut self, most: usize, mut each: impl FnMut(Packet<'_>)) -> bool {
        let dump = locked(&self.dumper.dump);
        if dump.number != self.number {
            return false;
        }
        let shares: Vec<_> = self.dumper.shares.iter().map(|share| locked(share)).collect();
        let next = &mut self.next;
        let merge = self.merge.get_or_insert_with(|| {
            let mut merge = Merge::default();
            for (stream, share) in shares.iter().enumerate() {
                share.kept.get(0).into_iter().for_each(|first| merge.put(stream, first.sequence));
            }
            merge
        });
        for _ in 0..most {
            let Some(stream) = merge.next() else { return false };
            let kept = &shares[stream].kept;
            kept.get(next[stream]).into_iter().for_each(&mut each);
            next[stream] += 1;
            kept.get(next[stream]).into_iter().for_each(|ahead| merge.put(stream, ahead.sequence));
        }
        true
    }

    /// Returns true while no other dump has begun.
    #[must_use]
    pub fn is_there(&self) -> bool {
        locked(&self.dumper.dump).number == self.number
    }
}

impl Drop for Dumper {
    fn drop(&mut self) {
        drop(self.stop.take());
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing to tell.
            let _ = thread.join();
        }
    }
}

/// Takes packets until `stopped` is closed.
fn take(mut blocks: Blocks, share: &Mutex<Share>, stopped: &UnixStream) {
    loop {
        let mut sockets = [
            PollFd::new(blocks.socket(), PollFlags::POLLIN),
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut sockets, PollTimeout::from(LOOK_MS)) {
            Ok(_) | Err(Errno::EINTR) => {}
            // Nothing can be taken any more, which shows as packets that are missing.
            Err(_) => return,
        }
        if sockets[1].any().unwrap_or(true) {
            return;
        }
        if sockets[0].revents().is_some_and(|events| events.contains(PollFlags::POLLERR)) {
            // An interface that goes down says so until it is asked; it may come up again.
            let _ = getsockopt(&blocks.socket(), SocketError);
        }
        loop {
            let mut share = locked(share);
            let Share { kept, is_running, .. } = &mut *share;
            let is_there = blocks.take(|frame, length| {
                if *is_running {
                    kept.push(frame, length);
                }
            });
            if !is_there {
                share.ring += blocks.dropped();
                break;
            }
        }
    }
}

/// What others have locked. A thread that panicked leaves whole packets.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frames that interfaces have dropped since the machine started, as proc(5) tells.
fn dropped(interfaces: &[String]) -> u64 {
    // Of the network namespace of this thread. Without it nothing is known of them.
    let told = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    told.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, counts)| {
            // bytes, packets, errors, dropped.
            let dropped = counts.split_whitespace().nth(3).and_then(|count| count.parse().ok()).unwrap_or(0);
            if interfaces.iter().any(|one| one == name.trim()) { dropped } else { 0 }
        })
        .sum()
}
