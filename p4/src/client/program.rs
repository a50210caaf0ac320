//! A switch that runs a P4 program.

use std::collections::BTreeMap;

use dumper::SwitchCounters;
use prost::Message;
use tonic::{Code, Status};

use super::WRITE_CHUNK;
use super::captured::add_counter;
use super::connection::Connection;
use super::error::{SwitchError, Why};
use crate::entries::program::{Intent, Item, PROGRAM_COUNTERS, Wiring, items};
use crate::entries::{program_p4info, update};
use crate::proto::rpc;
use crate::proto::runtime::{
    CloneSessionEntry, CounterEntry, Entity, Error, ForwardingPipelineConfig, MulticastGroupEntry,
    PacketReplicationEngineEntry, Replica, TableEntry, Update, entity, packet_replication_engine_entry,
    set_forwarding_pipeline_config_request::Action, update::Type, write_request::Atomicity,
};
use crate::{Address, Tables};

/// A switch, and its program as the compiler made it.
#[derive(Clone, Debug)]
pub struct Device {
    /// Number of the device in P4Runtime.
    pub id: u64,
    /// Architecture of its program, as the P4Info gives it: `v1model` or `tna`.
    pub arch: String,
    /// The compiled program: JSON for bmv2.
    pub config: Vec<u8>,
    /// Ports of the hosts and dumpers.
    pub wiring: Wiring,
}

/// A switch of which this client is the primary, as long as it lives and no other takes its place.
#[derive(Debug)]
pub struct ProgramClient {
    connection: Connection,
    device: Device,
    /// Number of the test.
    epoch: u32,
    /// Entries of the switch, by their tables and keys.
    written: BTreeMap<Vec<u8>, TableEntry>,
    /// Counters when the test began.
    before: SwitchCounters,
}

impl ProgramClient {
    /// Connects, becomes the primary, and gives the switch its program, with sessions for the dumpers and groups for copies of
    /// packets. A client that connected earlier is primary no more: the last one counts.
    ///
    /// # Errors
    /// When the switch cannot be reached, does not answer in time, has a primary with a higher identifier, or refuses the program.
    pub async fn connect(address: &Address, device: Device) -> Result<Self, SwitchError> {
        let connection = Connection::open(address, device.id).await?;
        let (written, before) = (BTreeMap::new(), SwitchCounters::default());
        let mut client = Self { connection, device, epoch: 0, written, before };
        client.set_up().await.map_err(|why| client.connection.error("loading its program", why))?;
        Ok(client)
    }

