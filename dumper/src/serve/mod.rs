//! gRPC services within limits: the dumper's, the switch's and the host agent's.
//!
//! Over TLS they serve orchestrators alone ([`tls`]), in plaintext everybody who reaches them ([`Access`]), so each must bear any
//! client: the number of connections, the streams of each, the
//! size of a message, and the memory and time of unfinished messages have bounds, and so has the time that a
//! connection may take for its handshake or stay idle. Where there is no room, the connection without a request in
//! service for the longest time makes way for a new one: clients that are served are never cut off for others.

mod access;
mod address;
mod bound;
mod connection;
mod dial;
mod listener;
mod log;
mod message;
mod metering;
mod registry;
mod request;
mod secured;
pub mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::transport::Server;

pub use access::{Access, AccessError};
pub use address::{Address, AddressError};
pub use bound::{Bound, ListenError};
pub use dial::{DialError, Dialled, dial};
pub use listener::Listener;

use log::Log;
use metering::Metering;
use registry::Registry;
use tls::Keys;

/// Limits of the clients of a service. The programs have the default; tests have shorter times.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections that are open at a time.
    pub connections: usize,
    /// Most bytes of a message, and of all unfinished messages of a connection.
    pub message_bytes: usize,
    /// Time of a connection for the preface and the settings of HTTP/2.
    pub handshake: Duration,
    /// Time of a request for each message, its first one included.
    pub message: Duration,
    /// Time that a connection may stay open without a request.
    pub idle: Duration,
}

/// An orchestrator has one connection to an agent or a switch. Several may take turns; with [`MESSAGE_BYTES`] each, all
/// unfinished messages take at most 64 MiB.
const CONNECTIONS: usize = 32;

/// Streams of a connection. An orchestrator has two at a time: a test and a question, an arbitration and a call.
const STREAMS: u32 = 8;

/// Bytes of a message. The largest that is of use: a test file has at most 1 MiB (`corpus::MAX_FILE_BYTES`), the ends
/// of 10 000 connections take 0.7 MB, and a Write of the orchestrator 0.3 MB.
pub const MESSAGE_BYTES: usize = 2 << 20;

/// Bytes that a client may send ahead of the service, for all streams of a connection: the window that every HTTP/2
/// connection begins with (RFC 9113, 6.9.2).
const WINDOW: u32 = 65_535;

/// Time of a client for a handshake or a message: an emulated guest on a busy machine stands still for seconds
/// at times.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time that a connection may stay open without a request: longer than a campaign's pauses between tests. A client
/// connects again with its next request.
const IDLE: Duration = Duration::from_secs(600);

/// Interval of the pings on a silent connection: a client whose host vanished must not keep a test or
/// stay the primary of a switch.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS,
            message_bytes: MESSAGE_BYTES,
            handshake: PATIENCE,
            message: PATIENCE,
            idle: IDLE,
        }
    }
}

/// Limits and reach of a service, for the help of its program.
pub const HELP: &str = "\
With --keys only orchestrators of the same testbed are served, over TLS (docs/physical.md). Without, everybody of this machine \
is, and with --insecure everybody who reaches the address. Clients have limits: 32 connections (a new one takes the place of the one that was \
without a request for the longest time), 8 streams on each, 2 MiB for a message and for all unfinished messages of a \
connection, 30 s for the handshake and for each message, 10 minutes without a request. A line on stderr says when a \
client meets one of them.";

/// Serves clients until this future is dropped: with keys orchestrators alone. `program` begins the lines on stderr.
///
/// # Errors
/// The service fails as a whole; no client can make it do so.
pub async fn serve(
    program: &'static str,
    listener: Listener,
    keys: Option<&Keys>,
    routes: Routes,
    limits: Limits,
) -> Result<(), tonic::transport::Error> {
    let log = Arc::new(Log::new(program));
    if let Some(warning) = listener.address().filter(|_| keys.is_none()).and_then(reach_warning) {
        log.warn(&warning);
    }
    let registry = Arc::new(Registry::new(limits, log));
    // A connection is handed over as soon as it is accepted.
    let (accepted, incoming) = mpsc::channel(1);
    let server = Server::builder()
        .max_concurrent_streams(STREAMS)
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(WINDOW)
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(PATIENCE))
        .layer(Metering)
        .add_routes(routes)
        .serve_with_incoming(ReceiverStream::new(incoming).map(Ok::<_, std::io::Error>));
    tokio::select! {
        served = server => served,
        () = listener.accept(&registry, keys, accepted) => Ok(()),
        () = registry.watch() => Ok(()),
    }
}

/// An error with its causes in one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Waits for SIGTERM or SIGINT, which end a program of a testbed; they are heard from the call on.
///
/// # Errors
/// The system refuses.
pub fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    let [mut terminate, mut interrupt] = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Ends this process as soon as the one that started it does, however it ends.
///
/// # Errors
/// That cannot be had, or the process is gone already.
pub fn die_with(parent: Pid) -> Result<(), String> {
    set_pdeathsig(Signal::SIGKILL).map_err(|error| format!("--die-with-parent cannot be had: {error}"))?;
    // It may have died before it was watched.
    if getppid() == parent { Ok(()) } else { Err("the process that started this one is gone already".into()) }
}

/// A warning where an address stands for all of the host's.
fn reach_warning(address: SocketAddr) -> Option<String> {
    address.ip().to_canonical().is_unspecified().then(|| {
        format!(
            "listening on {address}, which is every address of this host: gRPC in plaintext and without authentication \
             can be reached from every network that the host is in. Name one address of a management network instead, \
             as in --listen 192.0.2.1:{}, with --keys",
            address.port()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_stand_for_all_are_warned_of() {
        for (address, is_warned) in [
            ("0.0.0.0:1", true),
            ("[::]:1", true),
            ("[::ffff:0.0.0.0]:1", true),
            ("127.0.0.1:1", false),
            ("[::1]:1", false),
            ("192.0.2.1:1", false),
        ] {
            assert_eq!(reach_warning(address.parse().unwrap()).is_some(), is_warned, "{address}");
        }
    }

    #[test]
    fn the_help_has_the_limits() {
        let Limits { connections, message_bytes, handshake, message, idle } = Limits::default();
        assert_eq!(handshake, message);
        for number in [
            format!("{connections} connections"),
            format!("{STREAMS} streams"),
            format!("{} MiB for a message", message_bytes >> 20),
            format!("{} s for the handshake", handshake.as_secs()),
            format!("{} minutes without a request", idle.as_secs() / 60),
        ] {
            assert!(HELP.contains(&number), "{number}");
        }
    }
}
