//! The clients of this crate against a switch that does not behave: every wait ends, and every error says of what part of the test it is.

use std::path::PathBuf;
use std::time::Duration;

use corpus::TestConfig;
use dumper::Psn;
use dumper::serve::Address;
use p4::client::{Device, ProgramClient, SwitchClient, SwitchError};
use p4::entries::program::Compiled;
use p4::entries::program_p4info;
use p4::{Dumper, Tables, translate};
use prost::Message;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::time::Instant;

use super::server::{Fault, Switch};
use crate::support::{PORTS, config, connections};

/// The time that the slowest of these waits may take, on the clock of the test, which does not stand still.
const LONGEST: Duration = Duration::from_secs(301);

pub(super) fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switch");
    (folder, path)
}

pub(super) fn device() -> Device {
    let dumpers = vec![Dumper { port: 30, weight: 1 }];
    Device {
        id: 1,
        compiled: Compiled::read(program_p4info("v1model").encode_to_vec()).unwrap(),
        config: vec![1, 2, 3],
        wiring: p4::entries::program::Wiring { hosts: PORTS, dumpers },
    }
}

/// Two connections with events on some thousand data packets of each.
fn tables() -> Tables {
    let config: TestConfig = config(
        r#"event = [
        { qpn = 1, psn = 1, every = 1, type = "ecn" },
        { qpn = 2, psn = 1, every = 1, type = "drop" },
        { qpn = 2, packet = "nak", nth = 2, type = "drop" }]
        traffic = { num-connections = 2, num-msgs-per-qp = 300 }"#,
    );
    translate(&config, &connections(2, Psn::new(1))).unwrap()
}

/// What a step is to come to: an error with these words.
type Expected = &'static [&'static str];

/// The error of a step, which must come in time.
async fn refused<T>(what: Fault, step: impl Future<Output = Result<T, SwitchError>>) -> String {
    let begun = Instant::now();
    let error = step.await.err().unwrap_or_else(|| panic!("{what:?}: there is no error"));
    assert!(begun.elapsed() < LONGEST, "{what:?}: {:?}", begun.elapsed());
    error.to_string()
}

fn has_all(what: Fault, error: &str, expected: Expected) {
    for words in expected {
        assert!(error.contains(words), "{what:?}: {error:?} does not say {words:?}");
    }
}

/// Faults while a client connects.
const CONNECTING: &[(Fault, Expected)] = &[
    (Fault::SilentArbitration, &["connecting: it did not answer within 30 s"]),
    (Fault::EndedArbitration, &["connecting: its answer makes no sense: it did not answer an arbitration"]),
    (Fault::OtherPrimary, &["connecting: it refused (AlreadyExists)"]),
];

/// Faults while a client of a P4 program connects.
const LOADING: &[(Fault, Expected)] = &[
    (Fault::SilentPipeline, &["loading its program: it did not answer within 30 s"]),
    (Fault::RefusedPipeline, &["loading its program: it refused (InvalidArgument): of another target"]),
    (
        Fault::OtherP4Info,
        &["the P4Info of its program is another one than it was given: table ingress.flows"],
    ),
    (Fault::RefusedUpdate(1, 1), &["it refused the entry of the host at port 10 (ResourceExhausted): full"]),
    (
        Fault::SilentBatch(1),
        &["entries from that of the dumper at port 30 to that of the host at port 20: it did not"],
    ),
];

/// The batches of the test's entries.
const WRITING: &[(Fault, Expected)] = &[
    (
        Fault::SilentBatch(2),
        &[
            "writing tables: entries from that of the events on PSN",
            "to that of",
            "it did not answer within 30 s",
        ],
    ),
    (
        Fault::CutBatch(2),
        &[
            "writing tables: entries from that of the events on PSN",
            "towards its responder: it is not there:",
        ],
    ),
    (
        Fault::RefusedUpdate(1, 1),
        &[
            "writing tables: it refused the entry of connection 1 towards its responder (ResourceExhausted): full",
        ],
    ),
    (
        Fault::RefusedBatch(1),
        &["writing tables: entries from that of connection 1 towards its requester to", "no memory"],
    ),
    (
        Fault::UnreadableResults(1),
        &[
            "writing tables: entries from that of connection 1 towards its requester to that of the events on PSN",
        ],
    ),
    (
        Fault::Deposed(2),
        &[
            "entries from that of the events",
            "another controller has become its primary (election id 18446744073709551623)",
        ],
    ),
];

