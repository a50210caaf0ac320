//! The messages of a request, metered: gRPC's framing is followed, and nothing of a message is kept here.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::{Frame, SizeHint};
use prost::bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};
use tonic::Status;
use tonic::body::Body;

use super::request::Request;

/// Bytes of a message's header: a flag, and its length.
const HEADER: usize = 5;

/// The body of a request. It ends in an error where a message is too long, finds no room or takes too long.
pub(super) struct Metered {
    body: Body,
    request: Arc<Request>,
    /// Bytes of the current message that were received, its header included.
    received: usize,
    /// Its length, from the last four bytes of the header.
    length: u32,
    /// True after the first complete message.
    has_sent: bool,
    /// When the current message must be complete.
    deadline: Pin<Box<Sleep>>,
    is_refused: bool,
}

impl Metered {
    pub(super) fn new(body: Body, request: Arc<Request>) -> Self {
        let deadline = Box::pin(sleep(request.state().limits.message));
        Self { body, request, received: 0, length: 0, has_sent: false, deadline, is_refused: false }
    }

    /// Takes the next bytes of the body.
    fn take(&mut self, mut bytes: &[u8]) -> Result<(), Status> {
        while let Some(first) = bytes.first() {
            if self.received < HEADER {
                if self.received == 0 {
                    self.length = 0;
                    let until = Instant::now() + self.request.state().limits.message;
                    self.deadline.as_mut().reset(until);
                } else {
                    self.length = self.length << 8 | u32::from(*first);
                }
                self.hold(1)?;
                bytes = &bytes[1..];
                self.check_length()?;
            } else {
                let part = bytes.len().min(self.end() - self.received);
                self.hold(part)?;
                bytes = &bytes[part..];
            }
            if self.received >= HEADER && self.received == self.end() {
                self.release();
                self.has_sent = true;
                self.request.begin_service();
            }
        }
        Ok(())
    }

    const fn end(&self) -> usize {
        HEADER + self.length as usize
    }

    fn hold(&mut self, bytes: usize) -> Result<(), Status> {
        if !self.request.state().take_unfinished(bytes) {
            let limit = self.request.state().limits.message_bytes;
            return Err(Status::resource_exhausted(format!(
                "the unfinished messages of this connection are beyond {limit} bytes; send one after the other"
            )));
        }
        self.received += bytes;
        Ok(())
    }

    fn check_length(&self) -> Result<(), Status> {
        let limit = self.request.state().limits.message_bytes;
        // As long as the header is not complete, the length is smaller than it will be.
        if self.end() > limit {
            return Err(Status::out_of_range(format!(
                "the message is longer than {limit} bytes, which is the limit"
            )));
        }
        Ok(())
    }

    fn release(&mut self) {
        self.request.state().return_unfinished(self.received);
        self.received = 0;
    }

    /// True while the client has to send something.
    const fn is_awaited(&self) -> bool {
        self.received > 0 || !self.has_sent
    }

    fn refuse(&mut self, status: Status) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.request.state().say_refused(status.message());
        self.is_refused = true;
        self.release();
        self.body = Body::empty();
        Poll::Ready(Some(Err(status)))
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        self.release();
    }
}

impl http_body::Body for Metered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.is_refused {
            return Poll::Ready(None);
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => match frame.data_ref().map_or(Ok(()), |bytes| self.take(bytes)) {
                Ok(()) => Poll::Ready(Some(Ok(frame))),
                Err(status) => self.refuse(status),
            },
            Poll::Pending if self.is_awaited() && self.deadline.as_mut().poll(cx).is_ready() => {
                let after = self.request.state().limits.message;
                self.refuse(Status::deadline_exceeded(format!("it is not complete after {after:?}")))
            }
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_refused || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
