//! P4Runtime.

use prost::Message;
use prost::bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Iter, StreamExt};
use tonic::{Code, Request, Response, Status, Streaming, async_trait};

use super::Control;
use super::arbitration::check_device;
use super::control::Pipeline;
use crate::entries::{self, Refusal, p4info, schema};
use crate::proto::rpc;
use crate::proto::runtime::p4_runtime_server::P4Runtime;
use crate::proto::runtime::{
    CapabilitiesRequest, CapabilitiesResponse, CounterData, CounterEntry, Entity, Error,
    ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse, Index,
    ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse,
    StreamMessageRequest, StreamMessageResponse, TableEntry, WriteRequest, WriteResponse, entity,
    get_forwarding_pipeline_config_request::ResponseType, stream_message_request,
};

/// Version of P4Runtime that this is a part of.
const API_VERSION: &str = "1.3.0";
/// Entities of a message of a Read: some 200 KB.
const READ_CHUNK: usize = 2_000;
/// Entities that one Read may ask for: each is answered by itself, and may be as small as four bytes.
const MAX_READ: usize = 1_000;
/// Bytes of a refused Write's report on each update: it travels in a header, for which clients have 16 KB,
/// half as long again.
const MAX_DETAILS: usize = 6 * 1024;
/// Messages that wait for a client to read them.
const STREAM_ROOM: usize = 16;

type Responses<T> = Result<Response<T>, Status>;

#[async_trait]
impl P4Runtime for Control {
    async fn write(&self, request: Request<WriteRequest>) -> Responses<WriteResponse> {
        let results = Self::write(self, request.get_ref())?;
        if results.iter().all(Result::is_ok) {
            return Ok(Response::new(WriteResponse {}));
        }
        Err(failed_updates(&results))
    }

    type ReadStream = Iter<ReadMessages>;

