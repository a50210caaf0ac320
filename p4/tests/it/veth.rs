//! Hosts at cables.

use std::cell::RefCell;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use dumper::ring::{Frames, Interface, sender};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};

use crate::process::PATIENCE;

/// The end of a cable: what a host has of the network.
pub(crate) struct Host {
    out: OwnedFd,
    frames: RefCell<Frames>,
}

/// Bytes of frames that wait for a host.
const WAITING: usize = 16 << 20;

impl Host {
    pub(crate) fn at(name: &str) -> Self {
        let interface = Interface::named(name).unwrap();
        let frames = Frames::open(interface, WAITING).unwrap().into();
        Self { out: sender(interface).unwrap(), frames }
    }

    pub(crate) fn send(&self, frame: &[u8]) {
        assert_eq!(send(self.out.as_raw_fd(), frame, MsgFlags::empty()), Ok(frame.len()));
    }

    pub(crate) fn receive(&self) -> Vec<u8> {
        self.receive_within(PATIENCE).expect("a frame is to come")
    }

    pub(crate) fn receive_within(&self, patience: Duration) -> Option<Vec<u8>> {
        let mut frames = self.frames.borrow_mut();
        let until = Instant::now() + patience;
        loop {
            let mut received = None;
            frames.take(1, |frame| received = Some(frame.to_vec()));
            if received.is_some() {
                return received;
            }
            let rest = until.checked_duration_since(Instant::now())?;
            let rest = PollTimeout::try_from(rest.as_millis() + 1).unwrap();
            poll(&mut [PollFd::new(frames.socket(), PollFlags::POLLIN)], rest).unwrap();
        }
    }
}

/// A process that ends with this.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // Either fails where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
