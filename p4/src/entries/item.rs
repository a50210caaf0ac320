//! Meaning of entries: flows, and events on data and control packets.

use std::net::{IpAddr, Ipv6Addr};

use corpus::config::fields::NumberOf;
use corpus::config::{HeaderField, LAST_OCCURRENCE, Points, SetField, fields};
use corpus::{Action, ControlPacket, IterMode, PacketKinds, Path, Repeat, RepeatMatch, Spray, SprayPackets};
use dumper::{Nanos, Psn};
use tonic::Code;

use super::intent::{Intent, Item};
use super::row::{self, Numbers, Refusal};
use super::schema::{CONTROL_EVENTS, DATA_EVENTS, FLOWS, LOSSES, PATHS, REPEATS, SPREAD, Table};
use crate::action::ALL_COPIES;
use crate::network::{LossRule, Spread};
use crate::proto::runtime::{Entity, TableEntry, Update, entity, update::Type};
use crate::{Actions, FlowIndex, Key, Rounds, Tables, Timing};

/// Key of an entry, in the order in which entries are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ItemKey {
    /// Destination address and QPN of a flow.
    Flow(IpAddr, u32),
    /// Flow, PSN and ITER of a data packet.
    Data(FlowIndex, u32, u8),
    /// Flow and kind of control packets, and the number of the rule.
    Control(FlowIndex, ControlPacket, u32),
    /// Flow whose packets are lost.
    Loss(FlowIndex),
    /// Kind of packets that leave more than once, by its place in [`Repeat::NUMBERS`].
    Repeat(u8),
    /// Number of a path, from 0.
    Path(u8),
    /// Packets that are spread over the paths, by their place in [`SprayPackets::NAMES`].
    Spread(u8),
}

/// Value of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ItemValue {
    /// The flow, with its register of rounds before the first packet.
    Flow(FlowIndex, Rounds),
    /// Actions on a data packet.
    Data(Actions),
    /// Control packets that are matched, and the actions on them.
    Control(Points, Actions),
    /// Losses of the flow.
    Loss(LossRule),
    /// Packets that leave for one, and how a retransmission is known.
    Repeat(u64, RepeatMatch),
    /// The path.
    Path(Path),
    /// How packets are spread.
    Spread(Spread),
}

/// An entry, decoded.
pub(crate) type Decoded = (ItemKey, ItemValue);

/// All entries of tables that no pipeline has been made of yet.
pub fn items(tables: &Tables) -> Vec<Item> {
    let item = |(decoded, intent): &_| Item { entry: encode(decoded), intent: *intent };
    of_tables(tables).iter().map(item).collect()
}

