//! A port of the switch: where it is, and the frames that wait for it.

mod batch;
mod unix;

use std::fmt;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dumper::Nanos;
use dumper::ring::xdp::{self, Flushed, Put};
use dumper::ring::{self, Frames, Interface, Taken};
use nix::errno::Errno;

use super::queue::Queue;
use super::{Frame, Losses};
use batch::BATCH;
pub(super) use batch::{Incoming, Outgoing};
use unix::{UnixInlet, UnixOutlet};

/// Bytes of frames that may wait to be taken in at an interface: those of 50 ms at 10 Gbit/s.
const WAITING: usize = 64 << 20;

/// Pause before the next attempt on a full device queue, which does not report when it has room.
const RETRY_AFTER: Nanos = Nanos::from_micros(200);

/// Place of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortSpec {
    /// A pair of datagram unix sockets, one Ethernet frame a datagram, as QEMU's `-netdev dgram` has them.
    Unix {
        /// The switch's, which it binds and receives from: QEMU's `remote.path`.
        local: PathBuf,
        /// The guest's, which it sends to: QEMU's `local.path`. It may come and go.
        remote: PathBuf,
    },
    /// A network interface by its name.
    Interface(Access, String),
}

/// Ways to the frames of a network interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// AF_XDP where the kernel and the interface have it, else AF_PACKET.
    Best,
    /// AF_XDP.
    Xdp,
    /// AF_PACKET.
    Packet,
}

impl Access {
    /// Every way, with its word in front of the name of an interface.
    const WORDS: [(Self, &str); 3] = [(Self::Best, "if"), (Self::Xdp, "xdp"), (Self::Packet, "packet")];

    fn word(self) -> &'static str {
        Self::WORDS.into_iter().find(|(access, _)| *access == self).map_or("if", |(_, word)| word)
    }
}

/// A text that says no port.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text:?} is no port; write unix:LOCAL:REMOTE with two paths of sockets, or if:NAME, xdp:NAME or packet:NAME with an interface"
)]
pub struct SpecError {
    text: String,
}

impl FromStr for PortSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let spec = match text.split_once(':') {
            Some(("unix", paths)) => paths
                .split_once(':')
                .filter(|(local, remote)| !local.is_empty() && !remote.is_empty() && !remote.contains(':'))
                .map(|(local, remote)| Self::Unix { local: local.into(), remote: remote.into() }),
            Some((word, name)) if !name.is_empty() => Access::WORDS
                .into_iter()
                .find(|(_, known)| *known == word)
                .map(|(access, _)| Self::Interface(access, name.to_owned())),
            _ => None,
        };
        spec.ok_or_else(|| SpecError { text: text.to_owned() })
    }
}

impl fmt::Display for PortSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix { local, remote } => write!(f, "unix:{}:{}", local.display(), remote.display()),
            Self::Interface(access, name) => write!(f, "{}:{name}", access.word()),
        }
    }
}

