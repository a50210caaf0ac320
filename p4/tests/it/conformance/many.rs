//! As many entries as the paper's injector holds: 100,000 of 10,000 connections (Lumina, section 4).

use std::collections::BTreeSet;
use std::time::Instant;

use dumper::Psn;
use dumper::serve::Address;
use dumper::wire::Ecn;
use p4::client::{ProgramClient, SwitchClient};
use p4::entries::{items, program};
use p4::{Tables, translate};
use prost::Message as _;
use tonic::transport::Endpoint;

use super::client::{Client, TABLE_ENTRY};
use super::misbehaving::{device, folder};
use super::schema::content;
use super::server::{Fault, Switch};
use super::wire::{Fields, Message};
use crate::frames::{Made, parse};
use crate::process::Rig;
use crate::support::{config, connections};

const CONNECTIONS: u32 = 10_000;
const EVENTS: u32 = 10;

/// A mark on each packet of each connection, but for the last two.
pub(crate) fn tables() -> Tables {
    let config = config(&format!(
        r#"traffic = {{ num-connections = {CONNECTIONS}, num-msgs-per-qp = {}, message-size = 1024 }}
        event = [{{ qpn = "all", psn = 1, count = {EVENTS}, every = 1, type = "ecn" }}]"#,
        EVENTS + 2
    ));
    translate(&config, &connections(CONNECTIONS, Psn::new(1))).unwrap()
}

#[test]
fn many_entries_are_written_read_back_and_matched() {
    let tables = tables();
    let mut expected: Vec<_> =
        items(&tables).iter().map(|item| content(&Fields::of(&item.entry.encode_to_vec()))).collect();
    assert_eq!(expected.len() as u32, CONNECTIONS * (EVENTS + 2));

    let rig = Rig::start_over_tcp();
    let mut client = rig.wait(SwitchClient::connect(&rig.address, None)).unwrap();
    let begun = Instant::now();
    rig.wait(client.program(&tables)).unwrap();
    println!("{} entries are written in {:?}", expected.len(), begun.elapsed());

    let begun = Instant::now();
    let mut read = rig.wait(async {
        let endpoint = Endpoint::from_shared(format!("http://{}", rig.address)).unwrap();
        let mut reader = Client::new(endpoint.connect().await.unwrap(), 1);
        reader.read(TABLE_ENTRY, Message::new()).await.unwrap()
    });
    println!("and read back in {:?}", begun.elapsed());
    let mut read: Vec<_> = read.drain(..).map(|entry| content(&entry)).collect();
    read.sort();
    expected.sort();
    assert!(read == expected, "{} entries are read", read.len());

    forwards(|frame| rig.send(0, frame), || rig.receive(1));
    rig.assert_silence();
}

/// Sends packets of many connections, those with an event and those behind them, which have to arrive with and without a mark.
pub(crate) fn forwards(send: impl Fn(&[u8]), receive: impl Fn() -> Vec<u8>) {
    for connection in (1..=CONNECTIONS).step_by(97).chain([CONNECTIONS]) {
        for psn in 1..=EVENTS + 2 {
            let frame = Made { connection, psn, ..Made::default() }.frame();
            send(&frame);
            let left = receive();
            let is_marked = Ecn::of(parse(&left).ip.traffic_class()) == Ecn::Ce;
            assert_eq!(is_marked, psn <= EVENTS, "connection {connection}, PSN {psn}");
            assert!(is_marked || left == frame);
        }
    }
}

/// Round trips do not grow with the entries: a batch has 2,000.
#[tokio::test]
async fn many_entries_take_few_round_trips() {
    let tables = tables();
    let (_folder, path) = folder();
    let switch = Switch::serve(&path, Fault::None);
    let address = Address::Unix(path);
    let mut client = SwitchClient::connect(&address, None).await.unwrap();
    client.program(&tables).await.unwrap();
    assert_eq!(switch.batches() as u32, CONNECTIONS * (EVENTS + 2) / 2_000);

    switch.set(Fault::None);
    let mut client = ProgramClient::connect(&address, None, device()).await.unwrap();
    client.program(&tables).await.unwrap();
    let all = program::items(&tables, &device().wiring, 1).unwrap();
    assert_eq!(switch.batches(), 1 + all.len().div_ceil(2_000));
    let tables: BTreeSet<_> = all.iter().map(|item| item.entry.table_id).collect();
    assert_eq!(tables.len(), 4, "flows, events, hosts and dumpers");
}
