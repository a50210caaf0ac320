//! Guests in virtual time: user-mode kernels (`ARCH=um`) whose clock is a calendar of ours, so that the same test gives the
//! same packets at the same nanoseconds.
//!
//! [`Site`] is the testbed; `world` has everything with a place in time: the guests, the network between them, the calendar.

mod capabilities;
pub mod check;
mod codes;
mod core;
mod coverage;
mod guest;
mod host;
mod image;
mod lanes;
mod link;
mod mode;
mod net;
mod pair;
mod port;
mod shared;
mod site;
#[cfg(all(test, feature = "uml"))]
mod tests;
mod time;
mod vhost;
mod watchdog;
mod wire;
mod world;

use std::io;

pub use capabilities::capabilities;
pub use codes::{Codes, KernelCode, KernelShares};
pub use coverage::{Code, Share, Shares, Uncovered};
pub use image::{Build, Cache, Image, Source};
pub use lanes::Campaigns;
pub use mode::Mode;
pub use site::{Held, Site};

use self::host::Host;
use crate::guests::GuestError;

/// Failures of guests in virtual time.
#[derive(Debug, thiserror::Error)]
enum UmlError {
    /// A guest ended, or is not one of ours.
    #[error("guest {}: {what}", host.number())]
    Ended {
        host: Host,
        what: String,
        /// The end of its console.
        said: String,
    },
    /// The QPs of a test retransmit for ever.
    #[error("the test has {0} packets")]
    TooManyPackets(usize),
    /// A socket or the memory of a guest.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<UmlError> for GuestError {
    fn from(error: UmlError) -> Self {
        match error {
            UmlError::Ended { host, what, said } => Self::Guest { host: host.number(), why: what, said },
            error @ (UmlError::TooManyPackets(_) | UmlError::Io(_)) => {
                Self::Folder(format!("the guests: {error}"))
            }
        }
    }
}
