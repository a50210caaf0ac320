//! Where clients connect.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc::Sender;
use tokio::time::sleep;

use super::connection::{Connection, Socket};
use super::log::Kind;
use super::registry::Registry;
use super::secured::Secured;
use super::tls::Keys;

/// The pause of a listener after the system has refused a connection, as when there is no file descriptor left.
const REFUSED: Duration = Duration::from_millis(100);

/// Where clients connect.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A stream socket at a path.
    Unix(UnixListener),
}

impl Listener {
    /// The TCP address, if it is one.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// Hands out connections for which there is room. Ends when nobody takes them.
    pub(super) async fn accept(
        &self,
        registry: &Arc<Registry>,
        keys: Option<&Keys>,
        accepted: Sender<Connection>,
    ) {
        loop {
            match self.next(keys).await {
                Ok((socket, client)) => {
                    let Some(connection) = Connection::admit(socket, client, registry) else { continue };
                    if accepted.send(connection).await.is_err() {
                        return;
                    }
                }
                Err(error) => {
                    registry.log.say(Kind::Accept, &format!("no connection can be accepted: {error}"));
                    sleep(REFUSED).await;
                }
            }
        }
    }

    async fn next(&self, keys: Option<&Keys>) -> io::Result<(Socket, String)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, client) = listener.accept().await?;
                // Steps and answers are small, and each waits for the other. An error means that the connection
                // has ended.
                let _ = stream.set_nodelay(true);
                let socket = match keys {
                    Some(keys) => Socket::Tls(Box::new(Secured::accept(stream, keys.server()))),
                    None => Socket::Tcp(stream),
                };
                Ok((socket, client.to_string()))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Socket::Unix(stream), "the unix socket".to_owned()))
            }
        }
    }
}
