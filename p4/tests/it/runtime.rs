//! P4Runtime as any controller speaks it, over TCP.

use corpus::Role;
use dumper::Psn;
use dumper::serve::{self, Listener, serve};
use p4::entries::{items, p4info, schema, update};
use p4::proto::rpc;
use p4::proto::runtime::p4_runtime_client::P4RuntimeClient;
use p4::proto::runtime::set_forwarding_pipeline_config_request::Action;
use p4::proto::runtime::{
    CapabilitiesRequest, CounterEntry, Entity, Error, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, Index, MasterArbitrationUpdate, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, TableEntry, Uint128,
    Update, WriteRequest, entity, forwarding_pipeline_config::Cookie, stream_message_request,
    stream_message_response, update::Type, write_request::Atomicity,
};
use p4::switch::{Limits, Shared, Switch};
use p4::translate;
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use crate::frames::Made;
use crate::support::{config, connections};

/// A switch without ports, and a controller.
pub(crate) struct Controller {
    switch: Shared,
    pub(crate) client: P4RuntimeClient<Channel>,
    pub(crate) address: String,
}

pub(crate) struct Stream {
    sender: mpsc::Sender<StreamMessageRequest>,
    pub(crate) answers: Streaming<StreamMessageResponse>,
}

impl Stream {
    pub(crate) async fn ask(&mut self, device_id: u64, low: u64) {
        let update = MasterArbitrationUpdate {
            device_id,
            election_id: Some(Uint128 { high: 0, low }),
            ..Default::default()
        };
        let update = Some(stream_message_request::Update::Arbitration(update));
        self.sender.send(StreamMessageRequest { update }).await.unwrap();
    }

    pub(crate) async fn told(&mut self) -> Result<Code, Status> {
        let answer = self.answers.message().await?.unwrap();
        let Some(stream_message_response::Update::Arbitration(told)) = answer.update else {
            panic!("{answer:?}")
        };
        Ok(Code::from(told.status.unwrap().code))
    }
}

impl Controller {
    async fn new() -> Self {
        Self::of_switch_within(serve::Limits::default()).await
    }

    pub(crate) async fn of_switch_within(limits: serve::Limits) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let switch = Shared::new(Switch::new(Limits::default()));
        let routes = p4::server::services(p4::server::Control::new(switch.clone()));
        tokio::spawn(serve("test", Listener::Tcp(listener), None, routes, limits));
        let client = P4RuntimeClient::connect(address.clone()).await.unwrap();
        Self { switch, client, address }
    }

    /// One that may write, as long as its stream is kept.
    async fn primary() -> (Self, Stream) {
        let mut controller = Self::new().await;
        let mut stream = controller.stream().await;
        stream.ask(1, 7).await;
        stream.told().await.unwrap();
        (controller, stream)
    }

    /// One that may write, and has committed the pipeline.
    async fn committed() -> (Self, Stream) {
        let (mut controller, stream) = Self::primary().await;
        controller.set(Action::VerifyAndCommit, pipeline()).await.unwrap();
        (controller, stream)
    }

    /// Another connection to the same switch.
    pub(crate) async fn again(&self) -> Self {
        let (switch, address) = (self.switch.clone(), self.address.clone());
        Self { switch, client: P4RuntimeClient::connect(address.clone()).await.unwrap(), address }
    }

    pub(crate) async fn stream(&mut self) -> Stream {
        let (sender, requests) = mpsc::channel(4);
        let answers = self.client.stream_channel(ReceiverStream::new(requests)).await.unwrap().into_inner();
        Stream { sender, answers }
    }

    async fn set(&mut self, action: Action, config: Option<ForwardingPipelineConfig>) -> Result<(), Status> {
        let request = SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 7 }),
            action: action.into(),
            config,
            ..Default::default()
        };
        self.client.set_forwarding_pipeline_config(request).await.map(drop)
    }

    async fn write(&mut self, updates: Vec<Update>, atomicity: Atomicity, low: u64) -> Result<(), Status> {
        let request = WriteRequest {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low }),
            updates,
            atomicity: atomicity.into(),
            ..Default::default()
        };
        self.client.write(request).await.map(drop)
    }

    async fn read(&mut self, entity: entity::Entity) -> Result<Vec<entity::Entity>, Status> {
        let request = ReadRequest {
            device_id: 1,
            entities: vec![Entity { entity: Some(entity) }],
            ..Default::default()
        };
        let mut messages = self.client.read(request).await?.into_inner();
        let mut read = Vec::new();
        while let Some(message) = messages.message().await? {
            read.extend(message.entities.into_iter().map(|entity| entity.entity.unwrap()));
        }
        Ok(read)
    }

    async fn entries(&mut self, table_id: u32) -> Vec<TableEntry> {
        let read = self
            .read(entity::Entity::TableEntry(TableEntry { table_id, ..Default::default() }))
            .await
            .unwrap();
        let entry = |entity| match entity {
            entity::Entity::TableEntry(entry) => entry,
            other => panic!("{other:?}"),
        };
        read.into_iter().map(entry).collect()
    }
}

