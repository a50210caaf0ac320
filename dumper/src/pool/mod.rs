//! The dumper pool: hosts that keep the mirrored packets of a test (Lumina §3.4).
//!
//! A dumper ([`Dumper`], the program `lumina-dumper`) has threads that share the packets of its interfaces, and memory for the beginnings of
//! packets, which it has from the start. [`Pool`] commands any number of dumpers over gRPC, and merges their packets into a [`crate::Trace`].

mod client;
mod dumper;
mod kept;
mod losses;
mod merge;
mod service;
mod write;

mod proto {
    #![allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]
    tonic::include_proto!("lumina.dumper.v1");
}

pub use client::{Collected, Pool, PoolError, Why};
pub use dumper::{Dumper, Options, StartError};
pub use kept::{KEPT, Packet};
pub use losses::Losses;
pub use service::routes;
pub use write::{WriteError, write};
