//! A switch that runs a P4 program.

use std::collections::BTreeMap;

use dumper::SwitchCounters;
use dumper::serve::Address;
use dumper::serve::tls::Keys;
use prost::Message;

use super::captured::{COUNTER_CELLS, add_counter};
use super::connection::Connection;
use super::error::{SwitchError, Why};
use crate::Tables;
use crate::entries::program::{Compiled, Wiring, items};
use crate::entries::{Intent, Item, update};
use crate::proto::runtime::{
    CloneSessionEntry, CounterEntry, Entity, ForwardingPipelineConfig, MulticastGroupEntry,
    PacketReplicationEngineEntry, Replica, TableEntry, Update, entity, packet_replication_engine_entry,
    set_forwarding_pipeline_config_request::Action, update::Type, write_request::Atomicity,
};

/// A switch, and its program as the compiler made it.
#[derive(Clone, Debug)]
pub struct Device {
    /// Number of the device in P4Runtime.
    pub id: u64,
    /// The program's P4Info.
    pub compiled: Compiled,
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
    /// The switch has its program, without entries but for those that were written.
    is_set_up: bool,
    /// Number of the test.
    epoch: u32,
    /// Entries of the switch, by their tables and keys.
    written: BTreeMap<Vec<u8>, Item>,
    /// Counters when the test began.
    before: SwitchCounters,
}

impl ProgramClient {
    /// Connects, over TLS with keys, becomes the primary, and gives the switch its program, with sessions for the dumpers and groups for copies of
    /// packets. A client that connected earlier is primary no more: the last one counts.
    ///
    /// # Errors
    /// When the switch cannot be reached, does not answer in time, has a primary with a higher identifier, or refuses the program.
    pub async fn connect(
        address: &Address,
        keys: Option<&Keys>,
        device: Device,
    ) -> Result<Self, SwitchError> {
        let connection = Connection::open(address, keys, device.id).await?;
        let (written, before) = (BTreeMap::new(), SwitchCounters::default());
        let mut client = Self { connection, device, is_set_up: false, epoch: 0, written, before };
        client.set_up().await.map_err(|why| client.connection.failed("loading its program", why))?;
        Ok(client)
    }

    async fn set_up(&mut self) -> Result<(), Why> {
        self.is_set_up = false;
        let config = ForwardingPipelineConfig {
            p4info: self.device.compiled.p4info().to_vec(),
            p4_device_config: self.device.config.clone(),
            ..Default::default()
        };
        self.connection.set_pipeline(Action::VerifyAndCommit, Some(config)).await?;
        let has = Compiled::read(self.connection.p4info().await?);
        let has = has.map_err(|error| Why::OtherProgram(error.to_string()))?;
        let number = |(id, _)| id;
        if !has.counters().map(number).eq(self.device.compiled.counters().map(number)) {
            return Err(Why::OtherProgram("its counters have other numbers".to_owned()));
        }
        let wiring = &self.device.wiring;
        let sessions = wiring.sessions().map(|(session_id, port)| {
            let replicas = vec![Replica { egress_port: port, instance: 0 }];
            let session = CloneSessionEntry { session_id, replicas, ..Default::default() };
            (packet_replication_engine_entry::Type::CloneSessionEntry(session), Intent::Dumper(port))
        });
        let groups = wiring.groups().map(|(multicast_group_id, port, replicas)| {
            let replicas = (1..=replicas).map(|instance| Replica { egress_port: port, instance });
            let group = MulticastGroupEntry { multicast_group_id, replicas: replicas.collect() };
            (packet_replication_engine_entry::Type::MulticastGroupEntry(group), Intent::Host(port))
        });
        let updates = sessions.chain(groups).map(|(entry, intent)| {
            let entry = PacketReplicationEngineEntry { r#type: Some(entry) };
            let entity = Some(entity::Entity::PacketReplicationEngineEntry(entry));
            (Update { r#type: Type::Insert.into(), entity: Some(Entity { entity }) }, intent)
        });
        self.connection.write(updates, Atomicity::ContinueOnError).await?;
        (self.epoch, self.written, self.is_set_up) = (0, BTreeMap::new(), true);
        Ok(())
    }

    /// Replaces the entries of the switch by those of a test: registers, mirror sequence numbers and counters start again. No packets of a
    /// test may be on their way. `tables` are as [`translate`](crate::translate()) made them. A switch that did not answer before is
    /// connected to again.
    ///
    /// # Errors
    /// When the test has what the program cannot do, or when the switch refuses an entry, which the error names, or is lost.
    pub async fn program(&mut self, tables: &Tables) -> Result<(), SwitchError> {
        if self.connection.is_lost() {
            let (address, keys) = (self.connection.address(), self.connection.keys());
            *self = Self::connect(address, keys, self.device.clone()).await?;
        }
        // Registers hold the number of the test: after the last one they begin with 0 again.
        if !self.is_set_up || self.epoch == u32::MAX {
            self.set_up().await.map_err(|why| self.connection.failed("loading its program", why))?;
        }
        self.write_all(tables).await.map_err(|why| self.connection.failed("writing tables", why))
    }

    async fn write_all(&mut self, tables: &Tables) -> Result<(), Why> {
        let wanted = items(tables, &self.device.wiring, self.epoch + 1).map_err(Why::Unsupported)?;
        self.epoch += 1;
        // What the switch has is known again when all is written.
        self.is_set_up = false;
        let mut updates = Vec::new();
        let mut stale = std::mem::take(&mut self.written);
        for item in wanted {
            let key = key(&item.entry);
            match stale.remove(&key) {
                Some(known) if known.entry == item.entry => {}
                Some(_) => updates.push((update(item.entry.clone(), Type::Modify), item.intent)),
                None => updates.push((update(item.entry.clone(), Type::Insert), item.intent)),
            }
            self.written.insert(key, item);
        }
        // First, so that there is room for the others.
        let gone = stale.into_values().map(|item| (update(item.entry, Type::Delete), item.intent));
        self.connection.write(gone.chain(updates), Atomicity::ContinueOnError).await?;
        self.is_set_up = true;
        self.before = self.read_counters().await?;
        Ok(())
    }

    /// Counters of the ports of hosts and dumpers since [`program`](Self::program).
    ///
    /// # Errors
    /// When the switch refuses or is lost, or sends an unreadable answer.
    pub async fn counters(&mut self) -> Result<SwitchCounters, SwitchError> {
        let now = self.read_counters().await;
        let now = now.map_err(|why| self.connection.failed("reading counters", why))?;
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
        let wanted = self.device.compiled.counters().map(|(counter_id, _)| {
            let entry = CounterEntry { counter_id, ..Default::default() };
            Entity { entity: Some(entity::Entity::CounterEntry(entry)) }
        });
        let wiring = &self.device.wiring;
        let ports: Vec<u32> =
            wiring.hosts.into_iter().chain(wiring.dumpers.iter().map(|dumper| dumper.port)).collect();
        let mut counters = SwitchCounters { host_ports: wiring.hosts.to_vec(), ..Default::default() };
        let wanted: Vec<_> = wanted.collect();
        for entity in self.connection.read(wanted, COUNTER_CELLS).await? {
            add_counter(&mut counters, &entity, self.device.compiled.counters())?;
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