fn pipeline() -> Option<ForwardingPipelineConfig> {
    let cookie = Some(Cookie { cookie: 42 });
    Some(ForwardingPipelineConfig { p4info: p4info().encode_to_vec(), cookie, ..Default::default() })
}

/// As many entries as a Read takes several messages for.
fn entries() -> Vec<TableEntry> {
    let config = config(
        r#"event = [
        { qpn = 1, psn = 1, every = 1, type = "ecn" },
        { qpn = 1, packet = "ack", nth = 2, every = 3, type = "drop" }]
        traffic = { num-msgs-per-qp = 500 }"#,
    );
    let tables = translate(&config, &connections(1, Psn::new(1))).unwrap();
    items(&tables).into_iter().map(|item| item.entry).collect()
}

fn inserts(entries: &[TableEntry]) -> Vec<Update> {
    entries.iter().map(|entry| update(entry.clone(), Type::Insert)).collect()
}

fn code(result: Result<(), Status>) -> Code {
    result.map_or_else(|status| status.code(), |()| Code::Ok)
}

#[tokio::test]
async fn arbitration_says_who_may_write() {
    let mut controller = Controller::new().await;
    assert_eq!(code(controller.set(Action::VerifyAndCommit, pipeline()).await), Code::PermissionDenied);
    let mut first = controller.stream().await;
    first.ask(1, 7).await;
    assert_eq!(first.told().await.unwrap(), Code::Ok);
    assert_eq!(code(controller.set(Action::VerifyAndCommit, pipeline()).await), Code::Ok);
    let mut second = controller.stream().await;
    second.ask(1, 6).await;
    assert_eq!(second.told().await.unwrap(), Code::AlreadyExists);
    assert_eq!(code(controller.write(vec![], Atomicity::DataplaneAtomic, 6).await), Code::PermissionDenied);
    second.ask(1, 9).await;
    assert_eq!((second.told().await.unwrap(), first.told().await.unwrap()), (Code::Ok, Code::AlreadyExists));
    assert_eq!(code(controller.write(vec![], Atomicity::DataplaneAtomic, 7).await), Code::PermissionDenied);
    assert_eq!(code(controller.write(vec![], Atomicity::DataplaneAtomic, 9).await), Code::Ok);
    drop(second);
    assert_eq!(first.told().await.unwrap(), Code::NotFound, "the primary's stream has ended");
    assert_eq!(code(controller.write(vec![], Atomicity::DataplaneAtomic, 9).await), Code::PermissionDenied);

    let mut wrong = controller.stream().await;
    wrong.ask(2, 10).await;
    assert_eq!(wrong.told().await.unwrap_err().code(), Code::NotFound);
    let mut wrong = controller.stream().await;
    wrong.sender.send(StreamMessageRequest { update: None }).await.unwrap();
    assert_eq!(wrong.told().await.unwrap_err().code(), Code::Unimplemented);
}

