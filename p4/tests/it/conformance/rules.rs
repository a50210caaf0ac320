//! What the specification of P4Runtime 1.3 asks of a server, as far as an injector's controller depends on it.

use std::fmt::Debug;
use std::time::Duration;

use tokio::time::sleep;
use tonic::Code;
use tonic::transport::Channel;

use super::client::{Atomicity, COUNTER_ENTRY, Client, Kind, REGISTER_ENTRY, Stream, TABLE_ENTRY};
use super::schema::{Entry, Schema, content, exact, update};
use super::wire::{Fields, Message};

/// A server without a pipeline, and how packets come to its switch.
pub(crate) struct Target<'a> {
    pub(crate) channel: Channel,
    pub(crate) device: u64,
    /// Its pipeline; the P4Info that it tells of where this has none.
    pub(crate) p4info: Option<Vec<u8>>,
    pub(crate) config: Vec<u8>,
    /// Number of the requester's port.
    pub(crate) port: u64,
    /// Has RoCE packets come in at that port.
    pub(crate) send: &'a dyn Fn(usize),
}

/// Sentences of the specification that do not hold.
struct Found(Vec<String>);

impl Found {
    #[allow(clippy::needless_pass_by_value, reason = "both are made for the comparison")]
    fn same<T: PartialEq + Debug>(&mut self, what: &str, found: T, expected: T) {
        if found != expected {
            self.0.push(format!("{what}: {found:?}, not {expected:?}"));
        }
    }
}

/// Where a server deviates from the specification; each begins with what was asked.
pub(crate) async fn deviations(target: Target<'_>) -> Vec<String> {
    let mut found = Found(Vec::new());
    let mut client = Client::new(target.channel.clone(), target.device);
    let mut primary = arbitration(&mut found, &mut client).await;
    let p4info = match target.p4info.clone() {
        Some(p4info) => p4info,
        None => client.p4info().await,
    };
    pipeline(&mut found, &mut client, &p4info, &target.config).await;
    let schema = Schema::of(&p4info);
    entries(&mut found, &mut client, &schema).await;
    counters(&mut found, &mut client, &schema, &target).await;
    mastership(&mut found, &mut client, &mut primary).await;
    found.0
}

/// Identifiers of the controllers.
const PRIMARY: u64 = 10;
const BACKUP: u64 = 5;
const SUCCESSOR: u64 = 20;

/// Clause 5: who may write.
async fn arbitration(found: &mut Found, client: &mut Client) -> Stream {
    let nothing = client.write(PRIMARY, vec![], Atomicity::Continue).await;
    found.same("a Write before any arbitration", nothing, vec![Code::PermissionDenied]);
    let mut primary = client.arbitrate(PRIMARY).await;
    found.same("the first arbitration", primary.told().await, (Code::Ok, PRIMARY));
    let mut backup = client.arbitrate(BACKUP).await;
    found.same("an arbitration with a lower identifier", backup.told().await, (Code::AlreadyExists, PRIMARY));
    let mut twin = client.arbitrate(PRIMARY).await;
    found.same("an arbitration with the identifier of another", twin.told().await.0, Code::InvalidArgument);
    let mut elsewhere = client.clone();
    elsewhere.device += 1;
    let mut lost = elsewhere.arbitrate(SUCCESSOR).await;
    found.same("an arbitration for another device", lost.told().await.0, Code::NotFound);
    let version = client.version().await;
    found.same("the version of the protocol", version.split('.').next(), Some("1"));
    primary
}

/// Clause 7: the pipeline.
async fn pipeline(found: &mut Found, client: &mut Client, p4info: &[u8], config: &[u8]) {
    let early = client.read(TABLE_ENTRY, Message::new()).await;
    found.same("a Read without a pipeline", early, Err(Code::FailedPrecondition));
    let early = client.write(PRIMARY, vec![], Atomicity::Continue).await;
    found.same("a Write without a pipeline", early, vec![Code::FailedPrecondition]);
    let by_backup = client.set_pipeline(BACKUP, p4info, config).await;
    found.same("the pipeline of a backup", by_backup, Code::PermissionDenied);
    let unreadable = client.set_pipeline(PRIMARY, &[0x0a, 0xff], config).await;
    found.same("a pipeline whose P4Info is no message", unreadable != Code::Ok, true);
    found.same("a pipeline", client.set_pipeline(PRIMARY, p4info, config).await, Code::Ok);
    let has = Schema::of(&client.p4info().await);
    let expected = Schema::of(p4info);
    for name in ["ingress.flows", "ingress.data_events"] {
        let id = |schema: &Schema| schema.table(name).map(|table| table.id);
        found.same("the P4Info that is told", id(&has), id(&expected));
    }
}

