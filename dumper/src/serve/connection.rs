//! A connection that can be closed from outside, and that knows when its handshake is over.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::oneshot;
use tonic::transport::server::Connected;

use super::registry::{Registry, State};
use super::secured::Secured;

/// A socket of any kind.
pub(super) enum Socket {
    Tcp(TcpStream),
    Tls(Box<Secured>),
    Unix(UnixStream),
}

/// A connection of a service.
pub(super) struct Connection {
    socket: Socket,
    registry: Arc<Registry>,
    state: Arc<State>,
    /// Ends when the connection is to be closed.
    cut: oneshot::Receiver<()>,
    is_cut: bool,
    handshake: Handshake,
}

impl Connection {
    /// A connection, if there is room for it.
    pub(super) fn admit(socket: Socket, client: String, registry: &Arc<Registry>) -> Option<Self> {
        let (state, cut) = registry.admit(client)?;
        let registry = Arc::clone(registry);
        Some(Self { socket, registry, state, cut, is_cut: false, handshake: Handshake::default() })
    }

    /// The socket, unless the connection is to be closed.
    fn socket(&mut self, cx: &mut Context<'_>) -> io::Result<&mut Socket> {
        self.is_cut = self.is_cut || Pin::new(&mut self.cut).poll(cx).is_ready();
        if self.is_cut {
            return Err(io::Error::new(ErrorKind::ConnectionAborted, "closed by a limit of the service"));
        }
        Ok(&mut self.socket)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.registry.leave(&self.state);
    }
}

impl Connected for Connection {
    type ConnectInfo = Arc<State>;

    fn connect_info(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = match self.socket(cx)? {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Socket::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
            Socket::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        if let (Poll::Ready(Err(error)), Socket::Tls(_)) = (&read, &self.socket)
            && !self.handshake.is_over()
            // A client that only looks whether it would be served says no more.
            && error.kind() != ErrorKind::UnexpectedEof
        {
            self.state.say_not_secured(error);
        }
        if let Some(bytes) = buffer.filled().get(before..).filter(|_| !self.handshake.is_over())
            && self.handshake.take(bytes)
        {
            self.state.is_established.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.socket(cx)? {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Socket::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            Socket::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.socket(cx)? {
            Socket::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// Bytes of HTTP/2's preface (RFC 9113, 3.4). The server checks them; here they are counted.
const PREFACE: usize = 24;

/// Bytes of a frame's header (RFC 9113, 4.1).
const FRAME_HEADER: usize = 9;

/// Bytes of a handshake that a client has sent: the preface, and a first frame, which is SETTINGS.
#[derive(Debug, Default)]
struct Handshake {
    received: usize,
    /// Bytes of the first frame, from the three that say so.
    payload: usize,
}

impl Handshake {
    /// Takes the next bytes; whether they end the handshake.
    fn take(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            if (PREFACE..PREFACE + 3).contains(&self.received) {
                self.payload = self.payload << 8 | usize::from(*byte);
            }
            self.received += 1;
            if self.is_over() {
                return true;
            }
        }
        false
    }

    const fn is_over(&self) -> bool {
        self.received >= PREFACE + FRAME_HEADER + self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_ends_with_its_first_frame() {
        let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        // A SETTINGS frame with one setting, and the header of what follows.
        sent.extend([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100, 0, 0]);
        let end = 24 + 9 + 6;
        for size in [1, 7, sent.len()] {
            let mut handshake = Handshake::default();
            let ended = sent.chunks(size).position(|bytes| handshake.take(bytes));
            assert_eq!(ended, Some((end - 1) / size), "{size}");
        }
        assert!(!Handshake::default().take(&sent[..end - 1]));
    }
}
