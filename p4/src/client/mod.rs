//! The orchestrator's side of a software switch: writes a test's tables over P4Runtime, and collects the
//! capture.

mod captured;
mod error;

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

pub use captured::{Captured, PortLosses, PortUnreadable};
pub use error::{SwitchError, Why};

use crate::entries::{self, p4info};
use crate::proto::capture::capture_client::CaptureClient;
use crate::proto::capture::{CollectRequest, Summary, collect_response::Part};
use crate::proto::runtime::p4_runtime_client::P4RuntimeClient;
use crate::proto::runtime::{
    CounterEntry, Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Uint128, Update,
    WriteRequest, entity, set_forwarding_pipeline_config_request::Action, stream_message_request,
    stream_message_response, update, write_request::Atomicity,
};
use crate::server::{DEVICE_ID, uint128};
use crate::switch::PORT_NUMBERS;
use crate::{Address, Tables};
use captured::Collector;

/// Longest wait for a call, and for the next message of a stream. Calls take milliseconds; those with a
/// million entries take seconds on a busy machine.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Updates of one Write: some 300 KB.
const WRITE_CHUNK: usize = 2_000;

/// A switch of which this client is the primary, as long as it lives and no other takes its place.
#[derive(Debug)]
pub struct SwitchClient {
    address: Address,
    runtime: P4RuntimeClient<Channel>,
    capture: CaptureClient<Channel>,
    election_id: Uint128,
    /// Both ends of the stream that makes it primary: it ends with them.
    _arbitration: (mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>),
}

impl SwitchClient {
    /// Connects and becomes the primary. A client that connected earlier is one no more: the last one counts.
    ///
    /// # Errors
    /// When the switch cannot be reached, does not answer in time, or has a primary with a higher identifier.
    pub async fn connect(address: &Address) -> Result<Self, SwitchError> {
        let at = |why| SwitchError { address: address.clone(), doing: "connecting", why };
        let uri = match address {
            Address::Tcp(address) => format!("http://{address}"),
            Address::Unix(path) => format!("unix:{}", path.display()),
        };
        let endpoint = Endpoint::from_shared(uri).map_err(|error| at(Why::Lost(error::chain(&error))))?;
        let connected = within(endpoint.connect()).await.map_err(at)?;
        let channel = connected.map_err(|error| at(Why::Lost(error::chain(&error))))?;
        let (runtime, capture) = (P4RuntimeClient::new(channel.clone()), CaptureClient::new(channel));
        // Nanoseconds since 1970, so that the latest client has the highest.
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let election_id = uint128(since_1970.as_nanos().max(1));
        let arbitration = arbitrate(runtime.clone(), election_id).await.map_err(at)?;
        Ok(Self { address: address.clone(), runtime, capture, election_id, _arbitration: arbitration })
    }

    /// Replaces the tables of the switch by those of a test, at once: registers, mirror sequence numbers and
    /// counters start again, with an empty capture. `tables` are as [`translate`](crate::translate()) made
    /// them.
    ///
    /// # Errors
    /// When the switch refuses or is lost. Then it has the tables that it had before, or (where the answer to the last
    /// step was lost) the new ones.
    pub async fn program(&mut self, tables: &Tables) -> Result<(), SwitchError> {
        self.write_all(tables).await.map_err(|why| self.error("writing tables", why))
    }

    async fn write_all(&mut self, tables: &Tables) -> Result<(), Why> {
        let config = ForwardingPipelineConfig { p4info: Some(p4info()), ..Default::default() };
        self.set_pipeline(Action::VerifyAndSave, Some(config)).await?;
        let mut entries = entries::items(tables).into_iter();
        loop {
            let chunk = entries.by_ref().take(WRITE_CHUNK);
            let updates: Vec<Update> =
                chunk.map(|entry| entries::update(entry, update::Type::Insert)).collect();
            if updates.is_empty() {
                break;
            }
            let request = WriteRequest {
                device_id: DEVICE_ID,
                election_id: Some(self.election_id),
                updates,
                atomicity: Atomicity::DataplaneAtomic.into(),
                ..Default::default()
            };
            answer(self.runtime.write(request)).await?;
        }
        self.set_pipeline(Action::Commit, None).await
    }