/// Clauses 9.1, 11 and 12: entries of tables.
async fn entries(found: &mut Found, client: &mut Client, schema: &Schema) {
    let [flows, events] = &["ingress.flows", "ingress.data_events"].map(|name| schema.table(name).unwrap());
    let address = [("destination", 0xffff_0a00_0002), ("dest_qpn", 0x201)];
    let params = [("initial_psn", 1), ("psn_offset", 0), ("asked_tag", 1)];
    let flow = Entry { table: flows, key: &address, params: &params };
    let keys = [1, 2, 3, 300].map(|psn| [("flow", 0), ("psn", psn), ("iter", 1)]);
    let [first, second, third, far] =
        keys.each_ref().map(|key| Entry { table: events, key, params: &[("drop", 1)] });
    let mark = Entry { params: &[("ecn", 1)], ..first.clone() };

    let mut one = async |what: &str, update: Message, expected: Code| {
        let codes = client.write(PRIMARY, vec![update], Atomicity::Continue).await;
        found.same(what, codes, vec![expected]);
    };
    one("an insert", flow.update(Kind::Insert), Code::Ok).await;
    one("an insert of what is there", flow.update(Kind::Insert), Code::AlreadyExists).await;
    one("a modify of what is not there", first.update(Kind::Modify), Code::NotFound).await;
    one("a delete of what is not there", first.update(Kind::Delete), Code::NotFound).await;
    one("an insert", first.update(Kind::Insert), Code::Ok).await;
    one("a modify", mark.update(Kind::Modify), Code::Ok).await;
    one("an update of no kind", second.update(Kind::Unspecified), Code::InvalidArgument).await;
    let nowhere = Message::new().number(1, 0x0200_ffff);
    one("an insert into a table that is not there", update(Kind::Insert, nowhere), Code::NotFound).await;
    let other_action = second.named().message(3, Message::new().message(1, second.action(0x0100_ffff)));
    one("an action that is not there", update(Kind::Insert, other_action), Code::InvalidArgument).await;
    let bare = second.named();
    one("an insert without an action", update(Kind::Insert, bare), Code::InvalidArgument).await;
    let keyless = Message::new().number(1, events.id).message(2, exact(1, &[0]));
    let keyless = keyless.message(3, Message::new().message(1, second.action(0x0100_0002)));
    one("a key of which fields are missing", update(Kind::Insert, keyless), Code::InvalidArgument).await;
    let twice = second.entry().message(2, exact(1, &[0]));
    one("a key with a field twice", update(Kind::Insert, twice), Code::InvalidArgument).await;
    let unknown = second.entry().message(2, exact(99, &[0]));
    one("a key with an unknown field", update(Kind::Insert, unknown), Code::InvalidArgument).await;
    let wide = [("flow", 0), ("psn", 1 << 24), ("iter", 1)];
    let wide = Entry { key: &wide, ..second.clone() };
    one("a value of more bits than its field", wide.update(Kind::Insert), Code::OutOfRange).await;

    let batch = [&second, &first, &third].map(|entry| entry.update(Kind::Insert)).to_vec();
    let codes = client.write(PRIMARY, batch, Atomicity::Continue).await;
    let expected = vec![Code::Ok, Code::AlreadyExists, Code::Ok];
    found.same("a batch with a bad entry, CONTINUE_ON_ERROR", codes, expected);
    // A server need not have this atomicity.
    let batch = [&far, &first].map(|entry| entry.update(Kind::Insert)).to_vec();
    let codes = client.write(PRIMARY, batch, Atomicity::Rollback).await;
    let known = [vec![Code::Aborted, Code::AlreadyExists], vec![Code::Unimplemented]];
    found.same(&format!("ROLLBACK_ON_ERROR answers {codes:?}"), known.contains(&codes), true);

    let mut read = async |wanted: Message| {
        let entries = client.read(TABLE_ENTRY, wanted).await;
        entries.map(|entries| {
            let mut contents: Vec<_> = entries.iter().map(content).collect();
            contents.sort();
            contents
        })
    };
    let all = |entries: &[&Entry<'_>]| {
        let contents = entries.iter().map(|entry| Fields::of(&entry.entry().into_bytes()));
        let mut contents: Vec<_> = contents.map(|entry| content(&entry)).collect();
        contents.sort();
        Ok(contents)
    };
    let of = |table: u64| Message::new().number(1, table);
    found.same("a Read of a table", read(of(events.id)).await, all(&[&mark, &second, &third]));
    found.same("a Read of another", read(of(flows.id)).await, all(&[&flow]));
    found.same("a Read of an entry", read(first.named()).await, all(&[&mark]));
    found.same("a Read of an entry that is not there", read(far.named()).await, all(&[]));
    found.same("a Read of a table that is not there", read(of(0x0200_ffff)).await, Err(Code::NotFound));

    let codes = client.write(PRIMARY, vec![second.update(Kind::Delete)], Atomicity::Continue).await;
    found.same("a delete", codes, vec![Code::Ok]);
    let left = client.read(TABLE_ENTRY, of(events.id)).await.map(|left| left.len());
    found.same("entries after it", left, Ok(2));
    // Those of the batch that came last are gone too.
    let rest = [&first, &third, &flow].map(|entry| entry.update(Kind::Delete)).to_vec();
    found.same("a batch of deletes", client.write(PRIMARY, rest, Atomicity::Continue).await, vec![Code::Ok]);
    let left = client.read(TABLE_ENTRY, of(events.id)).await.map(|left| left.len());
    found.same("entries after all are deleted", left, Ok(0));

    let mut elsewhere = client.clone();
    elsewhere.device += 1;
    let elsewhere = elsewhere.read(TABLE_ENTRY, Message::new()).await;
    found.same("a Read of another device", elsewhere, Err(Code::NotFound));
    let registers = client.read(REGISTER_ENTRY, Message::new()).await.map(|_| ());
    found.same("a Read of registers, which no server is known to have", registers, Err(Code::Unimplemented));
}

