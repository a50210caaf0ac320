//! A switch that speaks P4Runtime and does not behave, in one way at a time.

use std::io::{Error, ErrorKind, Result as IoResult};
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use p4::proto::capture::capture_server::{Capture, CaptureServer};
use p4::proto::capture::{CollectRequest, CollectResponse, Packets, collect_response::Part};
use p4::proto::runtime::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use p4::proto::runtime::{
    CapabilitiesRequest, CapabilitiesResponse, CounterData, CounterEntry, Entity, Error as UpdateError,
    ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse, Index,
    MasterArbitrationUpdate, ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse, StreamMessageRequest, StreamMessageResponse, Uint128, WriteRequest,
    WriteResponse, entity, stream_message_request, stream_message_response,
};
use p4::proto::{Any, rpc};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic::{Code, Request, Response, Status, Streaming, async_trait};

/// What a switch does wrong. Batches are counted from 1, over all of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// Nothing.
    None,
    /// Arbitrations get no answer.
    SilentArbitration,
    /// The stream ends instead of an answer.
    EndedArbitration,
    /// Another client is and stays the primary.
    OtherPrimary,
    /// A pipeline gets no answer.
    SilentPipeline,
    /// The pipeline is refused.
    RefusedPipeline,
    /// The switch tells of a P4Info that is cut short.
    OtherP4Info,
    /// A batch gets no answer.
    SilentBatch(usize),
    /// The connection ends in the middle of a batch.
    CutBatch(usize),
    /// An update of a batch, by its place, is refused.
    RefusedUpdate(usize, usize),
    /// A batch is refused, without saying which update is at fault.
    RefusedBatch(usize),
    /// The result of each update cannot be read.
    UnreadableResults(usize),
    /// Another client becomes the primary before a batch.
    Deposed(usize),
    /// Counters trickle: a cell every 20 s, for ever.
    Trickle,
    /// Cells without an end.
    Endless,
    /// A counter that nobody asked for.
    OtherCounter,
    /// Something else than a counter.
    NoCounter,
    /// A capture of which an empty part comes every 20 s, for ever.
    TricklingCapture,
    /// A capture that ends without a summary.
    EndedCapture,
}

/// To a client's stream.
type Outlet = mpsc::Sender<Result<StreamMessageResponse, Status>>;

#[derive(Clone)]
struct Fake {
    fault: Arc<Mutex<Fault>>,
    p4info: Arc<Mutex<Vec<u8>>>,
    batches: Arc<AtomicUsize>,
    outlet: Arc<Mutex<Option<Outlet>>>,
    is_cut: Arc<AtomicBool>,
}

/// The switch, whose fault can be changed.
pub(super) struct Switch(Fake);

impl Switch {
    pub(super) fn serve(path: &Path, fault: Fault) -> Self {
        let fake = Fake {
            fault: Arc::new(Mutex::new(fault)),
            p4info: Arc::default(),
            batches: Arc::default(),
            outlet: Arc::default(),
            is_cut: Arc::default(),
        };
        let is_cut = fake.is_cut.clone();
        let incoming = UnixListenerStream::new(UnixListener::bind(path).unwrap());
        let incoming = incoming.map(move |stream| {
            // The next connection is whole again.
            is_cut.store(false, Ordering::Relaxed);
            stream.map(|stream| Wire { stream, is_cut: is_cut.clone() })
        });
        let server = Server::builder()
            .add_service(P4RuntimeServer::new(fake.clone()))
            .add_service(CaptureServer::new(fake.clone()))
            .serve_with_incoming(incoming);
        tokio::spawn(async { server.await.unwrap() });
        Self(fake)
    }

    /// Behaves otherwise from now on.
    pub(super) fn set(&self, fault: Fault) {
        *self.0.fault.lock().unwrap() = fault;
        self.0.batches.store(0, Ordering::Relaxed);
    }

    /// Batches that came.
    pub(super) fn batches(&self) -> usize {
        self.0.batches.load(Ordering::Relaxed)
    }
}

impl Fake {
    fn fault(&self) -> Fault {
        *self.fault.lock().unwrap()
    }
}

/// Waits for ever.
async fn silence<T>() -> T {
    std::future::pending().await
}

fn notice(election_id: Option<Uint128>, code: Code) -> StreamMessageResponse {
    let status = rpc::Status { code: code.into(), ..Default::default() };
    let update =
        MasterArbitrationUpdate { device_id: 1, election_id, status: Some(status), ..Default::default() };
    StreamMessageResponse { update: Some(stream_message_response::Update::Arbitration(update)) }
}

fn cell(counter_id: u32, index: i64) -> ReadResponse {
    let data = Some(CounterData { byte_count: 0, packet_count: 1 });
    let entry = CounterEntry { counter_id, index: Some(Index { index }), data };
    ReadResponse { entities: vec![Entity { entity: Some(entity::Entity::CounterEntry(entry)) }] }
}

/// The counter of packets that came in, of our P4Info.
const INGRESS: u32 = 0x1200_0001;

type Boxed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The same message every 20 s.
fn trickle<T: Clone + Send + 'static>(message: T) -> Boxed<T> {
    let messages = tokio_stream::iter(std::iter::repeat(message));
    Box::pin(messages.then(|message| async {
        sleep(Duration::from_secs(20)).await;
        Ok(message)
    }))
}

