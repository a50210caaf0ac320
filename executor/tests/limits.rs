//! The built `lumina-agent` under a flood: its memory is bounded, and others are served.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dumper::serve::{Address, MESSAGE_BYTES};
use executor::agent::{AgentClient, Timeouts};

#[path = "../../p4/tests/it/flood.rs"]
mod flood;

use self::flood::{Call, Unfinished, idle, peak_megabytes};

/// The most memory that an agent may ever have, in MB.
const MOST_MEMORY: u64 = 200;

const DESCRIBE: &str = "/lumina.agent.v1.Agent/Describe";
const TEST: &str = "/lumina.agent.v1.Agent/Test";

const TIMEOUTS: Timeouts = Timeouts { answer: Duration::from_secs(10) };

/// An agent that is killed with this.
struct Agent {
    process: Child,
    address: SocketAddr,
}

impl Agent {
    fn start(listen: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_lumina-agent"))
            .args(["--listen", listen, "--insecure", "--device", "no-such-device"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("lumina-agent listens on ").expect(&line).parse().unwrap();
        Self { process, address }
    }

    /// Another client is served, and the agent has stayed below its bound.
    async fn serves_others(&self) {
        let peak = peak_megabytes(self.process.id()).expect("the agent lives");
        assert!(peak < MOST_MEMORY, "the agent has had {peak} MB");
        let mut client = AgentClient::connect(&Address::Tcp(self.address), None, TIMEOUTS).await.unwrap();
        client.describe().await.unwrap();
    }

    /// Kills it; everything that it wrote on stderr.
    fn said(mut self) -> String {
        self.process.kill().unwrap();
        let mut said = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Either fails where it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// 200 unfinished messages on each of ten connections, beside 1 000 idle connections; what the agent wrote on stderr.
async fn endure(call: Call) -> String {
    let agent = Agent::start("127.0.0.1:0");
    let _idle = idle(agent.address, 1_000).await;
    agent.serves_others().await;
    let unfinished = Unfinished::open(agent.address, call, 10, 200);
    let sent = unfinished.spent(async || agent.serves_others().await).await;
    assert!(sent > 0, "nothing was sent");
    agent.serves_others().await;
    let said = agent.said();
    assert!(said.lines().count() < 20, "{said}");
    assert!(said.contains("lumina-agent: the connection from 127.0.0.1:"), "{said}");
    said
}

#[tokio::test]
async fn messages_of_4_mb_that_never_end_take_no_memory() {
    let said = endure(Call { path: DESCRIBE, announced: 4 << 20 }).await;
    assert!(said.contains("is refused: the message is longer than 2097152 bytes"), "{said}");
}

#[tokio::test]
async fn messages_within_the_limit_that_never_end_share_a_bounded_memory() {
    let said = endure(Call { path: DESCRIBE, announced: MESSAGE_BYTES as u32 - 5 }).await;
    assert!(said.contains("is refused: the unfinished messages of this connection are beyond"), "{said}");
}

#[tokio::test]
async fn steps_of_tests_that_never_end_take_no_memory() {
    endure(Call { path: TEST, announced: 4 << 20 }).await;
}

#[tokio::test]
async fn an_address_that_stands_for_all_is_warned_of() {
    for (listen, is_warned) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let agent = Agent::start(listen);
        // It has begun to serve, and has warned before.
        agent.serves_others().await;
        let said = agent.said();
        assert_eq!(said.contains("lumina-agent: warning: listening on 0.0.0.0:"), is_warned, "{said}");
    }
}