#[tokio::test]
async fn pipelines_are_verified_saved_and_committed() {
    let (mut controller, _stream) = Controller::primary().await;
    let mut other = p4info();
    other.tables[0].size += 1;
    let other = Some(ForwardingPipelineConfig { p4info: other.encode_to_vec(), ..Default::default() });
    for (action, config, expected) in [
        (Action::Unspecified, pipeline(), Code::InvalidArgument),
        (Action::ReconcileAndCommit, pipeline(), Code::Unimplemented),
        (Action::Commit, None, Code::FailedPrecondition),
        (Action::Verify, None, Code::InvalidArgument),
        (Action::Verify, other, Code::InvalidArgument),
        (Action::Verify, pipeline(), Code::Ok),
        (Action::Commit, None, Code::FailedPrecondition),
        (Action::VerifyAndSave, pipeline(), Code::Ok),
        (Action::Commit, pipeline(), Code::InvalidArgument),
    ] {
        assert_eq!(code(controller.set(action, config).await), expected, "{action:?}");
    }
    assert!(controller.switch.lock().counters().is_none(), "nothing is committed");
    let wanted = entity::Entity::TableEntry(TableEntry::default());
    assert_eq!(controller.read(wanted).await.unwrap_err().code(), Code::FailedPrecondition);

    let entries = entries();
    for chunk in inserts(&entries).chunks(1_000) {
        controller.write(chunk.to_vec(), Atomicity::DataplaneAtomic, 7).await.unwrap();
    }
    assert!(controller.switch.lock().counters().is_none(), "they wait for the commit");
    controller.set(Action::Commit, None).await.unwrap();
    assert_eq!(controller.entries(0).await, entries);
    assert_eq!(controller.entries(schema::FLOWS.id).await, entries[..2]);
    let one = entity::Entity::TableEntry(TableEntry { action: None, ..entries[5].clone() });
    assert_eq!(controller.read(one).await.unwrap(), [entity::Entity::TableEntry(entries[5].clone())]);
    let bad = entity::Entity::TableEntry(TableEntry { table_id: 9, ..Default::default() });
    assert_eq!(controller.read(bad).await.unwrap_err().code(), Code::NotFound);

    let get = GetForwardingPipelineConfigRequest { device_id: 1, ..Default::default() };
    let told = controller.client.get_forwarding_pipeline_config(get).await.unwrap().into_inner();
    assert_eq!(told.config, pipeline());
    let version = controller.client.capabilities(CapabilitiesRequest {}).await.unwrap().into_inner();
    assert_eq!(version.p4runtime_api_version, "1.3.0");

    // Events whose flow is not there cannot be committed, and what is committed stays.
    controller.set(Action::VerifyAndSave, pipeline()).await.unwrap();
    controller.write(inserts(&entries[2..4]), Atomicity::DataplaneAtomic, 7).await.unwrap();
    assert_eq!(code(controller.set(Action::Commit, None).await), Code::FailedPrecondition);
    assert_eq!(controller.entries(0).await.len(), entries.len());
}

#[tokio::test]
async fn writes_to_a_committed_pipeline_begin_it_anew() {
    let (mut controller, _stream) = Controller::primary().await;
    let entries = entries();
    let (flows, events) = entries.split_at(2);
    assert_eq!(
        code(controller.write(inserts(flows), Atomicity::DataplaneAtomic, 7).await),
        Code::FailedPrecondition
    );
    controller.set(Action::VerifyAndCommit, pipeline()).await.unwrap();
    let begin = |controller: &Controller| {
        let mut out = Vec::new();
        let frame = Made::default().frame();
        controller.switch.lock().receive(Role::Requester, &frame, controller.switch.now(), &mut out);
        controller.switch.lock().counters().unwrap().received()
    };
    assert_eq!((begin(&controller), begin(&controller)), (1, 2));
    controller.write(inserts(flows), Atomicity::DataplaneAtomic, 7).await.unwrap();
    assert_eq!(begin(&controller), 1);

    // One of three is there already.
    let batch = inserts(&[events[0].clone(), flows[0].clone(), events[1].clone()]);
    for atomicity in [Atomicity::DataplaneAtomic, Atomicity::RollbackOnError] {
        let status = controller.write(batch.clone(), atomicity, 7).await.unwrap_err();
        assert_eq!(codes(&status), [Code::Aborted, Code::AlreadyExists, Code::Aborted]);
        assert!(
            status.message().contains("update 2: table ingress.flows: the entry is there already"),
            "{status}"
        );
        assert_eq!(controller.entries(0).await, flows);
    }
    assert_eq!(begin(&controller), 2, "nothing has changed");
    let status = controller.write(batch, Atomicity::ContinueOnError, 7).await.unwrap_err();
    assert_eq!(codes(&status), [Code::Ok, Code::AlreadyExists, Code::Ok]);
    assert_eq!(controller.entries(0).await, entries[..4]);
    assert_eq!(begin(&controller), 1);
}

