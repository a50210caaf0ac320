//! A port on datagram unix sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::{OpenError, PortSpec, Sent, batch};

/// Two sockets: frames come in at the one that is bound, from any process that has its path, and go out
/// through the other. That one is connected, so that it shows when a full receiver has room again.
pub(super) struct UnixLink {
    bound: UnixDatagram,
    local: PathBuf,
    connected: UnixDatagram,
    remote: PathBuf,
}

impl UnixLink {
    pub(super) fn open(spec: &PortSpec, local: &Path, remote: &Path) -> Result<Self, OpenError> {
        let system = |what| move |source| OpenError::System { spec: spec.clone(), what, source };
        let connected = UnixDatagram::unbound().map_err(system("a socket cannot be made"))?;
        match std::fs::symlink_metadata(local) {
            Ok(metadata) if !metadata.file_type().is_socket() => {
                return Err(OpenError::NotASocket(spec.clone()));
            }
            // A killed switch leaves a socket without a receiver.
            Ok(_) if connected.connect(local).is_ok() => return Err(OpenError::InUse(spec.clone())),
            Ok(_) => std::fs::remove_file(local).map_err(system("the stale socket cannot be removed"))?,
            Err(_) => {}
        }
        let bound = UnixDatagram::bind(local).map_err(system("the socket cannot be bound"))?;
        // Dropped from here on if something fails, and its path with it.
        let link = Self { bound, local: local.into(), connected, remote: remote.into() };
        for socket in [&link.bound, &link.connected] {
            socket.set_nonblocking(true).map_err(system("the socket cannot be made non-blocking"))?;
        }
        Ok(link)
    }

    pub(super) fn receiver(&self) -> BorrowedFd<'_> {
        self.bound.as_fd()
    }

    pub(super) fn sender(&self) -> BorrowedFd<'_> {
        self.connected.as_fd()
    }

    /// Sends frames. A guest that was started again has another socket at its path, and is looked for there.
    pub(super) fn send(&self, frames: &[&[u8]]) -> Sent {
        match batch::send(self.sender(), frames) {
            Sent::Absent if self.connect().is_ok() => batch::send(self.sender(), frames),
            sent => sent,
        }
    }

    fn connect(&self) -> io::Result<()> {
        self.connected.connect(&self.remote)
    }
}

impl Drop for UnixLink {
    fn drop(&mut self) {
        // Nothing can be done about a path that cannot be removed; the next switch finds it stale.
        let _ = std::fs::remove_file(&self.local);
    }
}
