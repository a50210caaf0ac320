//! The entries that a controller has written.

use std::collections::BTreeMap;
use std::ops::Bound;

use corpus::Repeat;
use corpus::config::fields::MAX_TOTAL_PACKETS;
use tonic::Code;

use super::item::{self, ItemKey, ItemValue};
use super::row::Refusal;
use super::schema::TABLES;
use crate::flow::Registers;
use crate::network::PathRule;
use crate::proto::runtime::{Entity, TableEntry, Update, entity, update::Type};
use crate::{FlowIndex, Tables};

/// Entries by their keys, as many as the schema's tables hold.
#[derive(Clone, Debug, Default)]
pub struct Store {
    items: BTreeMap<ItemKey, ItemValue>,
    /// Entries of each table, in the order of [`TABLES`].
    lengths: [usize; TABLES.len()],
}

/// Record for undoing an update: the key, and the value before the update.
type Undo = (ItemKey, Option<ItemValue>);

impl Store {
    /// Applies updates one after the other and returns the result of each. If `all_or_none` is true and one
    /// fails, none is applied.
    pub fn write(&mut self, updates: &[Update], all_or_none: bool) -> Vec<Result<(), Refusal>> {
        let mut undo = Vec::new();
        let mut results = Vec::with_capacity(updates.len());
        for update in updates {
            let result = self.apply(update);
            results.push(result.map(|before| undo.push(before)));
        }
        if all_or_none && results.iter().any(Result::is_err) {
            for (key, before) in undo.into_iter().rev() {
                self.put(key, before);
            }
            let aborted =
                || Refusal::new(Code::Aborted, "not done, as another update of the batch was refused");
            results.iter_mut().filter(|result| result.is_ok()).for_each(|result| *result = Err(aborted()));
        }
        results
    }

