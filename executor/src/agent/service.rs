//! The service: the owner of a test, and the other requests to a host.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dumper::serve::tls::Keys;
use dumper::serve::{Limits, Listener, serve};
use tokio::net::TcpListener;
use tokio::sync::{OwnedMutexGuard, mpsc, watch};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};

use super::host::Host;
use super::proto::agent_server::{Agent, AgentServer};
use super::proto::{DescribeRequest, Description, Event, Step};
use super::{describe, session};
use crate::lock::locked;

/// Default address of an agent: for programs of the same host alone.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7471));

/// Events of a test that may wait for the client.
const EVENTS_AHEAD: usize = 64;

/// Pause of the next test before it checks that the client of the last one is still connected: a client may
/// end one test and begin the next at once, and the agent may see the latter first.
const GRACE: Duration = Duration::from_millis(300);

/// Longest time for the destruction of a test whose client has gone, before the next test is refused.
const DESTRUCTION: Duration = Duration::from_secs(30);

/// The agent of a host.
pub struct AgentService {
    host: Arc<Host>,
    lease: Arc<Lease>,
}

/// One test has the host at a time.
#[derive(Default)]
struct Lease {
    held: Arc<tokio::sync::Mutex<()>>,
    /// True once the client of the test that holds it has gone.
    abandoned: Mutex<Arc<AtomicBool>>,
}

impl Lease {
    /// Takes the lease; the flag is to be raised when the client has gone.
    async fn take(&self) -> Result<(OwnedMutexGuard<()>, Arc<AtomicBool>), Status> {
        let held = || Arc::clone(&self.held).lock_owned();
        let guard = match timeout(GRACE, held()).await {
            Ok(guard) => guard,
            Err(_) if self.is_abandoned() => timeout(DESTRUCTION, held())
                .await
                .map_err(|_| Status::resource_exhausted("the last test is still being destroyed"))?,
            Err(_) => {
                return Err(Status::resource_exhausted(
                    "another test is running on this host; its stream has to end before the next one begins",
                ));
            }
        };
        let flag = Arc::new(AtomicBool::new(false));
        *locked(&self.abandoned) = Arc::clone(&flag);
        Ok((guard, flag))
    }

    fn is_abandoned(&self) -> bool {
        locked(&self.abandoned).load(Ordering::Acquire)
    }
}

impl AgentService {
    /// The agent of a host.
    #[must_use]
    pub fn new(host: Host) -> Self {
        Self { host: Arc::new(host), lease: Arc::default() }
    }

    /// The service. A test that is running ends when the sender is dropped.
    #[must_use]
    pub fn routes(self) -> (Routes, watch::Sender<()>) {
        let (stopping, stopped) = watch::channel(());
        (Routes::new(AgentServer::new(Serving { agent: self, stopped })), stopping)
    }

    /// Serves clients (with keys: orchestrators), within the limits of [`dumper::serve`], until `stop` is done, and then ends a test that is running: when this returns, nothing of it is
    /// left.
    ///
    /// # Errors
    /// The listener fails.
    pub async fn serve(
        self,
        listener: TcpListener,
        keys: Option<&Keys>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        let lease = Arc::clone(&self.lease);
        let (routes, stopping) = self.routes();
        let server = serve("lumina-agent", Listener::Tcp(listener), keys, routes, Limits::default());
        let served = tokio::select! {
            served = server => served,
            () = stop => Ok(()),
        };
        drop(stopping);
        // A driver that does not let go of its QPs does not let go of the process either.
        let _ = timeout(DESTRUCTION, Arc::clone(&lease.held).lock_owned()).await;
        served
    }
}

/// The service while it is served.
struct Serving {
    agent: AgentService,
    /// Closed when the service stops.
    stopped: watch::Receiver<()>,
}

#[tonic::async_trait]
impl Agent for Serving {
    type TestStream = ReceiverStream<Result<Event, Status>>;

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<Description>, Status> {
        let host = Arc::clone(&self.agent.host);
        let description = tokio::task::spawn_blocking(move || describe::describe(&host)).await;
        description.map(Response::new).map_err(|error| Status::internal(error.to_string()))
    }

    async fn test(&self, request: Request<Streaming<Step>>) -> Result<Response<Self::TestStream>, Status> {
        let (lease, abandoned) = self.agent.lease.take().await?;
        let (out, events) = mpsc::channel(EVENTS_AHEAD);
        let mut thread = session::spawn(Arc::clone(&self.agent.host), out, lease)
            .map_err(|error| Status::internal(format!("no room for the test: {error}")))?;
        let (mut steps, mut stopped) = (request.into_inner(), self.stopped.clone());
        tokio::spawn(async move {
            loop {
                let step = tokio::select! {
                    step = steps.message() => step,
                    _ = stopped.changed() => break,
                };
                // An end of the stream, a broken connection, or a client that does not wait for answers.
                let Ok(Some(step)) = step else { break };
                let Some(step) = step.step else { break };
                if !thread.send(step) {
                    break;
                }
            }
            abandoned.store(true, Ordering::Release);
        });
        Ok(Response::new(ReceiverStream::new(events)))
    }
}