/// A port that could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the socket.
    #[error("port {0}: another process receives from this socket; stop it, or give the switch another path")]
    InUse(PortSpec),
    /// There is something else at the path of the socket.
    #[error("port {0}: there is a file at this path that is no socket; give the switch another path")]
    NotASocket(PortSpec),
    /// The frames of an interface cannot be had.
    #[error("port {spec}: {source}")]
    Interface {
        /// The port.
        spec: PortSpec,
        /// Reason.
        source: ring::OpenError,
    },
    /// The system refused.
    #[error("port {spec}: {what}: {source}")]
    System {
        /// The port.
        spec: PortSpec,
        /// Operation that failed.
        what: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl OpenError {
    fn interface(spec: &PortSpec, source: ring::OpenError) -> Self {
        Self::Interface { spec: spec.clone(), source }
    }
}

/// Result of a send.
enum Sent {
    /// So many frames have gone.
    Frames(usize),
    /// The receiver is full; the socket becomes writable when it has room.
    Full,
    /// A device's queue is full, which does not say when it has room.
    DeviceFull,
    /// Nobody is there.
    Absent,
    /// The first frame is refused.
    Refused,
}

impl Sent {
    /// Meaning of an error of a send.
    fn of(error: Errno) -> Self {
        match error {
            Errno::EAGAIN => Self::Full,
            Errno::ENOBUFS | Errno::ENOMEM | Errno::EINTR => Self::DeviceFull,
            Errno::ECONNREFUSED | Errno::ENOTCONN | Errno::ECONNRESET | Errno::EPIPE | Errno::ENOENT => {
                Self::Absent
            }
            _ => Self::Refused,
        }
    }
}

/// Opens both ways at a port. A choice that was made is told in words.
///
/// # Errors
/// See [`OpenError`].
pub(super) fn open(spec: &PortSpec, tell: &mut dyn FnMut(String)) -> Result<(Inlet, Outlet), OpenError> {
    let (access, name) = match spec {
        PortSpec::Unix { local, .. } => {
            return Ok((Inlet::Unix(UnixInlet::open(spec, local)?), Outlet::open(spec)?));
        }
        PortSpec::Interface(access, name) => (access, name),
    };
    let error = |error| OpenError::interface(spec, error);
    let interface = Interface::named(name).map_err(error)?;
    if *access != Access::Packet {
        match xdp::open(interface) {
            Ok((receiver, transmitter)) => {
                tell(format!("port {spec}: AF_XDP"));
                return Ok((Inlet::Xdp(receiver), Outlet::new(Link::Xdp(Mutex::new(transmitter)))));
            }
            Err(why) if *access == Access::Xdp => return Err(error(why)),
            Err(why) => tell(format!("port {spec}: AF_PACKET, as AF_XDP cannot be had: {why}")),
        }
    }
    let frames = Frames::open(interface, WAITING).map_err(error)?;
    Ok((Inlet::Packet(frames), Outlet::open(spec)?))
}

/// The way in at a port.
pub(super) enum Inlet {
    Unix(UnixInlet),
    Packet(Frames),
    Xdp(xdp::Receiver),
}

impl Inlet {
    /// The socket that becomes readable when a frame comes in.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(inlet) => inlet.socket(),
            Self::Packet(frames) => frames.socket(),
            Self::Xdp(receiver) => receiver.socket(),
        }
    }

    /// Looks if frames have come in, without waiting.
    pub(super) fn look(&self, incoming: &mut Incoming) -> io::Result<bool> {
        match self {
            Self::Unix(inlet) => {
                incoming.fill(inlet.socket())?;
                Ok(!incoming.is_empty())
            }
            Self::Packet(frames) => Ok(frames.is_ready()),
            Self::Xdp(receiver) => Ok(receiver.is_ready()),
        }
    }

    /// Hands out those frames, up to a batch. Frames that are too long are counted as refused.
    pub(super) fn take(&mut self, incoming: &mut Incoming, each: impl FnMut(&[u8])) -> Losses {
        let taken = match self {
            Self::Unix(_) => Taken { too_long: incoming.take(each), ..Taken::default() },
            Self::Packet(frames) => frames.take(BATCH, each),
            Self::Xdp(receiver) => receiver.take(BATCH, each),
        };
        Losses { refused: taken.too_long, missed: taken.dropped, ..Losses::default() }
    }

    /// Frames that the system has dropped, where it does not tell so with a frame: to be asked when none are there.
    pub(super) fn dropped(&mut self) -> u64 {
        match self {
            Self::Unix(_) | Self::Packet(_) => 0,
            Self::Xdp(receiver) => receiver.dropped(),
        }
    }
}

/// The way out at a port, with the frames that wait for it. Threads share it.
pub(super) struct Outlet {
    link: Link,
    waiting: Mutex<Waiting>,
}

enum Link {
    Unix(UnixOutlet),
    Packet(OwnedFd),
    Xdp(Mutex<xdp::Transmitter>),
}

/// Frames that wait for a way out.
#[derive(Default)]
struct Waiting {
    queue: Queue,
    /// Cause that holds them up.
    waits: Option<Waits>,
}

/// Condition that a queue waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Writable,
    Until(Nanos),
}