/// Packets that are sent in all.
const SENT: usize = 3;

/// Looks at a counter until the packets are in.
const TRIES: usize = 100;

/// Clause 9.4: counters.
async fn counters(found: &mut Found, client: &mut Client, schema: &Schema, target: &Target<'_>) {
    let counter = schema.counter("ingress.port_ingress");
    let index = |index: u64| Message::new().message(2, Message::new().number(1, index));
    let of = |counter: u64| Message::new().number(1, counter);
    let cell = |at: u64| index(at).number(1, counter);
    // A program for hardware counts what comes in at the ports of hosts.
    if let Some(forward) = &schema.table("ingress.forward") {
        let key = [("port", target.port)];
        let host = Entry { table: forward, key: &key, params: &[("epoch", 1)] }.update(Kind::Insert);
        let codes = client.write(PRIMARY, vec![host], Atomicity::Continue).await;
        found.same("an insert", codes, vec![Code::Ok]);
    }
    let mut count = async |wanted: Message| {
        let cells = client.read(COUNTER_ENTRY, wanted).await;
        cells.map(|cells| {
            let packets =
                |cell: &Fields| (cell.number(1), cell.message(2).number(1), cell.message(3).number(2));
            cells.iter().map(packets).filter(|(.., packets)| *packets > 0).collect::<Vec<_>>()
        })
    };
    let before = count(cell(target.port)).await.map(|cells| cells.iter().map(|cell| cell.2).sum::<u64>());
    found.same("counters before the first packet", before, Ok(0));
    (target.send)(SENT);
    let mut counted = count(cell(target.port)).await;
    let expected = (counter, target.port, SENT as u64);
    for _ in 0..TRIES {
        if counted == Ok(vec![expected]) {
            break;
        }
        sleep(Duration::from_millis(20)).await;
        counted = count(cell(target.port)).await;
    }
    found.same("a cell after three packets", counted, Ok(vec![expected]));
    found.same("all cells of the counter", count(of(counter)).await, Ok(vec![expected]));
    let all = count(Message::new()).await.map(|all| all.contains(&expected));
    found.same("all counters, this one among them", all, Ok(true));
    found.same("a counter that is not there", count(of(0x1200_ffff)).await, Err(Code::NotFound));
    found.same("a cell behind the last", count(cell(1 << 20)).await, Err(Code::OutOfRange));
}

/// Clause 5 again: the primary changes.
async fn mastership(found: &mut Found, client: &mut Client, primary: &mut Stream) {
    let mut successor = client.arbitrate(SUCCESSOR).await;
    found.same("an arbitration with a higher identifier", successor.told().await, (Code::Ok, SUCCESSOR));
    // What was told of the backup that came and went is not of interest.
    let mut told = primary.told().await;
    while told.0 == Code::Ok {
        told = primary.told().await;
    }
    found.same("the former primary is told", told, (Code::AlreadyExists, SUCCESSOR));
    let stale = client.write(PRIMARY, vec![], Atomicity::Continue).await;
    found.same("a Write with a stale identifier", stale, vec![Code::PermissionDenied]);
    let fresh = client.write(SUCCESSOR, vec![], Atomicity::Continue).await;
    found.same("a Write of the new primary", fresh, vec![Code::Ok]);
    drop(successor);
    found.same("the primary has gone: a backup is told", primary.told().await, (Code::NotFound, SUCCESSOR));
    let orphan = client.write(SUCCESSOR, vec![], Atomicity::Continue).await;
    found.same("a Write behind a primary that has gone", orphan, vec![Code::PermissionDenied]);
    primary.ask(SUCCESSOR + 1).await;
    found.same("a backup becomes the primary", primary.told().await, (Code::Ok, SUCCESSOR + 1));
}
