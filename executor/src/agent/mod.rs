//! The agent of a host: it drives the host's RDMA stack, for an orchestrator somewhere else. The same program runs in
//! the guests of the VM testbed and on physical hosts.
//!
//! `proto/agent.proto` describes their messages. A test is a stream, and the stream is the lease: a thread of
//! its own (module `session`) owns everything that the test makes, takes the stream's steps, and destroys it
//! all when the stream ends, for whatever reason.

mod bounds;
mod client;
mod convert;
mod describe;
mod families;
pub(crate) mod frames;
mod host;
mod journal;
mod kept;
mod layout;
mod limits;
mod link;
mod parameters;
mod peer;
mod port;
mod poster;
mod refusal;
mod resources;
mod roots;
mod running;
mod serve_port;
mod service;
mod session;
mod steps;
mod sysfs;
mod tc;
mod test;
mod traffic;
mod value;

/// The messages of `proto/agent.proto`.
#[allow(missing_docs, unused_qualifications, clippy::all, clippy::pedantic, reason = "generated")]
pub mod proto {
    tonic::include_proto!("lumina.agent.v1");
}

use sha2::{Digest as _, Sha256};

pub use client::AgentClient;
pub use families::{Counter, FAMILIES, Family, Group, Judged, Place, Radix, Setting};
pub use host::{Host, HostOptions};
pub use link::{Link, Silence, Stream};
pub(crate) use peer::Peer;
pub use peer::{AgentError, Timeouts};
pub use roots::{Root, Roots};
pub use running::{Failure, Finished, Outstanding, Prepare, PreparedHost, RunningTest, Settled};
pub use serve_port::serve_port;
pub use service::{AgentService, DEFAULT_ADDRESS};

/// Version of the protocol between agents and this program: the beginning of the checksum of its messages.
#[must_use]
pub fn protocol() -> String {
    let digest = Sha256::digest(include_bytes!("../../proto/agent.proto"));
    digest[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}
