use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use dumper::pool::{self, Dumper};
use executor::agent::{AgentService, Host, HostOptions};
use http_body::{Body, Frame};
use prost::bytes::{BufMut, Bytes, BytesMut};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::codegen::Service;
use tonic::codegen::http::Request;
use tonic::service::Routes;

use crate::choices::Choices;

/// Calls of both services.
const CALLS: [&str; 6] = [
    "/lumina.agent.v1.Agent/Describe",
    "/lumina.agent.v1.Agent/Test",
    "/lumina.dumper.v1.Dumper/Describe",
    "/lumina.dumper.v1.Dumper/Begin",
    "/lumina.dumper.v1.Dumper/Count",
    "/lumina.dumper.v1.Dumper/End",
];

/// Longest time of a call: a test that a client does not go on with ends with its stream.
const PATIENCE: Duration = Duration::from_secs(20);

/// Both services, until the program ends.
struct Served {
    runtime: Runtime,
    agent: Routes,
    dumper: Routes,
    _stopping: watch::Sender<()>,
}

static SERVED: OnceLock<Served> = OnceLock::new();

/// Has clients ask the agent of a host without devices, and a dumper without interfaces, for what the input describes: any messages, in any number.
///
/// # Panics
/// When a call does not end.
pub(crate) fn services(data: &[u8]) {
    let Served { runtime, agent, dumper, .. } = SERVED.get_or_init(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let options = pool::Options { interfaces: Vec::new(), threads: 1, packets: 1 };
        let dumper = Dumper::start(options).expect("it opens no interface");
        let journals = PathBuf::from("/nonexistent");
        let host =
            Host::new(HostOptions { devices: vec!["none".to_owned()], journals, ..HostOptions::default() });
        let (agent, stopping) = AgentService::new(host).routes();
        let dumper = pool::routes(Arc::new(dumper));
        Served { runtime: runtime.expect("threads can be had"), agent, dumper, _stopping: stopping }
    });
    let mut choices = Choices::of(data);
    runtime.block_on(async {
        while choices.are_left() {
            let call = CALLS[choices.below(CALLS.len() as u32) as usize];
            let messages = (0..choices.below(4)).map(|_| framed(&choices.bytes())).collect();
            let routes = if call.contains("Agent") { agent } else { dumper };
            let answered = timeout(PATIENCE, answer(routes.clone(), call, messages)).await;
            assert!(answered.is_ok(), "{call} does not end");
        }
    });
}

/// A message of gRPC: not compressed, and its length.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(message.len() as u32);
    frame.extend(message);
    frame.freeze()
}

/// Asks, and reads the answer to its end.
async fn answer(mut routes: Routes, call: &str, messages: VecDeque<Bytes>) {
    let body = tonic::body::Body::new(Frames { frames: messages, ends: true });
    let request = Request::post(call).header("content-type", "application/grpc").body(body);
    let request = request.expect("the call is a path");
    let Ok(answer) = routes.call(request).await;
    let mut body = std::pin::pin!(answer.into_body());
    while poll_fn(|cx| body.as_mut().poll_frame(cx)).await.is_some_and(|frame| frame.is_ok()) {}
}

/// The frames of a request's body.
pub(crate) struct Frames {
    pub(crate) frames: VecDeque<Bytes>,
    /// True if the body ends with the last one; else more may come, and never does.
    pub(crate) ends: bool,
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.frames.pop_front() {
            None if !self.ends => Poll::Pending,
            frame => Poll::Ready(frame.map(|frame| Ok(Frame::data(frame)))),
        }
    }
}
