//! A port of the switch: where it is, and the frames that wait for it.

mod batch;
mod packet;
mod unix;

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::str::FromStr;

use dumper::Nanos;
use nix::errno::Errno;

use super::queue::Queue;
use super::{Frame, Losses};
use batch::BATCH;
pub(super) use batch::Batch;
use packet::PacketLink;
use unix::UnixLink;

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
    /// A network interface by its name, through AF_PACKET.
    Interface(String),
}

/// A text that says no port.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text:?} is no port; write unix:LOCAL:REMOTE with two paths of sockets, or if:NAME with an interface"
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
            Some(("if", name)) if !name.is_empty() => Some(Self::Interface(name.to_owned())),
            _ => None,
        };
        spec.ok_or_else(|| SpecError { text: text.to_owned() })
    }
}

impl fmt::Display for PortSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix { local, remote } => write!(f, "unix:{}:{}", local.display(), remote.display()),
            Self::Interface(name) => write!(f, "if:{name}"),
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
    /// The interface is not there.
    #[error("port {0}: there is no such interface; `ip link` lists them")]
    NoInterface(PortSpec),
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

enum Link {
    Unix(UnixLink),
    Packet(PacketLink),
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

/// An open port.
pub struct Port {
    link: Link,
    queue: Queue,
    /// Cause that holds up the queue.
    waits: Option<Waits>,
}

/// Condition that a queue waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Writable,
    Until(Nanos),
}

impl Port {
    /// Opens a port.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(spec: &PortSpec) -> Result<Self, OpenError> {
        let link = match spec {
            PortSpec::Unix { local, remote } => Link::Unix(UnixLink::open(spec, local, remote)?),
            PortSpec::Interface(name) => Link::Packet(PacketLink::open(spec, name)?),
        };
        Ok(Self { link, queue: Queue::default(), waits: None })
    }

    /// The socket that frames come from.
    pub(super) fn receiver(&self) -> BorrowedFd<'_> {
        match &self.link {
            Link::Unix(link) => link.receiver(),
            Link::Packet(link) => link.socket(),
        }
    }

    /// The socket that is to become writable before more can be sent, if the queue waits for that.
    pub(super) fn blocked_sender(&self) -> Option<BorrowedFd<'_>> {
        (self.waits == Some(Waits::Writable)).then(|| match &self.link {
            Link::Unix(link) => link.sender(),
            Link::Packet(link) => link.socket(),
        })
    }

    /// Time of the next attempt to send, if the queue waits for that.
    pub(super) const fn retry_at(&self) -> Option<Nanos> {
        match self.waits {
            Some(Waits::Until(at)) => Some(at),
            _ => None,
        }
    }

    /// Takes in the frames that are there, up to a batch. Frames that are too long are counted as refused.
    pub(super) fn receive(&mut self, batch: &mut Batch, each: impl FnMut(&[u8])) -> io::Result<Losses> {
        match &mut self.link {
            Link::Unix(link) => batch.receive(link.receiver(), |()| true, None, each),
            Link::Packet(link) => link.receive(batch, each),
        }
    }

    /// Queues a frame; false if the queue is full.
    pub(super) fn push(&mut self, frame: Frame) -> bool {
        self.queue.push(frame)
    }

    /// Sends the queued frames, as far as the receiver takes them.
    pub(super) fn flush(&mut self, now: Nanos) -> (usize, Losses) {
        let (mut sent, mut losses) = (0, Losses::default());
        self.waits = None;
        while !self.queue.is_empty() {
            let frames: Vec<&[u8]> = self.queue.first(BATCH).map(AsRef::as_ref).collect();
            let result = match &mut self.link {
                Link::Unix(link) => link.send(&frames),
                Link::Packet(link) => link.send(&frames),
            };
            match result {
                Sent::Frames(frames) => {
                    sent += frames;
                    self.queue.pop(frames);
                }
                Sent::Full => {
                    self.waits = Some(Waits::Writable);
                    break;
                }
                Sent::DeviceFull => {
                    self.waits = Some(Waits::Until(now + RETRY_AFTER));
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_written_as_they_are_read() {
        for text in ["unix:/tmp/a.sock:/tmp/b.sock", "if:eth1"] {
            assert_eq!(text.parse::<PortSpec>().unwrap().to_string(), text);
        }
        for text in
            ["", "eth1", "if:", "unix:", "unix:/a", "unix:/a:", "unix::/b", "unix:/a:/b:/c", "tcp:1:2"]
        {
            assert!(text.parse::<PortSpec>().is_err(), "{text}");
        }
    }
}