    async fn set_up(&mut self) -> Result<(), Why> {
        let config = ForwardingPipelineConfig {
            p4info: Some(program_p4info(&self.device.arch)),
            p4_device_config: self.device.config.clone(),
            ..Default::default()
        };
        self.connection.set_pipeline(Action::VerifyAndCommit, Some(config)).await?;
        (self.epoch, self.written) = (0, BTreeMap::new());
        let wiring = &self.device.wiring;
        let sessions = wiring.sessions().map(|(session_id, port)| {
            let replicas = vec![Replica { egress_port: port, instance: 0 }];
            let session = CloneSessionEntry { session_id, replicas, ..Default::default() };
            packet_replication_engine_entry::Type::CloneSessionEntry(session)
        });
        let groups = wiring.groups().map(|(multicast_group_id, port, replicas)| {
            let replicas = (1..=replicas).map(|instance| Replica { egress_port: port, instance });
            let group = MulticastGroupEntry { multicast_group_id, replicas: replicas.collect() };
            packet_replication_engine_entry::Type::MulticastGroupEntry(group)
        });
        let updates = sessions.chain(groups).map(|entry| {
            let entry = PacketReplicationEngineEntry { r#type: Some(entry) };
            let entity = Some(entity::Entity::PacketReplicationEngineEntry(entry));
            Update { r#type: Type::Insert.into(), entity: Some(Entity { entity }) }
        });
        self.connection.write(updates.collect(), Atomicity::ContinueOnError, Why::from).await
    }

    /// Replaces the entries of the switch by those of a test: registers, mirror sequence numbers and counters start again. No packets of a
    /// test may be on their way. `tables` are as [`translate`](crate::translate()) made them.
    ///
    /// # Errors
    /// When the test has what the program cannot do, or when the switch refuses an entry, which the error names, or is lost.
    pub async fn program(&mut self, tables: &Tables) -> Result<(), SwitchError> {
        self.write_all(tables).await.map_err(|why| self.connection.error("writing tables", why))
    }

    async fn write_all(&mut self, tables: &Tables) -> Result<(), Why> {
        if self.epoch == u32::MAX {
            // What the registers hold is taken for that of an earlier test, until they begin with 0 again.
            self.set_up().await?;
        }
        self.epoch += 1;
        let wanted = items(tables, &self.device.wiring, self.epoch).map_err(Why::Unsupported)?;
        let mut updates: Vec<(Update, Option<Intent>)> = Vec::new();
        let mut stale = std::mem::take(&mut self.written);
        for Item { entry, intent } in wanted {
            let key = key(&entry);
            match stale.remove(&key) {
                Some(known) if known == entry => {}
                Some(_) => updates.push((update(entry.clone(), Type::Modify), Some(intent))),
                None => updates.push((update(entry.clone(), Type::Insert), Some(intent))),
            }
            self.written.insert(key, entry);
        }
        // First, so that there is room for the others.
        let gone = stale.into_values().map(|entry| (update(entry, Type::Delete), None));
        let mut updates = gone.chain(updates).peekable();
        while updates.peek().is_some() {
            let (updates, intents): (Vec<_>, Vec<_>) = updates.by_ref().take(WRITE_CHUNK).unzip();
            let refused = |status| refused(status, &intents);
            if let Err(why) = self.connection.write(updates, Atomicity::ContinueOnError, refused).await {
                // What the switch has now is not known.
                self.set_up().await?;
                return Err(why);
            }
        }
        self.before = self.read_counters().await?;
        Ok(())
    }

    /// Counters of the ports of hosts and dumpers since [`program`](Self::program).
    ///
    /// # Errors
    /// When the switch refuses or is lost, or sends an unreadable answer.
    pub async fn counters(&mut self) -> Result<SwitchCounters, SwitchError> {
        let now = self.read_counters().await.map_err(|why| self.connection.error("reading counters", why))?;
        let since = |now: &BTreeMap<u32, u64>, before: &BTreeMap<u32, u64>| {
            let of = |port: &u32| before.get(port).copied().unwrap_or(0);
            now.iter().map(|(port, packets)| (*port, packets.saturating_sub(of(port)))).collect()
        };
        Ok(SwitchCounters {
            ingress: since(&now.ingress, &self.before.ingress),
            egress: since(&now.egress, &self.before.egress),
            host_ports: now.host_ports,
        })
    }

    async fn read_counters(&mut self) -> Result<SwitchCounters, Why> {
        let wanted = PROGRAM_COUNTERS.iter().map(|counter| {
            let entry = CounterEntry { counter_id: counter.id, ..Default::default() };
            Entity { entity: Some(entity::Entity::CounterEntry(entry)) }
        });
        let wiring = &self.device.wiring;
        let ports: Vec<u32> =
            wiring.hosts.into_iter().chain(wiring.dumpers.iter().map(|dumper| dumper.port)).collect();
        let mut counters = SwitchCounters { host_ports: wiring.hosts.to_vec(), ..Default::default() };
        for entity in self.connection.read(wanted.collect()).await? {
            add_counter(&mut counters, &entity)?;
        }
        counters.ingress.retain(|port, _| ports.contains(port));
        counters.egress.retain(|port, _| ports.contains(port));
        Ok(counters)
    }
}

/// Table and key of an entry.
fn key(entry: &TableEntry) -> Vec<u8> {
    TableEntry { table_id: entry.table_id, r#match: entry.r#match.clone(), ..Default::default() }
        .encode_to_vec()
}

/// Refusal of a Write, with the intent of the first entry that was refused.
fn refused(status: Status, intents: &[Option<Intent>]) -> Why {
    let details = rpc::Status::decode(status.details()).unwrap_or_default().details;
    let errors = details.iter().map(|detail| Error::decode(detail.value.as_slice()).unwrap_or_default());
    let first = intents.iter().zip(errors).find(|(_, error)| error.canonical_code != i32::from(Code::Ok));
    match first {
        Some((intent, error)) => Why::Entry {
            intent: intent
                .as_ref()
                .map_or_else(|| "an entry of an earlier test".to_owned(), Intent::to_string),
            code: Code::from(error.canonical_code),
            message: error.message,
        },
        None => Why::from(status),
    }
}
