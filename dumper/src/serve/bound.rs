//! A listener at an address.

use std::io;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, UnixStream};

use super::{Address, Listener};

/// A program that cannot listen at its address.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The system refused.
    #[error("cannot listen at {address}: {source}")]
    System {
        /// The address.
        address: Address,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Another process listens there.
    #[error("cannot listen at {0}: another process does")]
    InUse(Address),
    /// There is a file at the path of the socket.
    #[error("cannot listen at {0}: there is a file at this path that is no socket")]
    NotASocket(Address),
}

/// A listener, and where it listens.
pub struct Bound {
    /// The address, with the port that the system has chosen.
    pub address: Address,
    /// The listener.
    pub listener: Listener,
    /// Removes the socket's path in the end.
    _path: Option<OwnedPath>,
}

impl Bound {
    /// Listens at an address; with port 0 the system chooses one.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub async fn listen(address: &Address) -> Result<Self, ListenError> {
        let error = |source| ListenError::System { address: address.clone(), source };
        match address {
            Address::Tcp(wanted) => {
                let listener = TcpListener::bind(wanted).await.map_err(error)?;
                let address = Address::Tcp(listener.local_addr().map_err(error)?);
                Ok(Self { address, listener: Listener::Tcp(listener), _path: None })
            }
            Address::Unix(path) => {
                remove_stale(address, path).await?;
                let listener = UnixListener::bind(path).map_err(error)?;
                let listener = Listener::Unix(listener);
                Ok(Self { address: address.clone(), listener, _path: Some(OwnedPath(path.clone())) })
            }
        }
    }
}

/// Removes the socket that a killed program left behind.
async fn remove_stale(address: &Address, path: &Path) -> Result<(), ListenError> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(ListenError::NotASocket(address.clone()));
    }
    if UnixStream::connect(path).await.is_ok() {
        return Err(ListenError::InUse(address.clone()));
    }
    std::fs::remove_file(path).map_err(|source| ListenError::System { address: address.clone(), source })
}

/// A path that is removed when its owner goes.
struct OwnedPath(PathBuf);

impl Drop for OwnedPath {
    fn drop(&mut self) {
        // The next program finds it stale.
        let _ = std::fs::remove_file(&self.0);
    }
}
