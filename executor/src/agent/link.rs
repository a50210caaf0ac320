//! The way of a test's steps to the agent of a host, and of its reports back.

use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Response, Status, Streaming};

use super::proto::agent_client::AgentClient;
use super::proto::{Event, Step};

/// Reasons why no report came.
#[derive(Debug)]
pub enum Silence {
    /// It took too long.
    TimedOut,
    /// The way is lost, with the reason.
    Lost(String),
    /// The agent refused, or failed.
    Status(Status),
}

/// A way to the agent of a host, for one test. The host destroys everything of the test when it is dropped.
pub trait Link {
    /// A moment of the host's time.
    type Moment: Copy;

    /// The moment after so much time.
    fn after(&self, time: Duration) -> Self::Moment;

    /// Sends a step. A failure shows where its answer is waited for.
    fn ask(&mut self, step: Step, until: Self::Moment) -> impl Future<Output = ()>;

    /// The next report; none at the end of the test.
    fn next(&mut self, until: Self::Moment) -> impl Future<Output = Result<Option<Event>, Silence>>;
}

/// A stream of gRPC.
pub struct Stream {
    steps: mpsc::Sender<Step>,
    events: Events,
}

/// A host's reports on a test.
enum Events {
    /// It has been asked for one; nothing is sent before this is polled.
    Asked(Pin<Box<dyn Future<Output = Result<Streaming<Event>, Status>> + Send>>),
    /// It has taken it, or has refused.
    Answered(Box<Result<Streaming<Event>, Status>>),
}

impl Stream {
    /// To an agent: it is asked for the test with its first step, in one round trip.
    pub(super) fn to(mut agent: AgentClient<Channel>) -> Self {
        // Each step waits for the answer to the one before.
        let (steps, stream) = mpsc::channel(1);
        let asked = async move { agent.test(ReceiverStream::new(stream)).await.map(Response::into_inner) };
        Self { steps, events: Events::Asked(Box::pin(asked)) }
    }

    /// The reports, once the host has taken the test.
    pub(super) async fn taken(&mut self) -> Result<&mut Streaming<Event>, Status> {
        if let Events::Asked(asked) = &mut self.events {
            self.events = Events::Answered(Box::new(asked.await));
        }
        match &mut self.events {
            Events::Answered(answer) => answer.as_mut().as_mut().map_err(|status| status.clone()),
            Events::Asked(_) => unreachable!("it was answered right above"),
        }
    }
}

impl Link for Stream {
    type Moment = Instant;

    fn after(&self, time: Duration) -> Instant {
        Instant::now() + time
    }

    async fn ask(&mut self, step: Step, until: Instant) {
        // Without a receiver, the stream has ended, or never began, and the answer says why.
        let _ = timeout_at(until, self.steps.send(step)).await;
    }

    async fn next(&mut self, until: Instant) -> Result<Option<Event>, Silence> {
        let next = async { self.taken().await?.message().await };
        match timeout_at(until, next).await {
            Ok(event) => event.map_err(Silence::Status),
            Err(_) => Err(Silence::TimedOut),
        }
    }
}
