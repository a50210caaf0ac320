//! RDMA verbs: a thin layer on libibverbs, which is found at run time, so that nothing is needed to build.
//!
//! Everything is owned: a [`Qp`] keeps its [`Cq`] and its [`Pd`], these keep their [`Context`], and each is destroyed
//! when the last that needs it has gone. The types of C are laid out in `sys`; `post_send`, `post_recv` and `poll_cq`
//! are not exported by the library but called through the context, so those layouts matter, and are tested against
//! the header (feature `c-headers`).
#![allow(unsafe_code, reason = "C library and ioctl: this folder is the only one that calls them")]

mod completion;
mod context;
pub mod ethtool;
#[cfg(all(test, feature = "c-headers"))]
mod layout;
mod library;
mod memory;
mod queue_pair;
mod sys;

use std::io;

pub use completion::{Channel, Cq, WorkCompletion};
pub use context::{AsyncEvent, Context, DeviceLimits, Gid, GidType, PortState};
pub use library::{DeviceList, Verbs};
pub use memory::{Access, Mr, Pd};
pub use queue_pair::{Operation, Qp, QpCapacity, RTS, Receive, Remote, Request, ToRtr, ToRts};

/// Errors of calls of the RDMA stack.
#[derive(Debug, thiserror::Error)]
pub enum VerbsError {
    /// libibverbs is not there.
    #[error(
        "{library} cannot be loaded ({reason}); install it (Debian: apt-get install libibverbs1 ibverbs-providers)"
    )]
    NotLoaded {
        /// Name of the library.
        library: &'static str,
        /// Message of the loader.
        reason: String,
    },
    /// A function is missing.
    #[error("libibverbs has no {symbol}; version 32 of rdma-core or a later one is needed")]
    TooOld {
        /// Its name.
        symbol: &'static str,
    },
    /// There is no such device.
    #[error("there is no RDMA device {name}")]
    NoDevice {
        /// Its name.
        name: String,
    },
    /// A call failed.
    #[error("{call}: {source}")]
    Call {
        /// The function.
        call: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
}
