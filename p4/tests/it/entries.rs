//! Tables as entries of P4Runtime, there and back.

use corpus::{ControlPacket, Role, testing};
use dumper::{Nanos, Psn};
use p4::entries::{Store, update};
use p4::proto::runtime::update::Type;
use p4::proto::runtime::{TableEntry, Update, field_match::FieldMatchType, table_action};
use p4::{Kind, Packet, Pipeline, Tables, translate};
use proptest::prelude::*;
use tonic::Code;

use crate::support::{config, connections, ports};

fn inserts(entries: &[TableEntry]) -> Vec<Update> {
    entries.iter().map(|entry| update(entry.clone(), Type::Insert)).collect()
}

/// A store with entries that are all accepted.
fn stored(entries: &[TableEntry]) -> Store {
    let mut store = Store::default();
    assert!(store.write(&inserts(entries), true).iter().all(Result::is_ok));
    store
}

fn tables_of(text: &str) -> Tables {
    let config = config(text);
    translate(&config, &connections(config.traffic.load.connections(), Psn::new(1))).unwrap()
}

fn items(tables: &Tables) -> Vec<TableEntry> {
    p4::entries::items(tables).into_iter().map(|item| item.entry).collect()
}

/// One flow each way, an event on a data packet and three rules for ACKs.
fn small() -> Vec<TableEntry> {
    items(&tables_of(
        r#"event = [
            { qpn = 1, psn = 4, type = "drop" },
            { qpn = 1, packet = "ack", nth = 2, every = 3, type = "delay", delay-ns = 9 },
            { qpn = 1, packet = "ack", nth = 1, every = 1, type = "ecn" },
            { qpn = 1, packet = "nak", nth = 1, type = "drop" },
        ]
        network.repeat.naks = 2"#,
    ))
}

/// Code and message of the last update, where those before it are accepted.
fn refusal(updates: &[Update]) -> (Code, String) {
    let results = Store::default().write(updates, false);
    let (last, others) = results.split_last().unwrap();
    assert!(others.iter().all(Result::is_ok));
    let refusal = last.clone().unwrap_err();
    (refusal.code, refusal.message)
}

/// Refusal of an insert after `change`.
fn refused(at: usize, change: impl FnOnce(&mut TableEntry)) -> (Code, String) {
    let mut entry = small()[at].clone();
    change(&mut entry);
    refusal(&[update(entry, Type::Insert)])
}

fn set_match(entry: &mut TableEntry, field: usize, bytes: &[u8]) {
    let Some(FieldMatchType::Exact(exact)) = &mut entry.r#match[field].field_match_type else { panic!() };
    exact.value = bytes.to_vec();
}