    async fn read(&self, request: Request<ReadRequest>) -> Responses<Self::ReadStream> {
        let request = request.into_inner();
        let pipeline = self.committed(request.device_id)?;
        let asked = request.entities.len();
        if asked > MAX_READ {
            let message = format!("{asked} entities are asked for, of at most {MAX_READ}: leave keys out");
            return Err(Refusal::new(Code::ResourceExhausted, message).into());
        }
        let parts = request.entities.into_iter().map(|entity| self.read_entity(&pipeline, entity));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let messages: ReadMessages =
            Box::new(parts.into_iter().flatten().map(|entities| Ok(ReadResponse { entities })));
        Ok(Response::new(tokio_stream::iter(messages)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Responses<SetForwardingPipelineConfigResponse> {
        self.set_pipeline(request.get_ref())?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Responses<GetForwardingPipelineConfigResponse> {
        let request = request.get_ref();
        check_device(request.device_id)?;
        // The pipeline is built in: its P4Info is available before anything is committed.
        let cookie = self.committed(request.device_id).ok().and_then(|pipeline| pipeline.cookie);
        let p4info = match request.response_type() {
            ResponseType::All | ResponseType::P4infoAndCookie => p4info().encode_to_vec(),
            ResponseType::CookieOnly | ResponseType::DeviceConfigAndCookie => Vec::new(),
        };
        let config = ForwardingPipelineConfig { p4info, cookie, p4_device_config: Vec::new() };
        Ok(Response::new(GetForwardingPipelineConfigResponse { config: Some(config) }))
    }

    type StreamChannelStream = ReceiverStream<Result<StreamMessageResponse, Status>>;

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Responses<Self::StreamChannelStream> {
        let mut requests = request.into_inner();
        let (outlet, responses) = mpsc::channel(STREAM_ROOM);
        // The stream ends with the sender that is entered: one that reads nothing is let go there.
        let weak_outlet = outlet.downgrade();
        let (control, client) = (self.clone(), self.enter(outlet));
        tokio::spawn(async move {
            // Ends when the client does, and on its first bad message.
            while let Some(Ok(request)) = requests.next().await {
                let result = match &request.update {
                    Some(stream_message_request::Update::Arbitration(update)) => {
                        control.arbitrate(client, update)
                    }
                    None => {
                        let message = "the message is no arbitration, which is all that this switch takes";
                        Err(Refusal::new(Code::Unimplemented, message))
                    }
                };
                if let Err(refusal) = result {
                    // A client that is gone gets no answer.
                    let _ = weak_outlet.upgrade().map(|outlet| outlet.try_send(Err(refusal.into())));
                    break;
                }
            }
            control.leave(client);
        });
        Ok(Response::new(ReceiverStream::new(responses)))
    }

    async fn capabilities(&self, _: Request<CapabilitiesRequest>) -> Responses<CapabilitiesResponse> {
        Ok(Response::new(CapabilitiesResponse { p4runtime_api_version: API_VERSION.to_owned() }))
    }
}

/// Messages of a Read, made as they are sent.
type ReadMessages = Box<dyn Iterator<Item = Result<ReadResponse, Status>> + Send>;

/// Entities in parts of bounded size.
type Parts = Box<dyn Iterator<Item = Vec<Entity>> + Send>;

impl Control {
    fn read_entity(&self, pipeline: &Pipeline, entity: Entity) -> Result<Parts, Refusal> {
        match entity.entity {
            Some(entity::Entity::TableEntry(entry)) => read_entries(pipeline, &entry),
            Some(entity::Entity::CounterEntry(entry)) => {
                Ok(Box::new(std::iter::once(self.read_counters(&entry)?)))
            }
            Some(entity::Entity::PacketReplicationEngineEntry(_)) | None => {
                let message = "the entity is of no kind known here: table entries and counter entries";
                Err(Refusal::new(Code::Unimplemented, message))
            }
        }
    }

    fn read_counters(&self, wanted: &CounterEntry) -> Result<Vec<Entity>, Refusal> {
        let counters = self.switch.lock().counters().unwrap_or_default();
        let known = [(schema::PORT_INGRESS.id, counters.ingress), (schema::PORT_EGRESS.id, counters.egress)];
        if wanted.counter_id != 0 && known.iter().all(|(id, _)| *id != wanted.counter_id) {
            return Err(Refusal::new(
                Code::NotFound,
                format!("there is no counter {:#010x}", wanted.counter_id),
            ));
        }
        let index = wanted.index.map(|Index { index }| index);
        if let Some(index) = index.filter(|index| !(0..schema::COUNTER_SIZE).contains(index)) {
            let message = format!("counters have cells 0 to {}, not {index}", schema::COUNTER_SIZE - 1);
            return Err(Refusal::new(Code::OutOfRange, message));
        }
        let cells = known.into_iter().filter(|(id, _)| wanted.counter_id == 0 || wanted.counter_id == *id);
        let cells =
            cells.flat_map(|(id, ports)| ports.into_iter().map(move |(port, count)| (id, port, count)));
        let cells = cells.filter(|(_, port, _)| index.is_none_or(|index| index == i64::from(*port)));
        Ok(cells.map(|(counter_id, port, count)| counter_entity(counter_id, port, count)).collect())
    }
}

fn counter_entity(counter_id: u32, port: u32, count: u64) -> Entity {
    let data = CounterData { byte_count: 0, packet_count: count.try_into().unwrap_or(i64::MAX) };
    let entry = CounterEntry { counter_id, index: Some(Index { index: i64::from(port) }), data: Some(data) };
    Entity { entity: Some(entity::Entity::CounterEntry(entry)) }
}

/// One entry where a key is given, else all of a table, or of all tables.
fn read_entries(pipeline: &Pipeline, wanted: &TableEntry) -> Result<Parts, Refusal> {
    let store = pipeline.entries.clone();
    if !wanted.r#match.is_empty() {
        let entity = store.find(wanted)?.map(entries::entity);
        return Ok(Box::new(std::iter::once(entity.into_iter().collect())));
    }
    let table = wanted.table_id;
    if table != 0 {
        entries::check_table(wanted)?;
    }
    let mut after = None;
    Ok(Box::new(std::iter::from_fn(move || {
        let part: Vec<_> = store.read(table, after).take(READ_CHUNK).collect();
        after = Some(part.last()?.0);
        Some(part.into_iter().map(|(_, entry)| entries::entity(entry)).collect())
    })))
}

/// The status of a Write of which updates failed: it has the result of each (specification, clause 12.3), or,
/// where there is no room, of the first that failed.
fn failed_updates(results: &[Result<(), Refusal>]) -> Status {
    let errors = results.iter().map(|result| match result {
        Ok(()) => Error { canonical_code: Code::Ok.into(), ..Error::default() },
        Err(refusal) => Error {
            canonical_code: refusal.code.into(),
            message: refusal.message.clone(),
            space: "lumina-switch".to_owned(),
        },
    });
    let details = errors.map(|error| crate::proto::Any {
        type_url: "type.googleapis.com/p4.v1.Error".to_owned(),
        value: error.encode_to_vec(),
    });
    let mut details: Vec<_> = details.collect();
    if details.iter().map(Message::encoded_len).sum::<usize>() > MAX_DETAILS {
        details.clear();
    }
    let failed: Vec<_> =
        (1..).zip(results).filter_map(|(at, result)| Some((at, result.as_ref().err()?))).collect();
    // That of the batch being aborted says nothing, if another says why.
    let first = failed.iter().find(|(_, refusal)| refusal.code != Code::Aborted).or(failed.first());
    let message = first.map_or_else(String::new, |(at, refusal)| {
        format!("{} of {} updates failed; update {at}: {refusal}", failed.len(), results.len())
    });
    let code = Code::Unknown;
    let status = rpc::Status { code: code.into(), message: message.clone(), details };
    Status::with_details(code, message, Bytes::from(status.encode_to_vec()))
}
