//! A port on datagram unix sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::{OpenError, Outgoing, PortSpec, Sent};
use crate::switch::queue::Queue;

/// The way in: a bound socket, at which any process that has its path sends.
pub(in crate::switch) struct UnixInlet {
    bound: UnixDatagram,
    local: PathBuf,
}

impl UnixInlet {
    pub(super) fn open(spec: &PortSpec, local: &Path) -> Result<Self, OpenError> {
        let system = |what| move |source| OpenError::System { spec: spec.clone(), what, source };
        match std::fs::symlink_metadata(local) {
            Ok(metadata) if !metadata.file_type().is_socket() => {
                return Err(OpenError::NotASocket(spec.clone()));
            }
            // A killed switch leaves a socket without a receiver.
            Ok(_) => {
                let connected = UnixDatagram::unbound().map_err(system("a socket cannot be made"))?;
                if connected.connect(local).is_ok() {
                    return Err(OpenError::InUse(spec.clone()));
                }
                std::fs::remove_file(local).map_err(system("the stale socket cannot be removed"))?;
            }
            Err(_) => {}
        }
        let bound = UnixDatagram::bind(local).map_err(system("the socket cannot be bound"))?;
        // Dropped from here on if something fails, and its path with it.
        let inlet = Self { bound, local: local.into() };
        inlet.bound.set_nonblocking(true).map_err(system("the socket cannot be made non-blocking"))?;
        Ok(inlet)
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.bound.as_fd()
    }
}

impl Drop for UnixInlet {
    fn drop(&mut self) {
        // Nothing can be done about a path that cannot be removed; the next switch finds it stale.
        let _ = std::fs::remove_file(&self.local);
    }
}

/// The way out: a connected socket, so that it shows when a full receiver has room again.
pub(super) struct UnixOutlet {
    connected: UnixDatagram,
    remote: PathBuf,
}

impl UnixOutlet {
    pub(super) fn open(spec: &PortSpec, remote: &Path) -> Result<Self, OpenError> {
        let system = |what| move |source| OpenError::System { spec: spec.clone(), what, source };
        let connected = UnixDatagram::unbound().map_err(system("a socket cannot be made"))?;
        connected.set_nonblocking(true).map_err(system("the socket cannot be made non-blocking"))?;
        Ok(Self { connected, remote: remote.into() })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.connected.as_fd()
    }

    /// Sends frames. A guest that was started again has another socket at its path, and is looked for there.
    pub(super) fn send(&self, outgoing: &mut Outgoing, queue: &Queue) -> Sent {
        match outgoing.send(self.socket(), queue) {
            Sent::Absent if self.connect().is_ok() => outgoing.send(self.socket(), queue),
            sent => sent,
        }
    }

    fn connect(&self) -> io::Result<()> {
        self.connected.connect(&self.remote)
    }
}
