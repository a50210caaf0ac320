//! The limits around a service: each request is counted, and its messages are metered.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::{Frame, SizeHint};
use prost::bytes::Bytes;
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

use super::message::Metered;
use super::registry::State;
use super::request::Request;

/// Puts the limits around a service.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metering;

impl<S> Layer<S> for Metering {
    type Service = MeteredService<S>;

    fn layer(&self, service: S) -> MeteredService<S> {
        MeteredService { service }
    }
}

/// A service within limits.
#[derive(Clone, Debug)]
pub(super) struct MeteredService<S> {
    service: S,
}

impl<S> Service<http::Request<Body>> for MeteredService<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let Some(state) = request.extensions().get::<Arc<State>>().map(Arc::clone) else {
            return Box::pin(self.service.call(request));
        };
        let open = Request::begin(state);
        let metered = request.map(|body| Body::new(Metered::new(body, Arc::clone(&open))));
        let answer = self.service.call(metered);
        Box::pin(async move {
            let answer = answer.await?;
            Ok(answer.map(|body| Body::new(Answer { body, _request: open })))
        })
    }
}

/// The body of an answer: the request ends with it.
struct Answer {
    body: Body,
    _request: Arc<Request>,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
