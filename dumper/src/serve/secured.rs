//! A connection in TLS, whose handshake is part of its first reading: it takes the time that the connection has for it, and no
//! other connection waits.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// A connection of a client that has to show a certificate.
pub(super) enum Secured {
    /// The handshake is not over.
    Accepting(Box<Accept<TcpStream>>),
    /// The client is an orchestrator.
    Open(Box<TlsStream<TcpStream>>),
    /// The handshake failed.
    Failed,
}

impl Secured {
    pub(super) fn accept(stream: TcpStream, server: Arc<ServerConfig>) -> Self {
        Self::Accepting(Box::new(TlsAcceptor::from(server).accept(stream)))
    }

    /// The stream, after the handshake.
    fn open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut TlsStream<TcpStream>>>> {
        if let Self::Accepting(accept) = self {
            match ready!(Pin::new(accept).poll(cx)) {
                Ok(stream) => *self = Self::Open(Box::new(stream)),
                Err(error) => {
                    *self = Self::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(match self {
            Self::Open(stream) => Ok(Pin::new(stream.as_mut())),
            Self::Accepting(_) | Self::Failed => Err(io::ErrorKind::ConnectionAborted.into()),
        })
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.open(cx))?.poll_read(cx, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.open(cx))?.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.open(cx))?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.open(cx))?.poll_shutdown(cx)
    }
}
