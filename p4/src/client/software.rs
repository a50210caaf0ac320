//! The software switch.

use std::time::Duration;

use dumper::serve::Address;
use dumper::serve::tls::Keys;
use prost::Message;
use tonic::transport::Channel;

use super::captured::{COUNTER_CELLS, Captured, Collector, add_counter};
use super::connection::{Connection, answer, answer_of_stream, within};
use super::error::{SwitchError, Why};
use crate::Tables;
use crate::entries::schema::COUNTERS;
use crate::entries::{self, p4info};
use crate::proto::capture::capture_client::CaptureClient;
use crate::proto::capture::{CollectRequest, collect_response::Part};
use crate::proto::runtime::{
    CounterEntry, Entity, ForwardingPipelineConfig, entity, set_forwarding_pipeline_config_request::Action,
    update::Type, write_request::Atomicity,
};
use crate::server::DEVICE_ID;
use crate::switch::HOST_PORTS;

/// Longest wait for a whole capture: half a gigabyte, if no other limits were given to the switch.
const COLLECT_TIMEOUT: Duration = Duration::from_secs(300);

/// A software switch of which this client is the primary, as long as it lives and no other takes its place.
#[derive(Debug)]
pub struct SwitchClient {
    connection: Connection,
    capture: CaptureClient<Channel>,
}

impl SwitchClient {
    /// Connects, over TLS with keys, and becomes the primary. A client that connected earlier is one no more: the last one counts.
    ///
    /// # Errors
    /// When the switch cannot be reached, does not answer in time, or has a primary with a higher identifier.
    pub async fn connect(address: &Address, keys: Option<&Keys>) -> Result<Self, SwitchError> {
        let connection = Connection::open(address, keys, DEVICE_ID).await?;
        let capture = CaptureClient::new(connection.channel.clone());
        Ok(Self { connection, capture })
    }

    /// Replaces the tables of the switch by those of a test, at once: registers, mirror sequence numbers and
    /// counters start again, with an empty capture. `tables` are as [`translate`](crate::translate()) made
    /// them.
    ///
    /// # Errors
    /// When the switch refuses or is lost. Then it has the tables that it had before, or (where the answer to the last
    /// step was lost) the new ones. One that did not answer before is connected to again.
    pub async fn program(&mut self, tables: &Tables) -> Result<(), SwitchError> {
        if self.connection.is_lost() {
            *self = Self::connect(self.connection.address(), self.connection.keys()).await?;
        }
        self.write_all(tables).await.map_err(|why| self.connection.failed("writing tables", why))
    }

    async fn write_all(&mut self, tables: &Tables) -> Result<(), Why> {
        let config = ForwardingPipelineConfig { p4info: p4info().encode_to_vec(), ..Default::default() };
        self.connection.set_pipeline(Action::VerifyAndSave, Some(config)).await?;
        let items = entries::items(tables).into_iter();
        let updates = items.map(|item| (entries::update(item.entry, Type::Insert), item.intent));
        self.connection.write(updates, Atomicity::DataplaneAtomic).await?;
        self.connection.set_pipeline(Action::Commit, None).await
    }

    /// Counters of the switch since [`program`](Self::program).
    ///
    /// # Errors
    /// When the switch refuses or is lost, or sends an unreadable answer.
    pub async fn counters(&mut self) -> Result<dumper::SwitchCounters, SwitchError> {
        self.read_counters().await.map_err(|why| self.connection.failed("reading counters", why))
    }

    /// Ends the capture, and returns its packets and counters since [`program`](Self::program).
    ///
    /// # Errors
    /// When the switch refuses or is lost, or sends an unreadable answer.
    pub async fn collect(&mut self) -> Result<Captured, SwitchError> {
        self.collect_all().await.map_err(|why| self.connection.failed("collecting the capture", why))
    }

    async fn collect_all(&mut self) -> Result<Captured, Why> {
        let request = CollectRequest {
            device_id: self.connection.device_id(),
            election_id: Some(self.connection.election_id()),
        };
        let mut parts = match answer(self.capture.collect(request)).await {
            Ok(parts) => parts,
            Err(why) => return Err(self.connection.explained(why).await),
        };
        let mut collector = Collector::new();
        let packets = async {
            loop {
                match answer_of_stream(&mut parts).await?.and_then(|message| message.part) {
                    Some(Part::Packets(packets)) => collector.add(packets)?,
                    Some(Part::Summary(summary)) => return Ok(summary),
                    None => return Err(Why::Protocol("the capture ended without its summary".to_owned())),
                }
            }
        };
        let summary = within(COLLECT_TIMEOUT, packets).await??;
        let counters = self.read_counters().await?;
        collector.finish(summary, counters)
    }

    async fn read_counters(&mut self) -> Result<dumper::SwitchCounters, Why> {
        let wanted = Entity { entity: Some(entity::Entity::CounterEntry(CounterEntry::default())) };
        let [requester, responder] = HOST_PORTS;
        let mut counters =
            dumper::SwitchCounters { host_ports: vec![requester, responder], ..Default::default() };
        for entity in self.connection.read(vec![wanted], COUNTER_CELLS).await? {
            let known = COUNTERS.into_iter().map(|counter| (counter.id, counter));
            add_counter(&mut counters, &entity, known)?;
        }
        Ok(counters)
    }
}