    async fn set_pipeline(
        &mut self,
        action: Action,
        config: Option<ForwardingPipelineConfig>,
    ) -> Result<(), Why> {
        let request = SetForwardingPipelineConfigRequest {
            device_id: DEVICE_ID,
            election_id: Some(self.election_id),
            action: action.into(),
            config,
            ..Default::default()
        };
        answer(self.runtime.set_forwarding_pipeline_config(request)).await.map(|_| ())
    }

    /// Counters of the switch since [`program`](Self::program).
    ///
    /// # Errors
    /// When the switch refuses or is lost, or sends an unreadable answer.
    pub async fn counters(&mut self) -> Result<dumper::SwitchCounters, SwitchError> {
        self.read_counters().await.map_err(|why| self.error("reading counters", why))
    }

    /// Ends the capture, and returns its packets and counters since [`program`](Self::program).
    ///
    /// # Errors
    /// When the switch refuses or is lost, or sends an unreadable answer.
    pub async fn collect(&mut self) -> Result<Captured, SwitchError> {
        self.collect_all().await.map_err(|why| self.error("collecting the capture", why))
    }

    async fn collect_all(&mut self) -> Result<Captured, Why> {
        let request = CollectRequest { device_id: DEVICE_ID, election_id: Some(self.election_id) };
        let mut parts = answer(self.capture.collect(request)).await?;
        let mut collector = Collector::new();
        let summary: Summary = loop {
            match answer_of_stream(&mut parts).await?.and_then(|message| message.part) {
                Some(Part::Packets(packets)) => collector.add(packets)?,
                Some(Part::Summary(summary)) => break summary,
                None => return Err(Why::Protocol("the capture ended without its summary".to_owned())),
            }
        };
        let counters = self.read_counters().await?;
        collector.finish(summary, counters)
    }

    async fn read_counters(&mut self) -> Result<dumper::SwitchCounters, Why> {
        let wanted = Entity { entity: Some(entity::Entity::CounterEntry(CounterEntry::default())) };
        let request = ReadRequest { device_id: DEVICE_ID, entities: vec![wanted], ..Default::default() };
        let mut messages = answer(self.runtime.read(request)).await?;
        let [requester, responder, _] = PORT_NUMBERS;
        let mut counters =
            dumper::SwitchCounters { host_ports: vec![requester, responder], ..Default::default() };
        while let Some(message) = answer_of_stream(&mut messages).await? {
            for entity in message.entities {
                captured::add_counter(&mut counters, &entity)?;
            }
        }
        Ok(counters)
    }

    fn error(&self, doing: &'static str, why: Why) -> SwitchError {
        SwitchError { address: self.address.clone(), doing, why }
    }
}

/// Opens the stream that makes a client the primary, and waits until it is.
async fn arbitrate(
    mut runtime: P4RuntimeClient<Channel>,
    election_id: Uint128,
) -> Result<(mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>), Why> {
    let (sender, requests) = mpsc::channel(1);
    let arbitration = MasterArbitrationUpdate {
        device_id: DEVICE_ID,
        election_id: Some(election_id),
        ..Default::default()
    };
    let request =
        StreamMessageRequest { update: Some(stream_message_request::Update::Arbitration(arbitration)) };
    // There is room for one, and this is the first.
    let _ = sender.try_send(request);
    let mut responses = answer(runtime.stream_channel(ReceiverStream::new(requests))).await?;
    let told = answer_of_stream(&mut responses).await?.and_then(|response| response.update);
    let Some(stream_message_response::Update::Arbitration(told)) = told else {
        return Err(Why::Protocol("it did not answer an arbitration".to_owned()));
    };
    match told.status {
        Some(status) if status.code == i32::from(Code::Ok) => Ok((sender, responses)),
        status => {
            let status = status.unwrap_or_default();
            Err(Why::Refused { code: Code::from(status.code), message: status.message })
        }
    }
}

/// The answer to a call, in time.
async fn answer<T>(call: impl Future<Output = Result<tonic::Response<T>, Status>>) -> Result<T, Why> {
    Ok(within(call).await?.map_err(Why::from)?.into_inner())
}

/// The next message of a stream, in time.
async fn answer_of_stream<T>(stream: &mut Streaming<T>) -> Result<Option<T>, Why> {
    within(stream.message()).await?.map_err(Why::from)
}

async fn within<T>(call: impl Future<Output = T>) -> Result<T, Why> {
    timeout(CALL_TIMEOUT, call).await.map_err(|_| Why::TimedOut(CALL_TIMEOUT))
}
