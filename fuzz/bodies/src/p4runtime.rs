use corpus::Role;
use p4::entries::{items, p4info, update};
use p4::proto::runtime::p4_runtime_server::P4Runtime;
use p4::proto::runtime::{
    Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, MasterArbitrationUpdate,
    ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageRequest, TableEntry, Uint128, Update,
    WriteRequest, entity, stream_message_request, update::Type, write_request::Atomicity,
};
use p4::server::Control;
use p4::switch::{Limits, Shared, Switch};
use p4::translate;
use prost::Message;
use tokio::runtime::Builder;
use tokio_stream::StreamExt;
use tonic::codec::Codec;
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::choices::Choices;
use crate::services::{Frames, framed};
use crate::switch::connection;

/// Has a controller that is the primary, and others, ask the software switch for what the input describes: messages of its bytes, and
/// entries of a test of which bytes are changed. Frames come in between.
///
/// # Panics
/// When a Write that is done in whole or not at all is done in part, or one that is done leaves another number of entries.
pub(crate) fn p4runtime(data: &[u8]) {
    let runtime =
        Builder::new_current_thread().build().expect("a runtime without I/O needs nothing of the system");
    runtime.block_on(async {
        let switch = Shared::new(Switch::new(Limits::default()));
        let control = Control::new(switch.clone());
        let _primary = stream(&control, vec![arbitration(ELECTION)]).await;
        let mut choices = Choices::of(data);
        let mut out = Vec::new();
        while choices.are_left() {
            match choices.below(8) {
                0 => set_pipeline(&control, &mut choices).await,
                1 => {
                    let request =
                        StreamMessageRequest::decode(choices.bytes().as_slice()).unwrap_or_default();
                    let _ = stream(&control, vec![request, arbitration(u64::from(choices.byte()))]).await;
                }
                2 => {
                    if let Ok(request) = ReadRequest::decode(choices.bytes().as_slice()) {
                        let _ = read(&control, request).await;
                    }
                }
                3 => {
                    if let Ok(request) = WriteRequest::decode(choices.bytes().as_slice()) {
                        write(&control, request).await;
                    }
                }
                4 => {
                    let request = GetForwardingPipelineConfigRequest::decode(choices.bytes().as_slice());
                    let _ = control
                        .get_forwarding_pipeline_config(Request::new(request.unwrap_or_default()))
                        .await;
                }
                5 => {
                    let frame = choices.bytes();
                    let now = switch.now();
                    switch.lock().receive(Role::Requester, &frame, now, &mut out);
                }
                _ => write_entries(&control, &mut choices).await,
            }
        }
    });
}

/// The election identifier of the primary.
const ELECTION: u64 = 10;

const fn election(low: u64) -> Uint128 {
    Uint128 { high: 0, low }
}

fn arbitration(id: u64) -> StreamMessageRequest {
    let update =
        MasterArbitrationUpdate { device_id: 1, election_id: Some(election(id)), ..Default::default() };
    StreamMessageRequest { update: Some(stream_message_request::Update::Arbitration(update)) }
}

type Notices = <Control as P4Runtime>::StreamChannelStream;

/// Opens a stream that stays open, and waits for its first notice.
async fn stream(control: &Control, requests: Vec<StreamMessageRequest>) -> Option<Notices> {
    let frames = requests.iter().map(|request| framed(&request.encode_to_vec()));
    let body = Frames { frames: frames.collect(), ends: false };
    let decoder = ProstCodec::<(), StreamMessageRequest>::default().decoder();
    let requests = Streaming::new_request(decoder, body, None, None);
    let mut notices = control.stream_channel(Request::new(requests)).await.ok()?.into_inner();
    notices.next().await?.ok()?;
    Some(notices)
}

async fn set_pipeline(control: &Control, choices: &mut Choices<'_>) {
    let p4info = match choices.below(4) {
        0 => choices.bytes(),
        _ => p4info().encode_to_vec(),
    };
    let config = (choices.below(4) > 0).then(|| ForwardingPipelineConfig { p4info, ..Default::default() });
    let request = SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(election(ELECTION)),
        action: choices.below(7) as i32,
        config,
        ..Default::default()
    };
    let _ = control.set_forwarding_pipeline_config(Request::new(request)).await;
}

/// Writes entries of a test, some of them with a byte changed.
async fn write_entries(control: &Control, choices: &mut Choices<'_>) {
    let kind = [Type::Insert, Type::Modify, Type::Delete][choices.below(3) as usize];
    let atomicity = choices.below(3) as i32;
    let (at, place, byte) = (choices.byte(), choices.byte(), choices.byte());
    let config = choices.test(2);
    let connections: Vec<_> = (1..=config.traffic.load.connections()).map(connection).collect();
    let Ok(tables) = translate(&config, &connections) else { return };
    let mut updates: Vec<_> =
        items(&tables).into_iter().take(64).map(|item| update(item.entry, kind)).collect();
    if let Some(changed) = updates.get_mut(usize::from(at)) {
        let mut bytes = changed.encode_to_vec();
        let place = usize::from(place) % bytes.len();
        bytes[place] ^= byte;
        if let Ok(update) = Update::decode(bytes.as_slice()) {
            *changed = update;
        }
    }
    let request = WriteRequest {
        device_id: 1,
        election_id: Some(election(ELECTION)),
        updates,
        atomicity,
        ..Default::default()
    };
    write(control, request).await;
}

async fn write(control: &Control, request: WriteRequest) {
    let before = entries(control).await;
    let is_atomic = request.atomicity() != Atomicity::ContinueOnError;
    let of = |kind: Type| request.updates.iter().filter(move |update| update.r#type() == kind).count();
    let (inserted, deleted) = (of(Type::Insert), of(Type::Delete));
    let done = P4Runtime::write(control, Request::new(request)).await;
    let after = entries(control).await;
    match (before, after) {
        (Some(before), Some(after)) if done.is_ok() => {
            // A pipeline that is saved has been written to instead.
            assert!(after.len() + deleted == before.len() + inserted || after == before);
        }
        (before, after) if is_atomic => assert_eq!(before, after),
        _ => {}
    }
}

/// The entries of the committed pipeline; none without one.
async fn entries(control: &Control) -> Option<Vec<Entity>> {
    let all = entity::Entity::TableEntry(TableEntry::default());
    let request =
        ReadRequest { device_id: 1, entities: vec![Entity { entity: Some(all) }], ..Default::default() };
    read(control, request).await.ok()
}

async fn read(control: &Control, request: ReadRequest) -> Result<Vec<Entity>, Status> {
    let mut messages = P4Runtime::read(control, Request::new(request)).await?.into_inner();
    let mut all = Vec::new();
    while let Some(message) = messages.next().await {
        all.extend(message?.entities);
    }
    Ok(all)
}