    fn apply(&mut self, update: &Update) -> Result<Undo, Refusal> {
        let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
        let entry = match entity {
            Some(entity::Entity::TableEntry(entry)) => entry,
            Some(entity::Entity::CounterEntry(_)) => {
                let message = "counters are reset by committing a pipeline, and cannot be written";
                return Err(Refusal::new(Code::Unimplemented, message));
            }
            Some(entity::Entity::PacketReplicationEngineEntry(_)) | None => {
                return Err(Refusal::new(
                    Code::Unimplemented,
                    "the update is of no kind of entity known here: table entries",
                ));
            }
        };
        let (table, key) = item::decode_key(entry)?;
        let there = self.items.contains_key(&key);
        let refuse = |code, what| Err(Refusal::new(code, format!("table {}: {what}: {key:?}", table.name)));
        let value = match update.r#type() {
            Type::Unspecified => {
                return refuse(Code::InvalidArgument, "neither insert, modify nor delete is asked for");
            }
            Type::Insert if there => return refuse(Code::AlreadyExists, "the entry is there already"),
            Type::Modify | Type::Delete if !there => return refuse(Code::NotFound, "there is no such entry"),
            Type::Insert if self.lengths[place(&key)] >= table.size => {
                return refuse(
                    Code::ResourceExhausted,
                    &format!("it holds {} entries and is full", table.size),
                );
            }
            Type::Insert | Type::Modify => Some(item::decode(entry)?.1),
            Type::Delete => None,
        };
        let before = self.put(key, value);
        Ok((key, before))
    }

    /// Sets or removes a value and returns the former one.
    fn put(&mut self, key: ItemKey, value: Option<ItemValue>) -> Option<ItemValue> {
        let is_there = value.is_some();
        let before = match value {
            Some(value) => self.items.insert(key, value),
            None => self.items.remove(&key),
        };
        let length = &mut self.lengths[place(&key)];
        *length = *length + usize::from(is_there) - usize::from(before.is_some());
        before
    }

    /// Entries of a table, or of all where `table` is 0, from the one after `after` on, with their keys.
    pub(crate) fn read(
        &self,
        table: u32,
        after: Option<ItemKey>,
    ) -> impl Iterator<Item = (ItemKey, TableEntry)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.items
            .range((from, Bound::Unbounded))
            .filter(move |(key, _)| table == 0 || TABLES[place(key)].id == table)
            .map(|(key, value)| (*key, item::encode(&(*key, *value))))
    }

    /// The entry with the key of `wanted`, if there is one.
    pub(crate) fn find(&self, wanted: &TableEntry) -> Result<Option<TableEntry>, Refusal> {
        let (_, key) = item::decode_key(wanted)?;
        Ok(self.items.get(&key).map(|value| item::encode(&(key, *value))))
    }

    /// The tables that the entries make.
    ///
    /// # Errors
    /// When flows are not numbered from 0 without gaps, or an entry is of a flow that is not there.
    pub fn tables(&self) -> Result<Tables, Refusal> {
        let mut tables = Tables::default();
        let mut flows: Vec<_> = self
            .items
            .iter()
            .filter_map(|(key, value)| match (key, value) {
                (ItemKey::Flow(ip, qpn), ItemValue::Flow(flow, rounds)) => Some((*flow, *ip, *qpn, *rounds)),
                _ => None,
            })
            .collect();
        flows.sort_unstable_by_key(|(flow, ..)| *flow);
        for (at, (flow, ip, qpn, rounds)) in flows.iter().enumerate() {
            if flow.index() != at {
                return Err(Refusal::new(
                    Code::FailedPrecondition,
                    format!(
                        "flows are numbered from 0 without gaps: number {at} is to come, and QPN {qpn} at {ip} has {}",
                        flow.index()
                    ),
                ));
            }
            tables.add_flow(*ip, *qpn, Registers::new(*rounds));
        }
        let known = |flow: FlowIndex| {
            let missing =
                || format!("an entry is of flow {}, and there are {} flows", flow.index(), flows.len());
            (flow.index() < flows.len())
                .then_some(())
                .ok_or_else(|| Refusal::new(Code::FailedPrecondition, missing()))
        };
        let mut places = 0;
        let mut paths = PathRule::default();
        for (key, value) in &self.items {
            match (*key, *value) {
                (ItemKey::Data(flow, psn, iter), ItemValue::Data(actions)) => {
                    known(flow)?;
                    tables.add_data(flow, dumper::Psn::new(psn), iter, actions);
                }
                (ItemKey::Control(flow, packet, _), ItemValue::Control(nth, actions)) => {
                    known(flow)?;
                    tables.add_control(flow, packet, nth, actions);
                }
                (ItemKey::Loss(flow), ItemValue::Loss(rule)) => {
                    known(flow)?;
                    // Each packet of a flow has counters; a test has two flows for each of its packets.
                    places += u64::from(rule.packets);
                    if places > 2 * MAX_TOTAL_PACKETS {
                        let message = format!(
                            "flows with losses have more than {} packets in all",
                            2 * MAX_TOTAL_PACKETS
                        );
                        return Err(Refusal::new(Code::FailedPrecondition, message));
                    }
                    tables.set_loss(flow, rule);
                }
                (ItemKey::Path(number), ItemValue::Path(path)) => {
                    let at = paths.paths.len();
                    if usize::from(number) != at {
                        let message =
                            format!("paths are numbered from 0 without gaps: number {at} is missing");
                        return Err(Refusal::new(Code::FailedPrecondition, message));
                    }
                    paths.paths.push(path);
                }
                (ItemKey::Spread(_), ItemValue::Spread(spread)) => paths.spread = Some(spread),
                (ItemKey::Repeat(kind), ItemValue::Repeat(packets, matching)) => {
                    let mut repeat = tables.repeat();
                    (Repeat::NUMBERS[usize::from(kind)].set)(&mut repeat, packets);
                    if repeat.retransmissions > 1 {
                        repeat.matching = matching;
                    }
                    tables.set_repeat(repeat);
                }
                _ => {}
            }
        }
        tables.set_paths(paths);
        Ok(tables)
    }
}

/// An entry as an entity of a Read.
pub(crate) fn entity(entry: TableEntry) -> Entity {
    Entity { entity: Some(entity::Entity::TableEntry(entry)) }
}

/// Place of a key's table among [`TABLES`].
const fn place(key: &ItemKey) -> usize {
    match key {
        ItemKey::Flow(..) => 0,
        ItemKey::Data(..) => 1,
        ItemKey::Control(..) => 2,
        ItemKey::Loss(..) => 3,
        ItemKey::Repeat(..) => 4,
        ItemKey::Path(..) => 5,
        ItemKey::Spread(..) => 6,
    }
}