/// Codes that a failed Write gives for each update.
fn codes(status: &Status) -> Vec<Code> {
    assert_eq!(status.code(), Code::Unknown);
    let details = rpc::Status::decode(status.details()).unwrap().details;
    let error = |detail: p4::proto::Any| {
        assert_eq!(detail.type_url, "type.googleapis.com/p4.v1.Error");
        Code::from(Error::decode(&detail.value[..]).unwrap().canonical_code)
    };
    details.into_iter().map(error).collect()
}

#[tokio::test]
async fn counters_are_read_by_array_and_cell() {
    let (mut controller, _stream) = Controller::committed().await;
    let mut out = Vec::new();
    for _ in 0..3 {
        let frame = Made::default().frame();
        controller.switch.lock().receive(Role::Requester, &frame, controller.switch.now(), &mut out);
    }
    let mut read = async |counter_id, index: Option<i64>| {
        let index = index.map(|index| Index { index });
        let wanted = CounterEntry { counter_id, index, data: None };
        let cell = |entity| match entity {
            entity::Entity::CounterEntry(entry) => {
                (entry.counter_id, entry.index.unwrap().index, entry.data.unwrap().packet_count)
            }
            other => panic!("{other:?}"),
        };
        let read = controller.read(entity::Entity::CounterEntry(wanted)).await;
        read.map(|cells| cells.into_iter().map(cell).collect::<Vec<_>>()).map_err(|status| status.code())
    };
    let (ingress, egress) = (schema::PORT_INGRESS.id, schema::PORT_EGRESS.id);
    assert_eq!(read(ingress, None).await.unwrap(), [(ingress, 1, 3), (ingress, 2, 0), (ingress, 3, 0)]);
    assert_eq!(read(egress, Some(2)).await.unwrap(), [(egress, 2, 3)]);
    assert_eq!(read(0, None).await.unwrap().len(), 6);
    assert_eq!(read(0, Some(1)).await.unwrap(), [(ingress, 1, 3), (egress, 1, 0)]);
    assert_eq!(read(5, None).await, Err(Code::NotFound));
    assert_eq!(read(egress, Some(16)).await, Err(Code::OutOfRange));
    assert_eq!(read(egress, Some(-1)).await, Err(Code::OutOfRange));
}

#[tokio::test]
async fn clients_that_come_and_go_leave_room_for_others() {
    let mut controller = Controller::new().await;
    for round in 1..=200 {
        let mut client = P4RuntimeClient::connect(controller.address.clone()).await.unwrap();
        std::mem::swap(&mut controller.client, &mut client);
        let mut stream = controller.stream().await;
        stream.ask(1, round).await;
        assert_eq!(stream.told().await.unwrap(), Code::Ok);
    }
}

/// The codes of a Write of many updates have no room in a header; the reason of the refusal arrives all the
/// same.
#[tokio::test]
async fn a_refusal_of_many_updates_arrives() {
    let (mut controller, _stream) = Controller::committed().await;
    let entries = entries();
    let twice = inserts(&[&entries[..], &entries[..1]].concat());
    assert!(twice.len() > 1_000, "{}", twice.len());
    let status = controller.write(twice, Atomicity::DataplaneAtomic, 7).await.unwrap_err();
    assert_eq!(codes(&status), []);
    let last = format!("update {}: table ingress.flows: the entry is there already", entries.len() + 1);
    assert!(status.message().contains(&last), "{status}");
    // Nothing has happened to the connection.
    assert_eq!(controller.entries(0).await, []);
}

#[tokio::test]
async fn a_read_of_too_much_is_refused() {
    let (mut controller, _stream) = Controller::committed().await;
    let counters = Entity { entity: Some(entity::Entity::CounterEntry(CounterEntry::default())) };
    let mut ask = async |entities| {
        let request =
            ReadRequest { device_id: 1, entities: vec![counters.clone(); entities], ..Default::default() };
        controller.client.read(request).await.map(drop)
    };
    assert_eq!(code(ask(1_000).await), Code::Ok);
    assert_eq!(code(ask(1_001).await), Code::ResourceExhausted);
}