#[async_trait]
impl P4Runtime for Fake {
    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        let batch = 1 + self.batches.fetch_add(1, Ordering::Relaxed);
        let results = |bad: usize, good: &[u8], refused: &[u8]| {
            let updates = request.get_ref().updates.len();
            let detail = |at| Any {
                type_url: "type.googleapis.com/p4.v1.Error".to_owned(),
                value: if at == bad { refused.to_vec() } else { good.to_vec() },
            };
            // As many as find room in a header, which is what servers do.
            let details = (0..updates.min(40)).map(detail).collect();
            let status = rpc::Status { code: Code::Unknown.into(), details, ..Default::default() };
            Status::with_details(Code::Unknown, "", status.encode_to_vec().into())
        };
        match self.fault() {
            Fault::SilentBatch(at) if at == batch => silence().await,
            Fault::CutBatch(at) if at == batch => {
                self.is_cut.store(true, Ordering::Relaxed);
                Ok(Response::new(WriteResponse {}))
            }
            Fault::RefusedUpdate(at, place) if at == batch => {
                let refused = UpdateError {
                    canonical_code: Code::ResourceExhausted.into(),
                    message: "full".to_owned(),
                    ..Default::default()
                };
                Err(results(place, &[], &refused.encode_to_vec()))
            }
            Fault::UnreadableResults(at) if at == batch => Err(results(0, &[0xff], &[0xff; 9])),
            Fault::RefusedBatch(at) if at == batch => Err(Status::resource_exhausted("no memory")),
            Fault::Deposed(at) if at == batch => {
                let outlet = self.outlet.lock().unwrap().clone().unwrap();
                let other = Some(Uint128 { high: 1, low: 7 });
                outlet.try_send(Ok(notice(other, Code::AlreadyExists))).unwrap();
                Err(Status::permission_denied("not the primary"))
            }
            _ => Ok(Response::new(WriteResponse {})),
        }
    }

    type ReadStream = Boxed<ReadResponse>;

    async fn read(&self, _: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let messages: Self::ReadStream = match self.fault() {
            Fault::Trickle => trickle(cell(INGRESS, 1)),
            Fault::Endless => {
                let many = ReadResponse { entities: vec![cell(INGRESS, 1).entities.remove(0); 5_000] };
                Box::pin(tokio_stream::iter(std::iter::repeat_with(move || Ok(many.clone()))))
            }
            Fault::OtherCounter => Box::pin(tokio_stream::once(Ok(cell(77, 1)))),
            Fault::NoCounter => {
                Box::pin(tokio_stream::once(Ok(ReadResponse { entities: vec![Entity::default()] })))
            }
            _ => Box::pin(tokio_stream::once(Ok(cell(INGRESS, 1)))),
        };
        Ok(Response::new(messages))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        match self.fault() {
            Fault::SilentPipeline => silence().await,
            Fault::RefusedPipeline => Err(Status::invalid_argument("of another target")),
            _ => {
                if let Some(config) = request.into_inner().config {
                    *self.p4info.lock().unwrap() = config.p4info;
                }
                Ok(Response::new(SetForwardingPipelineConfigResponse {}))
            }
        }
    }

    async fn get_forwarding_pipeline_config(
        &self,
        _: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, Status> {
        let mut p4info = self.p4info.lock().unwrap().clone();
        if self.fault() == Fault::OtherP4Info {
            p4info.clear();
        }
        let config = Some(ForwardingPipelineConfig { p4info, ..Default::default() });
        Ok(Response::new(GetForwardingPipelineConfigResponse { config }))
    }

    type StreamChannelStream = ReceiverStream<Result<StreamMessageResponse, Status>>;

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (outlet, responses) = mpsc::channel(4);
        *self.outlet.lock().unwrap() = Some(outlet.clone());
        let (mut requests, fault) = (request.into_inner(), self.fault());
        tokio::spawn(async move {
            while let Some(Ok(request)) = requests.next().await {
                let Some(stream_message_request::Update::Arbitration(asked)) = request.update else { return };
                let code = match fault {
                    Fault::SilentArbitration => silence().await,
                    Fault::EndedArbitration => return,
                    Fault::OtherPrimary => Code::AlreadyExists,
                    _ => Code::Ok,
                };
                outlet.send(Ok(notice(asked.election_id, code))).await.unwrap();
            }
        });
        if fault == Fault::EndedArbitration {
            *self.outlet.lock().unwrap() = None;
        }
        Ok(Response::new(ReceiverStream::new(responses)))
    }

    async fn capabilities(
        &self,
        _: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        Ok(Response::new(CapabilitiesResponse::default()))
    }
}

#[async_trait]
impl Capture for Fake {
    type CollectStream = Boxed<CollectResponse>;

    async fn collect(&self, _: Request<CollectRequest>) -> Result<Response<Self::CollectStream>, Status> {
        let empty = CollectResponse { part: Some(Part::Packets(Packets::default())) };
        let messages: Self::CollectStream = match self.fault() {
            Fault::TricklingCapture => trickle(empty),
            _ => Box::pin(tokio_stream::once(Ok(empty))),
        };
        Ok(Response::new(messages))
    }
}

/// A connection that can be cut.
struct Wire {
    stream: UnixStream,
    is_cut: Arc<AtomicBool>,
}

impl Wire {
    fn check(&self) -> IoResult<()> {
        if self.is_cut.load(Ordering::Relaxed) {
            Err(Error::from(ErrorKind::ConnectionReset))
        } else {
            Ok(())
        }
    }
}

impl Connected for Wire {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<IoResult<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<IoResult<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IoResult<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IoResult<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
