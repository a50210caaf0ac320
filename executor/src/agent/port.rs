//! The port of a guest in virtual time to its orchestrator: messages in a stream of bytes. The clock of such a guest stands
//! still while its processes work, and goes on when all of them sleep: this one sleeps where nothing happens.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::frames::{Frames, framed};
use super::proto::from_agent::Message as FromMessage;
use super::proto::to_agent::Message as ToMessage;
use super::proto::{FromAgent, ToAgent};

/// The port.
pub(super) struct Port {
    file: File,
    frames: RefCell<Frames>,
    /// A message that was taken too early.
    unread: RefCell<Option<ToMessage>>,
}

impl Port {
    /// Opens the port's device.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let nonblocking = OFlag::O_NONBLOCK.bits();
        let file = OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(path)?;
        Ok(Self { file, frames: RefCell::default(), unread: RefCell::default() })
    }

    /// Readable when something has come in.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Puts a message back, for the next one who asks.
    pub(super) fn unread(&self, message: ToMessage) {
        *self.unread.borrow_mut() = Some(message);
    }

    /// The next message, which is waited for.
    pub(super) fn next(&self) -> io::Result<ToMessage> {
        loop {
            if let Some(message) = self.try_next()? {
                return Ok(message);
            }
            self.wait(PollFlags::POLLIN)?;
        }
    }

    /// A message, if a whole one has come in.
    pub(super) fn try_next(&self) -> io::Result<Option<ToMessage>> {
        if let Some(message) = self.unread.borrow_mut().take() {
            return Ok(Some(message));
        }
        let mut bytes = [0; 1 << 14];
        loop {
            let message = self.frames.borrow_mut().next::<ToAgent>().map_err(io::Error::other)?;
            if let Some(ToAgent { message: Some(message) }) = message {
                return Ok(Some(message));
            }
            match (&self.file).read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.frames.borrow_mut().add(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends an answer.
    pub(super) fn say(&self, message: FromMessage) -> io::Result<()> {
        let bytes = framed(&FromAgent { message: Some(message) });
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match (&self.file).write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(PollFlags::POLLOUT)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        match poll(&mut [PollFd::new(self.file.as_fd(), flags)], PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
