//! Two guests at once.

use std::path::Path;
use std::thread;

use super::Image;
use super::cable::Cable;
use super::guest::{Guest, Sockets};
use super::qemu::Qemu;
use crate::guests::{GuestError, RunFolder};

/// Connection of the guests' NICs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wiring {
    /// To each other.
    Direct,
    /// To a switch, which receives at [`switch_socket`] of each host.
    Switch,
    /// To tap devices, the requester's first.
    Taps([String; 2]),
}

/// The guests of the requester and of the responder.
#[derive(Debug)]
pub struct Pair {
    /// The requester's, host 1.
    pub requester: Guest,
    /// The responder's, host 2.
    pub responder: Guest,
}

/// The name of a host's socket in the folder of a pair: where its NIC receives.
#[must_use]
pub fn guest_socket(folder: &Path, host: u8) -> std::path::PathBuf {
    folder.join(format!("{host}.guest"))
}

/// Socket at which the switch receives a host's frames.
#[must_use]
pub fn switch_socket(folder: &Path, host: u8) -> std::path::PathBuf {
    folder.join(format!("{host}.switch"))
}

/// The sockets of a host's guest.
#[must_use]
pub fn sockets(folder: &Path, host: u8, wiring: &Wiring) -> Sockets {
    let to = |remote| Cable::Sockets { local: guest_socket(folder, host), remote };
    let cable = match wiring {
        Wiring::Direct => to(guest_socket(folder, 3 - host)),
        Wiring::Switch => to(switch_socket(folder, host)),
        Wiring::Taps(taps) => Cable::Tap(taps[usize::from(host - 1)].clone()),
    };
    Sockets { cable, monitor: folder.join(format!("{host}.qmp")) }
}

impl Pair {
    /// Starts both guests, at the same time, with their sockets in the folder; the images are those of the
    /// requester and of the responder.
    ///
    /// # Errors
    /// The first guest that fails; the other one is ended.
    pub fn start(
        qemu: &Qemu,
        images: [&Image; 2],
        folder: &RunFolder,
        wiring: &Wiring,
    ) -> Result<Self, GuestError> {
        let start = |host: u8, image| Guest::start(qemu, image, host, &sockets(folder.path(), host, wiring));
        let [of_requester, of_responder] = images;
        let (requester, responder) = thread::scope(|scope| {
            let responder = scope.spawn(|| start(2, of_responder));
            let requester = start(1, of_requester);
            let panicked =
                || GuestError::Guest { host: 2, why: "its start panicked".into(), said: String::new() };
            (requester, responder.join().unwrap_or_else(|_| Err(panicked())))
        });
        Ok(Self { requester: requester?, responder: responder? })
    }
}
