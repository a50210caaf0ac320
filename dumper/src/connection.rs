//! Connections: both ends, as the hosts report them to the injector (Lumina Figure 2).

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::Psn;

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// IP address.
    pub ip: IpAddr,
    /// QP number, 24 bits; a bare capture does not show the QPN of an end that no packet was sent to.
    pub qpn: Option<u32>,
    /// Initial PSN of the requests that this end sends, where known.
    pub initial_psn: Option<Psn>,
}

impl Endpoint {
    /// An end of which only the address is known.
    pub const fn new(ip: IpAddr) -> Self {
        Self { ip, qpn: None, initial_psn: None }
    }
}

/// A reliable connection. The requester is the end that posts the test's verbs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub struct Connection {
    /// The end that posts Sends, Writes and Reads.
    pub requester: Endpoint,
    /// The other end.
    pub responder: Endpoint,
}