/// Counters.
const READING: &[(Fault, Expected)] = &[
    (Fault::Trickle, &["reading counters: it did not answer within 30 s"]),
    (Fault::Endless, &["reading counters: its answer makes no sense: it read out more than 65536 entities"]),
    (Fault::OtherCounter, &["reading counters: its answer makes no sense: it read out counter 0x0000004d"]),
    (Fault::NoCounter, &["reading counters: its answer makes no sense: it read out something else"]),
];

/// The capture of a software switch.
const COLLECTING: &[(Fault, Expected)] = &[
    (Fault::TricklingCapture, &["collecting the capture: it did not answer within 300 s"]),
    (Fault::EndedCapture, &["collecting the capture: its answer makes no sense: the capture ended without"]),
];

#[tokio::test(start_paused = true)]
async fn a_client_of_a_switch_that_does_not_take_it() {
    for (fault, expected) in CONNECTING {
        let (_folder, path) = folder();
        let _switch = Switch::serve(&path, *fault);
        let address = Address::Unix(path);
        has_all(*fault, &refused(*fault, SwitchClient::connect(&address, None)).await, expected);
        has_all(*fault, &refused(*fault, ProgramClient::connect(&address, None, device())).await, expected);
    }
    let (_folder, path) = folder();
    // Somebody listens, and says nothing.
    let _silent = UnixListener::bind(&path).unwrap();
    let error = refused(Fault::None, SwitchClient::connect(&Address::Unix(path), None)).await;
    has_all(Fault::None, &error, &["connecting: it did not answer within 30 s"]);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_is_not_loaded() {
    for (fault, expected) in LOADING {
        let (_folder, path) = folder();
        let _switch = Switch::serve(&path, *fault);
        let address = Address::Unix(path);
        has_all(*fault, &refused(*fault, ProgramClient::connect(&address, None, device())).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_not_written_of_the_software_switch() {
    let tables = tables();
    for (fault, expected) in WRITING {
        let (_folder, path) = folder();
        let switch = Switch::serve(&path, Fault::None);
        let mut client = SwitchClient::connect(&Address::Unix(path), None).await.unwrap();
        switch.set(*fault);
        has_all(*fault, &refused(*fault, client.program(&tables)).await, expected);
        switch.set(Fault::None);
        recovers(*fault, client.program(&tables).await);
        assert!(switch.batches() > 1, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_not_written_of_a_program() {
    let tables = tables();
    for (fault, expected) in WRITING {
        let (_folder, path) = folder();
        let switch = Switch::serve(&path, Fault::None);
        let mut client = ProgramClient::connect(&Address::Unix(path), None, device()).await.unwrap();
        switch.set(*fault);
        has_all(*fault, &refused(*fault, client.program(&tables)).await, expected);
        switch.set(Fault::None);
        // It loads the program again, as nobody knows which entries are there.
        recovers(*fault, client.program(&tables).await);
        assert!(switch.batches() > 2, "{fault:?}");
    }
}

/// A client goes on when the switch behaves again; one that is primary no more does, too, if the switch lets it.
fn recovers(fault: Fault, result: Result<(), SwitchError>) {
    result.unwrap_or_else(|error| panic!("after {fault:?}: {error}"));
}

#[tokio::test(start_paused = true)]
async fn answers_without_an_end_or_a_sense() {
    for (fault, expected) in READING.iter().chain(COLLECTING) {
        let (_folder, path) = folder();
        let switch = Switch::serve(&path, Fault::None);
        let address = Address::Unix(path);
        let mut client = SwitchClient::connect(&address, None).await.unwrap();
        client.program(&Tables::default()).await.unwrap();
        switch.set(*fault);
        let error = if COLLECTING.iter().any(|(known, _)| known == fault) {
            refused(*fault, client.collect()).await
        } else {
            refused(*fault, client.counters()).await
        };
        has_all(*fault, &error, expected);
        switch.set(Fault::None);
        if READING.iter().any(|(known, _)| known == fault) {
            let mut client = ProgramClient::connect(&address, None, device()).await.unwrap();
            client.program(&Tables::default()).await.unwrap();
            switch.set(*fault);
            has_all(*fault, &refused(*fault, client.counters()).await, expected);
        }
    }
}