impl Outlet {
    /// Opens the way out at a port to which nothing else belongs.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub(super) fn open(spec: &PortSpec) -> Result<Self, OpenError> {
        Ok(Self::new(match spec {
            PortSpec::Unix { remote, .. } => Link::Unix(UnixOutlet::open(spec, remote)?),
            PortSpec::Interface(_, name) => {
                let socket = Interface::named(name).and_then(ring::sender);
                Link::Packet(socket.map_err(|error| OpenError::interface(spec, error))?)
            }
        }))
    }

    fn new(link: Link) -> Self {
        Self { link, waiting: Mutex::default() }
    }

    /// The frames. A thread that panicked with them leaves them usable: whole frames come and go.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The socket that is to become writable before more can be sent, if frames wait for that.
    pub(super) fn blocked(&self) -> Option<BorrowedFd<'_>> {
        if self.waiting().waits != Some(Waits::Writable) {
            return None;
        }
        match &self.link {
            Link::Unix(link) => Some(link.socket()),
            Link::Packet(socket) => Some(socket.as_fd()),
            // It does not tell.
            Link::Xdp(_) => None,
        }
    }

    /// Time of the next attempt to send, if frames wait for that.
    pub(super) fn retry_at(&self) -> Option<Nanos> {
        match self.waiting().waits {
            Some(Waits::Until(at)) => Some(at),
            _ => None,
        }
    }

    /// Returns true if no frames wait.
    pub(super) fn is_empty(&self) -> bool {
        let waiting = self.waiting();
        waiting.queue.is_empty() && waiting.waits.is_none()
    }

    /// Queues frames, which are sent in the order in which this was called; how many found the queue full.
    pub(super) fn push(&self, frames: impl Iterator<Item = Frame>) -> u64 {
        let mut frames = frames.peekable();
        // Mostly there are none for most ports.
        if frames.peek().is_none() {
            return 0;
        }
        let mut waiting = self.waiting();
        frames.map(|frame| u64::from(!waiting.queue.push(frame))).sum()
    }

    /// Sends the queued frames, as far as the receiver takes them; how many are on their way then, and how many were lost.
    pub(super) fn flush(&self, outgoing: &mut Outgoing, now: impl Fn() -> Nanos) -> (u64, Losses) {
        let mut waiting = self.waiting();
        waiting.waits = None;
        match &self.link {
            Link::Unix(link) => waiting.flush(|queue| link.send(outgoing, queue), now),
            Link::Packet(socket) => waiting.flush(|queue| outgoing.send(socket.as_fd(), queue), now),
            Link::Xdp(transmitter) => {
                let mut transmitter = transmitter.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.flush_xdp(&mut transmitter, now)
            }
        }
    }
}

impl Waiting {
    fn flush(&mut self, mut send: impl FnMut(&Queue) -> Sent, now: impl Fn() -> Nanos) -> (u64, Losses) {
        let (mut sent, mut losses) = (0, Losses::default());
        while !self.queue.is_empty() {
            match send(&self.queue) {
                Sent::Frames(frames) => {
                    sent += frames as u64;
                    self.queue.pop(frames);
                }
                Sent::Full => {
                    self.waits = Some(Waits::Writable);
                    break;
                }
                Sent::DeviceFull => {
                    self.waits = Some(Waits::Until(now() + RETRY_AFTER));
                    break;
                }
                Sent::Absent => losses.absent += self.queue.clear(),
                Sent::Refused => {
                    losses.refused += 1;
                    self.queue.pop(1);
                }
            }
        }
        (sent, losses)
    }

    fn flush_xdp(&mut self, transmitter: &mut xdp::Transmitter, now: impl Fn() -> Nanos) -> (u64, Losses) {
        let (mut sent, mut losses) = (0, Losses::default());
        loop {
            let mut taken = 0;
            for frame in self.queue.frames() {
                match transmitter.put(frame) {
                    Put::Queued => sent += 1,
                    Put::Refused => losses.refused += 1,
                    Put::Full => break,
                }
                taken += 1;
            }
            self.queue.pop(taken);
            let Flushed { lost, is_busy } = transmitter.send();
            sent -= lost;
            losses.refused += lost;
            if is_busy || taken == 0 && !self.queue.is_empty() {
                self.waits = Some(Waits::Until(now() + RETRY_AFTER));
            }
            if self.waits.is_some() || self.queue.is_empty() {
                return (sent, losses);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_written_as_they_are_read() {
        for text in ["unix:/tmp/a.sock:/tmp/b.sock", "if:eth1", "xdp:eth1", "packet:eth1"] {
            assert_eq!(text.parse::<PortSpec>().unwrap().to_string(), text);
        }
        for text in
            ["", "eth1", "if:", "unix:", "unix:/a", "unix:/a:", "unix::/b", "unix:/a:/b:/c", "tcp:1:2"]
        {
            assert!(text.parse::<PortSpec>().is_err(), "{text}");
        }
    }
}
