//! A connection to a P4Runtime server of which this client is the primary.

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use super::error::{self, SwitchError, Why};
use crate::entries::Intent;
use crate::proto::runtime::p4_runtime_client::P4RuntimeClient;
use crate::proto::runtime::{
    Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, MasterArbitrationUpdate,
    ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Uint128,
    Update, WriteRequest, get_forwarding_pipeline_config_request::ResponseType,
    set_forwarding_pipeline_config_request::Action, stream_message_request, stream_message_response,
    write_request::Atomicity,
};
use crate::server::{u128_of, uint128};
use dumper::serve::tls::{Keys, Role};
use dumper::serve::{Address, dial};

/// Longest wait for the answer to a call, with all messages of it. Calls take milliseconds; those with a million
/// entries take seconds on a busy machine.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest wait for the notice that another client has become the primary, where a call was refused.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(1);
/// Notices that are looked at then: a primary gets one of each change.
const NOTICES: usize = 16;

/// Updates of one Write: some 300 KB.
const WRITE_CHUNK: usize = 2_000;

/// A server of which this client is the primary, as long as it lives and no other takes its place.
#[derive(Debug)]
pub(super) struct Connection {
    address: Address,
    keys: Option<Keys>,
    device_id: u64,
    election_id: Uint128,
    /// For further services of the server.
    pub(super) channel: Channel,
    runtime: P4RuntimeClient<Channel>,
    /// The stream that makes it primary, until either end of it is dropped: the requests, and the notices.
    arbitration: (mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>),
    /// The server did not answer, or is not there any more.
    is_lost: bool,
    /// Another client has become the primary: its election identifier.
    deposed_by: Option<u128>,
}

impl Connection {
    /// Connects, over TLS with keys, and becomes the primary. A client that connected earlier is one no more: the last one counts.
    pub(super) async fn open(
        address: &Address,
        keys: Option<&Keys>,
        device_id: u64,
    ) -> Result<Self, SwitchError> {
        let at = |why| SwitchError { address: address.clone(), doing: "connecting", why };
        let dialled = dial(address, Role::Switch, keys).await;
        let channel = dialled.map_err(|error| at(Why::Lost(error.to_string())))?.channel;
        let runtime = P4RuntimeClient::new(channel.clone());
        // Nanoseconds since 1970, so that the latest client has the highest.
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let election_id = uint128(since_1970.as_nanos().max(1));
        let arbitration = arbitrate(runtime.clone(), device_id, election_id).await.map_err(at)?;
        let (address, keys) = (address.clone(), keys.cloned());
        let (is_lost, deposed_by) = (false, None);
        Ok(Self { address, keys, device_id, election_id, channel, runtime, arbitration, is_lost, deposed_by })
    }

    pub(super) const fn address(&self) -> &Address {
        &self.address
    }

    pub(super) const fn keys(&self) -> Option<&Keys> {
        self.keys.as_ref()
    }

    pub(super) const fn device_id(&self) -> u64 {
        self.device_id
    }

    pub(super) const fn election_id(&self) -> Uint128 {
        self.election_id
    }

    /// True if a new connection is needed.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
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
        match answer(self.runtime.set_forwarding_pipeline_config(request)).await {
            Ok(_) => Ok(()),
            Err(why) => Err(self.explained(why).await),
        }
    }

    /// The P4Info of the pipeline that the server has.
    pub(super) async fn p4info(&mut self) -> Result<Vec<u8>, Why> {
        let request = GetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            response_type: ResponseType::P4infoAndCookie.into(),
        };
        let config = answer(self.runtime.get_forwarding_pipeline_config(request)).await?.config;
        Ok(config.unwrap_or_default().p4info)
    }

    /// Writes in batches, with a round trip each.
    pub(super) async fn write(
        &mut self,
        updates: impl IntoIterator<Item = (Update, Intent)>,
        atomicity: Atomicity,
    ) -> Result<(), Why> {
        let mut updates = updates.into_iter();
        loop {
            let (updates, intents): (Vec<_>, Vec<_>) = updates.by_ref().take(WRITE_CHUNK).unzip();
            if updates.is_empty() {
                return Ok(());
            }
            let request = WriteRequest {
                device_id: self.device_id,
                election_id: Some(self.election_id),
                updates,
                atomicity: atomicity.into(),
                ..Default::default()
            };
            match within(CALL_TIMEOUT, self.runtime.write(request)).await {
                Ok(Ok(_)) => {}
                Ok(Err(status)) => {
                    let why = self.explained(Why::from(status.clone())).await;
                    return Err(error::of_write(&status, why, &intents));
                }
                Err(why) => return Err(error::of_batch(why, &intents)),
            }
        }
    }

    /// Reads all that entities stand for, which is no more than so many.
    pub(super) async fn read(&mut self, wanted: Vec<Entity>, most: usize) -> Result<Vec<Entity>, Why> {
        let request = ReadRequest { device_id: self.device_id, entities: wanted, ..Default::default() };
        let reading = async {
            let mut messages = self.runtime.read(request).await.map_err(Why::from)?.into_inner();
            let mut all = Vec::new();
            while let Some(message) = messages.message().await.map_err(Why::from)? {
                all.extend(message.entities);
                if all.len() > most {
                    return Err(Why::Protocol(format!("it read out more than {most} entities")));
                }
            }
            Ok(all)
        };
        within(CALL_TIMEOUT, reading).await?
    }

    /// A failure of a request. After one that leaves open what the server has, a new connection is needed.
    pub(super) fn failed(&mut self, doing: &'static str, why: Why) -> SwitchError {
        self.is_lost |= why.is_lost();
        SwitchError { address: self.address.clone(), doing, why }
    }

    /// Why a request was refused: the notice of another primary says more than the refusal.
    pub(super) async fn explained(&mut self, why: Why) -> Why {
        if !matches!(why, Why::Refused { code: Code::PermissionDenied, .. }) {
            return why;
        }
        if self.deposed_by.is_none() {
            let notice = another_primary(&mut self.arbitration.1);
            self.deposed_by = timeout(NOTICE_TIMEOUT, notice).await.unwrap_or_default();
        }
        self.deposed_by.map_or(why, |by| Why::Deposed(by.to_string()))
    }
}

/// The election identifier of another primary, when the server tells of it; none if the stream ends.
async fn another_primary(notices: &mut Streaming<StreamMessageResponse>) -> Option<u128> {
    for _ in 0..NOTICES {
        let message = notices.message().await.ok()??;
        let Some(stream_message_response::Update::Arbitration(told)) = message.update else { continue };
        if told.status.is_some_and(|status| status.code != i32::from(Code::Ok)) {
            return Some(u128_of(&told.election_id.unwrap_or_default()));
        }
    }
    None
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
    Ok(within(CALL_TIMEOUT, call).await?.map_err(Why::from)?.into_inner())
}

/// The next message of a stream, in time.
pub(super) async fn answer_of_stream<T>(stream: &mut Streaming<T>) -> Result<Option<T>, Why> {
    within(CALL_TIMEOUT, stream.message()).await?.map_err(Why::from)
}

/// Whatever takes no longer.
pub(super) async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Result<T, Why> {
    timeout(time, work).await.map_err(|_| Why::TimedOut(time))
}
