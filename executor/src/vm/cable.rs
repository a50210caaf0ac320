//! Where a guest's NIC is connected.

use std::path::PathBuf;

/// Cable of a guest's NIC.
#[derive(Clone, Debug)]
pub enum Cable {
    /// Sockets, one frame a datagram.
    Sockets {
        /// Socket at which the NIC receives.
        local: PathBuf,
        /// Socket to which it sends.
        remote: PathBuf,
    },
    /// A tap device.
    Tap(String),
}