fn action(entry: &mut TableEntry) -> &mut p4::proto::runtime::Action {
    let Some(table_action::Type::Action(action)) =
        entry.action.as_mut().and_then(|action| action.r#type.as_mut())
    else {
        panic!()
    };
    action
}

/// Sets parameters by their numbers.
fn set_params(entry: &mut TableEntry, values: &[(u32, u8)]) {
    for (id, value) in values {
        let param = action(entry).params.iter_mut().find(|param| param.param_id == *id).unwrap();
        param.value = vec![*value];
    }
}

const FLOW: usize = 0;
const DATA: usize = 2;
const ACK: usize = 3;
const NAKS: usize = 6;

#[test]
fn bad_entries_are_refused() {
    use Code::{InvalidArgument, NotFound, OutOfRange};
    let cases: Vec<((Code, String), Code, &str)> = vec![
        (refused(FLOW, |entry| entry.table_id = 7), NotFound, "there is no table 0x00000007"),
        (refused(FLOW, |entry| entry.priority = 1), InvalidArgument, "a priority"),
        (refused(FLOW, |entry| entry.is_default_action = true), InvalidArgument, "is_default_action"),
        (refused(FLOW, |entry| entry.idle_timeout_ns = 1), InvalidArgument, "idle timeout"),
        (refused(FLOW, |entry| drop(entry.r#match.pop())), InvalidArgument, "dest_qpn is missing"),
        (
            refused(FLOW, |entry| entry.r#match.push(entry.r#match[0].clone())),
            InvalidArgument,
            "destination is given twice",
        ),
        (refused(FLOW, |entry| entry.r#match[0].field_id = 9), InvalidArgument, "match field 9 is not there"),
        (
            refused(FLOW, |entry| entry.r#match[0].field_match_type = None),
            InvalidArgument,
            "not an exact match",
        ),
        (refused(FLOW, |entry| set_match(entry, 1, &[])), InvalidArgument, "dest_qpn has no bytes"),
        (
            refused(FLOW, |entry| set_match(entry, 1, &[1, 0, 0, 0])),
            OutOfRange,
            "has 24 bits, and its value takes 25",
        ),
        (refused(FLOW, |entry| entry.action = None), InvalidArgument, "the entry has no action"),
        (
            refused(FLOW, |entry| action(entry).action_id = 1),
            InvalidArgument,
            "action 0x00000001 is not one of its",
        ),
        (refused(FLOW, |entry| drop(action(entry).params.pop())), InvalidArgument, "initial_psn is missing"),
        (refused(FLOW, |entry| set_params(entry, &[(2, 2)])), OutOfRange, "iter_mode is 2"),
        (refused(DATA, |entry| set_match(entry, 2, &[0])), OutOfRange, "iter is 0; allowed: 1 to 255"),
        (refused(DATA, |entry| set_params(entry, &[(2, 1)])), InvalidArgument, "drop and ecn on one packet"),
        (refused(DATA, |entry| set_params(entry, &[(1, 0), (5, 200)])), OutOfRange, "timing is 200"),
        (
            refused(DATA, |entry| set_params(entry, &[(1, 0), (5, 2)])),
            OutOfRange,
            "amount is 0; allowed: 1 to 1024",
        ),
        (refused(DATA, |entry| set_params(entry, &[(6, 1)])), InvalidArgument, "timing is 0, at once"),
        (
            refused(DATA, |entry| set_params(entry, &[(1, 0), (4, 17)])),
            OutOfRange,
            "copies is 17; allowed: 1 to 16",
        ),
        (refused(DATA, |entry| set_params(entry, &[(1, 0), (7, 99)])), OutOfRange, "set_field"),
        (refused(DATA, |entry| set_params(entry, &[(8, 1)])), InvalidArgument, "set_field is 0, none"),
        (refused(DATA, |entry| set_params(entry, &[(1, 0), (7, 1), (8, 2)])), OutOfRange, "value is 2"),
        (refused(ACK, |entry| set_match(entry, 1, &[4])), OutOfRange, "kind is 4"),
        (refused(ACK, |entry| set_params(entry, &[(11, 0)])), OutOfRange, "every is 0"),
        (refused(ACK, |entry| set_params(entry, &[(12, 1)])), OutOfRange, "last is 1"),
        (refused(NAKS, |entry| set_match(entry, 0, &[3])), OutOfRange, "kind is 3; allowed: 0 to 2"),
        (refused(NAKS, |entry| set_params(entry, &[(1, 9)])), OutOfRange, "packets is 9; allowed: 1 to 8"),
    ];
    for ((code, message), expected, words) in cases {
        assert_eq!(code, expected, "{message}");
        assert!(message.contains(words), "{message:?} lacks {words:?}");
    }
}

#[test]
fn entries_are_inserted_once_and_changed_where_they_are() {
    let entry = &small()[DATA];
    let refuse = |types: &[Type]| {
        refusal(&types.iter().map(|kind| update(entry.clone(), *kind)).collect::<Vec<_>>()).0
    };
    assert_eq!(refuse(&[Type::Insert, Type::Insert]), Code::AlreadyExists);
    assert_eq!(refuse(&[Type::Modify]), Code::NotFound);
    assert_eq!(refuse(&[Type::Delete]), Code::NotFound);
    assert_eq!(refuse(&[Type::Insert, Type::Delete, Type::Delete]), Code::NotFound);
    assert_eq!(refuse(&[Type::Unspecified]), Code::InvalidArgument);
    assert_eq!(refusal(&[Update { r#type: 1, entity: None }]).0, Code::Unimplemented);

    let mut store = stored(&small());
    let before = store.tables().unwrap().entries();
    let mut changed = entry.clone();
    set_params(&mut changed, &[(1, 0), (3, 1)]);
    let bad = update(entry.clone(), Type::Insert);
    let batch = [update(changed.clone(), Type::Modify), update(small()[ACK].clone(), Type::Delete), bad];
    let codes = |results: Vec<Result<(), p4::entries::Refusal>>| -> Vec<Option<Code>> {
        results.into_iter().map(|result| result.err().map(|refusal| refusal.code)).collect()
    };
    assert_eq!(
        codes(store.write(&batch, true)),
        [Some(Code::Aborted), Some(Code::Aborted), Some(Code::AlreadyExists)]
    );
    assert_eq!(store.tables().unwrap().entries(), before, "all or none");
    assert_eq!(codes(store.write(&batch, false)), [None, None, Some(Code::AlreadyExists)]);
    let after = store.tables().unwrap();
    assert_eq!(after.len(), before.len() - 1);
    assert!(after.entries()[0].actions.corrupt);
    // Its delete needs no action.
    changed.action = None;
    assert_eq!(codes(store.write(&[update(changed, Type::Delete)], true)), [None]);
    assert_eq!(store.tables().unwrap().len(), before.len() - 2);
}

#[test]
fn events_need_their_flows() {
    let entries = small();
    let code = |entries: &[TableEntry]| stored(entries).tables().unwrap_err().code;
    assert_eq!(code(&entries[1..]), Code::FailedPrecondition, "flow 0 is missing");
    assert_eq!(code(&entries[2..]), Code::FailedPrecondition, "there are no flows");
}

#[test]
fn a_full_table_refuses_more() {
    let entry = small()[ACK].clone();
    let rule = |number: u32| {
        let mut entry = entry.clone();
        set_match(&mut entry, 2, &number.to_be_bytes());
        update(entry, Type::Insert)
    };
    let size = p4::entries::schema::CONTROL_EVENTS.size as u32;
    let mut store = Store::default();
    let full: Vec<_> = (0..size).map(rule).collect();
    assert!(store.write(&full, true).iter().all(Result::is_ok));
    let results = store.write(&[rule(size), update(entry.clone(), Type::Delete), rule(size)], false);
    assert_eq!(results[0].as_ref().unwrap_err().code, Code::ResourceExhausted);
    assert!(results[1].is_ok() && results[2].is_ok());
}

/// Packets of all kinds on the connections of a test: connection, direction, kind, PSN.
fn packets() -> impl Strategy<Value = Vec<(u32, bool, Kind, u32)>> {
    let control = proptest::sample::select(ControlPacket::NAMES.to_vec());
    let kind = prop_oneof![
        2 => any::<bool>().prop_map(|starts| Kind::Data { starts, ends: false }),
        1 => control.prop_map(|(_, packet)| Kind::Control(packet)),
    ];
    proptest::collection::vec((1..9u32, any::<bool>(), kind, 1..40u32), 0..200)
}

proptest! {
    #[test]
    fn tables_come_back_as_they_went(config in testing::complete_configs(), initial in any::<u32>(), packets in packets()) {
        let initial = Psn::new(initial);
        let connections = connections(config.traffic.load.connections(), initial);
        let original = translate(&config, &connections).unwrap();
        let entries = items(&original);
        let mut shuffled = inserts(&entries);
        shuffled.reverse();
        let mut store = Store::default();
        prop_assert!(store.write(&shuffled, true).iter().all(Result::is_ok));
        let back = store.tables().unwrap();
        prop_assert_eq!(back.entries(), original.entries());
        prop_assert_eq!(items(&back), entries);

        let mut pipelines = [original, back].map(|tables| Pipeline::new(tables, ports()));
        for (number, (connection, to_responder, kind, psn)) in packets.into_iter().enumerate() {
            let connection = connections[(connection as usize - 1) % connections.len()];
            let (from, to) = match to_responder {
                true => (Role::Requester, connection.responder),
                false => (Role::Responder, connection.requester),
            };
            let packet = Packet { kind, psn: Psn::from_relative(psn, initial), frame_bytes: 78, asks_again: false };
            let [a, b] = pipelines.each_mut().map(|pipeline| {
                let flow = pipeline.flow(to.ip, to.qpn.unwrap());
                let verdict = pipeline.process(from, flow, packet, Nanos(number as u64));
                (verdict, pipeline.take_released().collect::<Vec<_>>())
            });
            prop_assert_eq!(a, b);
        }
        prop_assert_eq!(pipelines[0].counters(), pipelines[1].counters());
    }

    /// Hostile entries are refused or are tables; they never end the switch.
    #[test]
    fn damaged_entries_are_survived(at in 0..6usize, field in 0..11usize, bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
        let mut entries = small();
        let at = at % entries.len();
        let entry = &mut entries[at];
        if field < entry.r#match.len() {
            set_match(entry, field, &bytes);
        } else {
            let params = &mut action(entry).params;
            let field = field % params.len();
            params[field].value = bytes;
        }
        let mut store = Store::default();
        store.write(&inserts(&entries), false);
        if let Ok(tables) = store.tables() {
            let mut pipeline = Pipeline::new(tables, ports());
            let flow = pipeline.flow("10.0.0.1".parse().unwrap(), 0x101);
            for nth in 0..20 {
                let packet = Packet { kind: Kind::Control(ControlPacket::Ack), psn: Psn::new(nth), frame_bytes: 62, asks_again: false };
                pipeline.process(Role::Responder, flow, packet, Nanos::ZERO);
            }
        }
    }
}
