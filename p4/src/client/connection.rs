//! A connection to a P4Runtime server of which this client is the primary.

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

use super::error::{self, SwitchError, Why};
use crate::Address;
use crate::proto::runtime::p4_runtime_client::P4RuntimeClient;
use crate::proto::runtime::{
    Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Uint128, Update,
    WriteRequest, set_forwarding_pipeline_config_request::Action, stream_message_request,
    stream_message_response, write_request::Atomicity,
};
use crate::server::uint128;

/// Longest wait for a call, and for the next message of a stream. Calls take milliseconds; those with a
/// million entries take seconds on a busy machine.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// A server of which this client is the primary, as long as it lives and no other takes its place.
#[derive(Debug)]
pub(super) struct Connection {
    address: Address,
    device_id: u64,
    election_id: Uint128,
    /// For further services of the server.
    pub(super) channel: Channel,
    runtime: P4RuntimeClient<Channel>,
    /// Both ends of the stream that makes it primary: it ends with them.
    _arbitration: (mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>),
}

impl Connection {
    /// Connects and becomes the primary. A client that connected earlier is one no more: the last one counts.
    pub(super) async fn open(address: &Address, device_id: u64) -> Result<Self, SwitchError> {
        let at = |why| SwitchError { address: address.clone(), doing: "connecting", why };
        let uri = match address {
            Address::Tcp(address) => format!("http://{address}"),
            Address::Unix(path) => format!("unix:{}", path.display()),
        };
        let endpoint = Endpoint::from_shared(uri).map_err(|error| at(Why::Lost(error::chain(&error))))?;
        let connected = within(endpoint.connect()).await.map_err(at)?;
        let channel = connected.map_err(|error| at(Why::Lost(error::chain(&error))))?;
        let runtime = P4RuntimeClient::new(channel.clone());
        // Nanoseconds since 1970, so that the latest client has the highest.
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let election_id = uint128(since_1970.as_nanos().max(1));
        let arbitration = arbitrate(runtime.clone(), device_id, election_id).await.map_err(at)?;
        let address = address.clone();
        Ok(Self { address, device_id, election_id, channel, runtime, _arbitration: arbitration })
    }

    pub(super) const fn device_id(&self) -> u64 {
        self.device_id
    }

    pub(super) const fn election_id(&self) -> Uint128 {
        self.election_id
    }

    pub(super) async fn set_pipeline(
        &mut self,
        action: Action,
        config: Option<ForwardingPipelineConfig>,
    ) -> Result<(), Why> {
        let request = SetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            election_id: Some(self.election_id),
            action: action.into(),
            config,
            ..Default::default()
        };
        answer(self.runtime.set_forwarding_pipeline_config(request)).await.map(|_| ())
    }

    /// Writes a batch: one round trip. `refused` says what a refusal means.
    pub(super) async fn write(
        &mut self,
        updates: Vec<Update>,
        atomicity: Atomicity,
        refused: impl FnOnce(Status) -> Why,
    ) -> Result<(), Why> {
        let request = WriteRequest {
            device_id: self.device_id,
            election_id: Some(self.election_id),
            updates,
            atomicity: atomicity.into(),
            ..Default::default()
        };
        within(self.runtime.write(request)).await?.map(|_| ()).map_err(refused)
    }

    /// Reads all that an entity stands for.
    pub(super) async fn read(&mut self, wanted: Vec<Entity>) -> Result<Vec<Entity>, Why> {
        let request = ReadRequest { device_id: self.device_id, entities: wanted, ..Default::default() };
        let mut messages = answer(self.runtime.read(request)).await?;
        let mut all = Vec::new();
        while let Some(message) = answer_of_stream(&mut messages).await? {
            all.extend(message.entities);
        }
        Ok(all)
    }

    pub(super) fn error(&self, doing: &'static str, why: Why) -> SwitchError {
        SwitchError { address: self.address.clone(), doing, why }
    }
}

/// Opens the stream that makes a client the primary, and waits until it is.
async fn arbitrate(
    mut runtime: P4RuntimeClient<Channel>,
    device_id: u64,
    election_id: Uint128,
) -> Result<(mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>), Why> {
    let (sender, requests) = mpsc::channel(1);
    let arbitration =
        MasterArbitrationUpdate { device_id, election_id: Some(election_id), ..Default::default() };
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
pub(super) async fn answer<T>(
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, Why> {
    Ok(within(call).await?.map_err(Why::from)?.into_inner())
}

/// The next message of a stream, in time.
pub(super) async fn answer_of_stream<T>(stream: &mut Streaming<T>) -> Result<Option<T>, Why> {
    within(stream.message()).await?.map_err(Why::from)
}

async fn within<T>(call: impl Future<Output = T>) -> Result<T, Why> {
    timeout(CALL_TIMEOUT, call).await.map_err(|_| Why::TimedOut(CALL_TIMEOUT))
}