/// An entry as an update of a Write.
pub fn update(entry: TableEntry, r#type: Type) -> Update {
    let entity = Entity { entity: Some(entity::Entity::TableEntry(entry)) };
    Update { r#type: r#type.into(), entity: Some(entity) }
}

fn of_tables(tables: &Tables) -> Vec<(Decoded, Intent)> {
    let flows = tables.flows().into_iter().filter_map(|(flow, destination, qpn)| {
        let value = ItemValue::Flow(flow, *tables.rounds(flow)?);
        Some(((ItemKey::Flow(destination, qpn), value), Intent::Flow(flow)))
    });
    let mut rule = (None, 0);
    let entries = tables.entries().into_iter().map(|entry| {
        let decoded = match entry.key {
            Key::Data { flow, psn, iter } => {
                (ItemKey::Data(flow, psn.value(), iter), ItemValue::Data(entry.actions))
            }
            Key::Control { flow, packet, nth } => {
                let kind = Some((flow, packet));
                rule = if rule.0 == kind { (rule.0, rule.1 + 1) } else { (kind, 0) };
                (ItemKey::Control(flow, packet, rule.1), ItemValue::Control(nth, entry.actions))
            }
        };
        (decoded, Intent::Event(entry.key))
    });
    let losses = tables.losses().iter().enumerate().filter_map(|(flow, rule)| {
        let flow = FlowIndex::at(flow as u32);
        Some(((ItemKey::Loss(flow), ItemValue::Loss((*rule)?)), Intent::Losses(flow)))
    });
    let repeat = tables.repeat();
    let repeats = (0..).zip(Repeat::NUMBERS).map(|(kind, number)| (kind, (number.get)(&repeat)));
    let repeats = repeats.filter(|(_, packets)| *packets > 1).map(|(kind, packets)| {
        ((ItemKey::Repeat(kind), ItemValue::Repeat(packets, repeat.matching)), Intent::Repeat)
    });
    let rule = tables.paths();
    let paths = (0..)
        .zip(&rule.paths)
        .map(|(number, path)| ((ItemKey::Path(number), ItemValue::Path(*path)), Intent::Path(number)));
    let spread = rule
        .spread
        .iter()
        .map(|spread| ((ItemKey::Spread(spread.packets as u8), ItemValue::Spread(*spread)), Intent::Spread));
    flows.chain(entries).chain(losses).chain(repeats).chain(paths).chain(spread).collect()
}

/// Reads the key of an entry, and its table.
pub(crate) fn decode_key(entry: &TableEntry) -> Result<(&'static Table, ItemKey), Refusal> {
    let table = row::table(entry)?;
    let key = row::key(table, entry)?;
    let flow = || FlowIndex::at(key[0] as u32);
    let key = if table.id == FLOWS.id {
        ItemKey::Flow(Ipv6Addr::from_bits(key[0]).to_canonical(), key[1] as u32)
    } else if table.id == DATA_EVENTS.id {
        ItemKey::Data(flow(), key[1] as u32, checked("iter", &fields::ITER, key[2])? as u8)
    } else if table.id == CONTROL_EVENTS.id {
        ItemKey::Control(flow(), coded("kind", ControlPacket::NAMES, key[1])?, key[2] as u32)
    } else if table.id == LOSSES.id {
        ItemKey::Loss(flow())
    } else if table.id == REPEATS.id {
        ItemKey::Repeat(repeated(key[0])?.0)
    } else if table.id == PATHS.id {
        let most = Path::MOST as u128;
        if key[0] >= most {
            return Err(out_of_range(format!("path is {}; allowed: 0 to {}", key[0], most - 1)));
        }
        ItemKey::Path(key[0] as u8)
    } else {
        ItemKey::Spread(coded("packets", SprayPackets::NAMES, key[0])? as u8)
    };
    Ok((table, key))
}

/// Reads an entry.
pub(crate) fn decode(entry: &TableEntry) -> Result<Decoded, Refusal> {
    let (table, key) = decode_key(entry)?;
    let params = row::params(table, entry)?;
    let value = match key {
        ItemKey::Flow(..) => {
            let mode = coded("iter_mode", IterMode::NAMES, params[1])?;
            let rounds = Rounds::start(Psn::new(params[3] as u32), mode, params[2] != 0);
            ItemValue::Flow(FlowIndex::at(params[0] as u32), rounds)
        }
        ItemKey::Data(..) => ItemValue::Data(decode_actions(&params)?),
        ItemKey::Control(..) => ItemValue::Control(decode_points(&params[9..])?, decode_actions(&params)?),
        ItemKey::Loss(..) => ItemValue::Loss(decode_loss(&params)?),
        ItemKey::Path(_) => ItemValue::Path(decode_path(&params)?),
        ItemKey::Spread(packets) => ItemValue::Spread(Spread {
            spray: coded("way", Spray::NAMES, params[0])?,
            gap: Nanos(checked("gap", &fields::FLOWLET_GAP_NS, params[1])?),
            packets: coded("packets", SprayPackets::NAMES, packets.into())?,
            seed: checked("seed", &fields::SEED, params[2])?,
        }),
        ItemKey::Repeat(kind) => {
            let (_, number) = repeated(kind.into())?;
            let matching = coded("by_connection", RepeatMatch::NAMES, params[1])?;
            ItemValue::Repeat(checked("packets", number.field, params[0])?, matching)
        }
    };
    Ok((key, value))
}

/// Writes an entry.
pub(crate) fn encode((key, value): &Decoded) -> TableEntry {
    let table = match key {
        ItemKey::Flow(..) => &FLOWS,
        ItemKey::Data(..) => &DATA_EVENTS,
        ItemKey::Control(..) => &CONTROL_EVENTS,
        ItemKey::Loss(..) => &LOSSES,
        ItemKey::Repeat(..) => &REPEATS,
        ItemKey::Path(..) => &PATHS,
        ItemKey::Spread(..) => &SPREAD,
    };
    let number = |flow: &FlowIndex| flow.index() as u128;
    let key = match key {
        ItemKey::Flow(IpAddr::V4(destination), qpn) => {
            vec![destination.to_ipv6_mapped().to_bits(), u128::from(*qpn)]
        }
        ItemKey::Flow(IpAddr::V6(destination), qpn) => vec![destination.to_bits(), u128::from(*qpn)],
        ItemKey::Data(flow, psn, iter) => vec![number(flow), u128::from(*psn), u128::from(*iter)],
        ItemKey::Control(flow, packet, rule) => vec![number(flow), *packet as u128, u128::from(*rule)],
        ItemKey::Loss(flow) => vec![number(flow)],
        ItemKey::Repeat(number) | ItemKey::Path(number) | ItemKey::Spread(number) => {
            vec![u128::from(*number)]
        }
    };
    let params = match value {
        ItemValue::Flow(flow, rounds) => {
            let (initial, mode, shares_psns) = rounds.started();
            vec![number(flow), mode as u128, u128::from(shares_psns), u128::from(initial.value())]
        }
        ItemValue::Data(actions) => encode_actions(actions),
        ItemValue::Control(nth, actions) => {
            let mut params = encode_actions(actions);
            params.extend([nth.first, nth.step, nth.last].map(u128::from));
            params
        }
        ItemValue::Loss(rule) => encode_loss(rule),
        ItemValue::Repeat(packets, matching) => vec![u128::from(*packets), *matching as u128],
        ItemValue::Path(path) => Path::NUMBERS.iter().map(|number| (number.get)(path).into()).collect(),
        ItemValue::Spread(spread) => {
            vec![spread.spray as u128, spread.gap.0.into(), spread.seed.into()]
        }
    };
    row::entry(table, &key, Some(&params))
}

/// Kind of packets that leave more than once, and how many its field allows.
fn repeated(kind: u128) -> Result<(u8, &'static NumberOf<Repeat>), Refusal> {
    let number = usize::try_from(kind).ok().and_then(|kind| Repeat::NUMBERS.get(kind));
    number
        .map(|number| (kind as u8, number))
        .ok_or_else(|| out_of_range(format!("kind is {kind}; allowed: 0 to {}", Repeat::NUMBERS.len() - 1)))
}

/// Decodes a path: each number inside the bounds of a test.
fn decode_path(params: &[u128]) -> Result<Path, Refusal> {
    let mut path = Path::default();
    for (number, value) in Path::NUMBERS.iter().zip(params) {
        (number.set)(&mut path, checked(number.field.key, number.field, *value)?);
    }
    Ok(path)
}

fn encode_loss(rule: &LossRule) -> Numbers {
    let LossRule {
        seed,
        ppb,
        reference,
        links,
        corrupted_percent,
        kinds,
        corrupts,
        packets,
        packets_per_message,
    } = *rule;
    let numbers = [
        seed,
        ppb.into(),
        reference.into(),
        links.into(),
        corrupted_percent.into(),
        kinds.bits().into(),
        corrupts.into(),
        packets.into(),
        packets_per_message.into(),
    ];
    numbers.map(u128::from).to_vec()
}

/// Decodes the losses of a flow: each number inside the bounds of a test.
fn decode_loss(params: &[u128]) -> Result<LossRule, Refusal> {
    let &[seed, ppb, reference, links, percent, kinds, corrupts, packets, per_message] = params else {
        unreachable!("a row has all parameters of its action");
    };
    let kinds = u8::try_from(kinds).ok().and_then(PacketKinds::from_bits).ok_or_else(|| {
        out_of_range(format!("kinds is {kinds}; allowed: 0 to {}", PacketKinds::ALL.bits()))
    })?;
    Ok(LossRule {
        seed: checked("seed", &fields::SEED, seed)?,
        ppb: checked("ppb", &fields::LOSS_PPB, ppb)? as u32,
        reference: match reference {
            0 => 0,
            reference => checked("reference", &fields::LOSS_BYTES, reference)? as u16,
        },
        links: checked("links", &fields::LINKS, links)? as u8,
        corrupted_percent: checked("corrupted_percent", &fields::CORRUPTED_LINKS_PERCENT, percent)? as u8,
        kinds,
        corrupts: corrupts != 0,
        packets: checked("packets", &fields::PSN, packets)? as u32,
        packets_per_message: checked("packets_per_message", &fields::PSN, per_message)? as u32,
    })
}

fn encode_actions(actions: &Actions) -> Numbers {
    let (timing, amount) = actions.timing.action().and_then(coded_timing).unwrap_or_default();
    let (field, value) =
        actions.set_field.map_or((0, 0), |set| (1 + set.field as u128, u128::from(set.value)));
    let flags = [actions.drop, actions.ecn, actions.corrupt].map(u128::from);
    let drop_copies = actions.drop_copies.into();
    [&flags[..], &[u128::from(actions.extra_copies), timing, amount, field, value, drop_copies]].concat()
}

/// Code and amount of an action that says when a packet leaves.
fn coded_timing(action: Action) -> Option<(u128, u128)> {
    let code = Timing::ACTIONS.iter().position(|kind| *kind == action.kind())?;
    let (_, amount) = action.operand()?;
    Some((1 + code as u128, amount.into()))
}

/// Decodes when a packet leaves.
fn decode_timing(timing: u128, amount: u128) -> Result<Option<Action>, Refusal> {
    let Some(code) = timing.checked_sub(1) else {
        return match amount {
            0 => Ok(None),
            _ => Err(Refusal::invalid("amount says how much later, and timing is 0, at once")),
        };
    };
    let kind = usize::try_from(code).ok().and_then(|code| Timing::ACTIONS.get(code));
    let operand = kind.and_then(|kind| Some((*kind, Action::operand_of(*kind)?)));
    let (kind, operand) = operand.ok_or_else(|| {
        out_of_range(format!("timing is {timing}; allowed: 0 to {}", Timing::ACTIONS.len()))
    })?;
    Ok(Action::with_operand(kind, checked("amount", operand.field, amount)?))
}

/// Decodes the actions on a packet: each action inside its bounds, and none contradicting another.
fn decode_actions(params: &[u128]) -> Result<Actions, Refusal> {
    let &[drop, ecn, corrupt, copies, timing, amount, field, value, drop_copies, ..] = params else {
        unreachable!("every action of events begins with these parameters, and a row has all of them");
    };
    let timing = decode_timing(timing, amount)?;
    let copies = match copies {
        0 => None,
        copies => Some(Action::Duplicate { copies: checked("copies", &fields::COPIES, copies)? as u8 }),
    };
    let set_field = match field.checked_sub(1) {
        None if value != 0 => return Err(Refusal::invalid("value is given, and set_field is 0, none")),
        None => None,
        Some(code) => {
            let field = coded("set_field, less 1,", HeaderField::NAMES, code)?;
            Some(Action::SetField(SetField { field, value: checked("value", &field.bounds(), value)? }))
        }
    };
    let flag = |set: u128, action| (set != 0).then_some(action);
    let actions = [
        flag(drop, Action::DROP),
        flag(ecn, Action::Ecn),
        flag(corrupt, Action::Corrupt),
        timing,
        copies,
        set_field,
    ];
    // Bits of copies that are never made mean nothing.
    let mut all = Actions { drop_copies: drop_copies as u8 & ALL_COPIES, ..Actions::default() };
    for (at, action) in actions.iter().enumerate() {
        let Some(action) = action else { continue };
        if let Some((other, why)) =
            actions[..at].iter().flatten().find_map(|other| Some((other, other.conflict(*action)?)))
        {
            return Err(Refusal::invalid(format!(
                "{} and {} on one packet: {why}",
                other.name(),
                action.name()
            )));
        }
        all.add(*action);
    }
    Ok(all)
}

fn decode_points(params: &[u128]) -> Result<Points, Refusal> {
    let [first, step, last] = [("first", params[0]), ("every", params[1]), ("last", params[2])]
        .map(|(name, value)| checked(name, &fields::NTH, value));
    let (first, step, last) = (first? as u32, step? as u32, last? as u32);
    if last > LAST_OCCURRENCE || last < first || !(last - first).is_multiple_of(step) {
        return Err(out_of_range(format!("last is {last}, which is not {first} and a multiple of {step}")));
    }
    Ok(Points { first, step, last })
}

/// The value that a code stands for: its place in the list of names.
fn coded<T: Copy>(name: &str, names: &[(&str, T)], code: u128) -> Result<T, Refusal> {
    usize::try_from(code).ok().and_then(|code| names.get(code)).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<_> =
            names.iter().enumerate().map(|(code, (name, _))| format!("{code} {name}")).collect();
        out_of_range(format!("{name} is {code}; allowed: {}", known.join(", ")))
    })
}

/// A number inside the bounds of a test's field.
fn checked(name: &str, bounds: &fields::IntField, value: u128) -> Result<u64, Refusal> {
    u64::try_from(value)
        .ok()
        .filter(|value| bounds.allows(*value))
        .ok_or_else(|| out_of_range(format!("{name} is {value}; allowed: {}", bounds.range())))
}

fn out_of_range(message: String) -> Refusal {
    Refusal::new(Code::OutOfRange, message)
}
