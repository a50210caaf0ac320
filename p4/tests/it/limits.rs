//! The limits of the services: which clients are closed or refused, and that the others are served.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::time::Duration;

use dumper::serve::Address;
use dumper::serve::{Limits, MESSAGE_BYTES};
use p4::client::SwitchClient;
use p4::proto::runtime::{CapabilitiesRequest, WriteRequest};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tonic::Code;

use crate::flood::{Call, Unfinished, idle, peak_megabytes};
use crate::process::{PATIENCE, command};
use crate::runtime::Controller;

/// A limit that is reached in a test.
const SHORT: Duration = Duration::from_millis(200);
/// Longer than that, by as much as the service takes to see it.
const LATER: Duration = Duration::from_millis(600);

/// The most memory that a switch may ever have, in MB.
const MOST_MEMORY: u64 = 200;

fn address_of(controller: &Controller) -> SocketAddr {
    controller.address.strip_prefix("http://").unwrap().parse().unwrap()
}

/// True if the other end has closed a connection, or closes it within a time.
async fn is_closed(stream: &mut TcpStream, within: Duration) -> bool {
    let mut bytes = [0; 256];
    let end = async { while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {} };
    timeout(within, end).await.is_ok()
}

async fn is_served(controller: &mut Controller) -> bool {
    timeout(PATIENCE, controller.client.capabilities(CapabilitiesRequest {})).await.unwrap().is_ok()
}

#[tokio::test]
async fn a_connection_has_a_time_for_its_handshake() {
    let controller = Controller::of_switch_within(Limits { handshake: SHORT, ..Limits::default() }).await;
    // The first has sent its preface and settings, the other nothing.
    let [mut shaken, mut silent] = idle(address_of(&controller), 2).await.try_into().unwrap();
    assert!(is_closed(&mut silent, PATIENCE).await);
    assert!(!is_closed(&mut shaken, LATER).await);
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_and_its_client_comes_again() {
    let mut controller = Controller::of_switch_within(Limits { idle: SHORT, ..Limits::default() }).await;
    assert!(is_served(&mut controller).await);
    let mut shaken = idle(address_of(&controller), 1).await.remove(0);
    assert!(is_closed(&mut shaken, PATIENCE).await);
    sleep(LATER).await;
    assert!(is_served(&mut controller).await);
    // A stream that is open is a request, however long nothing comes.
    let mut stream = controller.stream().await;
    stream.ask(1, 7).await;
    stream.told().await.unwrap();
    sleep(LATER).await;
    stream.ask(1, 8).await;
    assert_eq!(stream.told().await.unwrap(), Code::Ok);
}

#[tokio::test]
async fn the_connection_that_was_without_a_request_longest_makes_way() {
    let mut controller = Controller::of_switch_within(Limits { connections: 3, ..Limits::default() }).await;
    let address = address_of(&controller);
    let mut stream = controller.stream().await;
    stream.ask(1, 7).await;
    stream.told().await.unwrap();
    let mut earlier = idle(address, 2).await;
    let mut later = idle(address, 1).await;
    assert!(is_closed(&mut earlier[0], PATIENCE).await);
    assert!(!is_closed(&mut earlier[1], SHORT).await && !is_closed(&mut later[0], SHORT).await);
    // Each new one is taken, and the one with a request stays.
    let crowd = idle(address, 50).await;
    stream.ask(1, 8).await;
    assert_eq!(stream.told().await.unwrap(), Code::Ok);
    drop(crowd);
    assert!(is_served(&mut controller).await);
}

#[tokio::test]
async fn where_all_connections_are_in_service_a_new_one_is_refused() {
    let mut first = Controller::of_switch_within(Limits { connections: 2, ..Limits::default() }).await;
    let mut second = first.again().await;
    let mut streams = [first.stream().await, second.stream().await];
    for (stream, election) in streams.iter_mut().zip([7, 8]) {
        stream.ask(1, election).await;
        stream.told().await.unwrap();
    }
    let mut refused = idle(address_of(&first), 2).await;
    for stream in &mut refused {
        assert!(is_closed(stream, PATIENCE).await);
    }
    assert!(is_served(&mut first).await && is_served(&mut second).await);
    // There is room again when a client has ended.
    drop((second, streams));
    sleep(SHORT).await;
    let mut third = first.again().await;
    assert!(is_served(&mut third).await);
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_refused_with_its_reason() {
    let mut controller = Controller::of_switch_within(Limits::default()).await;
    let of = |bytes: usize| WriteRequest { role: "x".repeat(bytes), ..WriteRequest::default() };
    let refused = controller.client.write(of(MESSAGE_BYTES)).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    assert!(refused.message().contains("2097152"), "{refused}");
    // One below it is read, and refused for what it says.
    let refused = controller.client.write(of(MESSAGE_BYTES - 100)).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound, "{refused}");
    assert!(is_served(&mut controller).await);
}

#[tokio::test]
async fn a_request_has_a_time_for_its_message() {
    let mut controller = Controller::of_switch_within(Limits { message: SHORT, ..Limits::default() }).await;
    let mut silent = controller.stream().await;
    let ended = timeout(PATIENCE, silent.answers.message()).await.unwrap();
    assert!(matches!(ended, Ok(None)), "{ended:?}");
    // After its first message there is no hurry.
    let mut stream = controller.stream().await;
    stream.ask(1, 7).await;
    stream.told().await.unwrap();
    sleep(LATER).await;
    stream.ask(1, 8).await;
    assert_eq!(stream.told().await.unwrap(), Code::Ok);
}

/// A switch with its services on TCP, which is killed with this.
struct Program {
    _folder: TempDir,
    process: Child,
    address: Address,
}

impl Program {
    fn start(listen: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command(folder.path());
        command.args(["--die-with-parent", "--listen", listen, "--insecure"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().parse().unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { _folder: folder, process, address }
    }

    async fn serves_others(&self) {
        let peak = peak_megabytes(self.process.id()).expect("the switch lives");
        assert!(peak < MOST_MEMORY, "the switch has had {peak} MB");
        SwitchClient::connect(&self.address, None).await.unwrap();
    }

    /// Kills it; everything that it wrote on stderr.
    fn said(mut self) -> String {
        self.process.kill().unwrap();
        let mut said = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Either fails where it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_flood_takes_little_memory_and_others_are_served() {
    for announced in [4 << 20, MESSAGE_BYTES as u32 - 5] {
        let switch = Program::start("127.0.0.1:0");
        let Address::Tcp(address) = switch.address else { panic!("{}", switch.address) };
        let _idle = idle(address, 1_000).await;
        switch.serves_others().await;
        let call = Call { path: "/p4.v1.P4Runtime/Write", announced };
        let unfinished = Unfinished::open(address, call, 10, 200);
        let sent = unfinished.spent(async || switch.serves_others().await).await;
        assert!(sent > 0, "nothing was sent");
        switch.serves_others().await;
        let said = switch.said();
        assert!(said.contains("lumina-switch: the connection from 127.0.0.1:"), "{said}");
        assert!(said.contains("lumina-switch: a message from 127.0.0.1:"), "{said}");
        assert!(said.lines().count() < 20, "{said}");
    }
}

#[tokio::test]
async fn an_address_that_stands_for_all_is_warned_of() {
    let switch = Program::start("0.0.0.0:0");
    // It has begun to serve, and has warned before.
    switch.serves_others().await;
    assert!(switch.said().contains("lumina-switch: warning: listening on 0.0.0.0:"));
    let switch = Program::start("127.0.0.1:0");
    assert_eq!(switch.said(), "");
}
