//! The agent over loopback, on a host without RDMA devices: who is answered what, and what becomes of both sides when
//! the other goes away. Tests with devices run in the guests of the VM testbed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use corpus::{Role, TestConfig};
use executor::agent::{
    AgentClient, AgentError, AgentService, Host, HostOptions, Prepare, RunningTest, Timeouts,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Short, as nothing that is waited for in vain shall take long.
const TIMEOUTS: Timeouts = Timeouts { answer: Duration::from_secs(10) };

/// An agent of a host that has no device of that name, whatever others it has.
struct Agent {
    address: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Agent {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let host =
            Host::new(HostOptions { devices: vec!["no-such-device".into()], ..HostOptions::default() });
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap_or(()) };
            AgentService::new(host).serve(listener, None, stopped).await.unwrap();
        });
        Self { address, stop, served }
    }

    async fn client(&self) -> AgentClient {
        AgentClient::connect(&self.address.parse().unwrap(), None, TIMEOUTS).await.unwrap()
    }
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, AgentError>) -> String {
    match answer.unwrap_err() {
        AgentError::Refused { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

/// A test that has the host.
async fn taken(client: &AgentClient) -> Result<RunningTest, AgentError> {
    let mut test = client.test();
    test.taken().await.map(|()| test)
}

async fn prepare(test: &mut RunningTest, config: &TestConfig) -> String {
    let role = Role::Requester;
    refusal(test.prepare(&Prepare { config, role, device: None, port: None, gid_index: None }).await)
}

#[tokio::test]
async fn a_host_without_devices_says_so_and_refuses_tests() {
    let agent = Agent::start().await;
    let mut client = agent.client().await;
    let description = client.describe().await.unwrap();
    assert_eq!(description.devices, []);
    assert!(!description.kernel_release.is_empty() && description.max_memory_bytes > 0);
    let mut test = client.test();
    assert_eq!(prepare(&mut test, &TestConfig::default()).await, description.no_devices);
}

#[tokio::test]
async fn a_bad_test_is_refused_with_the_field() {
    let agent = Agent::start().await;
    let mut config = TestConfig::default();
    config.traffic.message_size = u32::MAX;
    let mut test = agent.client().await.test();
    let reason = prepare(&mut test, &config).await;
    assert!(reason.contains("traffic.message-size: 4294967295"), "{reason}");
}

#[tokio::test]
async fn a_refusal_of_everything_is_no_longer_than_a_header_may_be() {
    let agent = Agent::start().await;
    let mut config = TestConfig::default();
    config.requester.ip_list = (0..5_000).map(|_| "0.0.0.0/99".parse()).filter_map(Result::ok).collect();
    config.requester.nic = "\u{1f980}".repeat(5_000);
    let mut test = agent.client().await.test();
    let reason = prepare(&mut test, &config).await;
    assert!(reason.len() <= 1024 && reason.contains("requester."), "{reason}");
}

#[tokio::test]
async fn steps_out_of_order_are_refused() {
    let agent = Agent::start().await;
    let client = agent.client().await;
    let mut test = client.test();
    let reason = refusal(test.start(Duration::from_secs(1)).await);
    assert!(reason.starts_with("expected the step Prepare, got Start"), "{reason}");
    let test = client.test();
    let reason = refusal(test.finish().await);
    assert!(reason.starts_with("expected the step Prepare, got Finish"), "{reason}");
}

#[tokio::test]
async fn one_test_at_a_time() {
    let agent = Agent::start().await;
    let (one, other) = (agent.client().await, agent.client().await);
    for _ in 0..3 {
        let first = taken(&one).await.unwrap();
        assert!(refusal(taken(&other).await.map(drop)).starts_with("another test is running"));
        drop(first);
        // The stream has ended: that is all that it takes.
        drop(taken(&other).await.unwrap());
    }
    let lost = taken(&one).await.unwrap();
    drop((one, lost));
    taken(&other).await.unwrap();
}

#[tokio::test]
async fn an_agent_that_ends_is_lost_and_one_that_was_never_there_too() {
    let agent = Agent::start().await;
    let mut test = taken(&agent.client().await).await.unwrap();
    agent.stop.send(()).unwrap();
    // A test that is running does not keep it.
    tokio::time::timeout(TIMEOUTS.answer, agent.served).await.unwrap().unwrap();
    let lost = test.start(Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(lost, AgentError::Lost { .. }), "{lost:?}");
    let lost = AgentClient::connect(&agent.address.parse().unwrap(), None, TIMEOUTS).await.unwrap_err();
    assert!(
        matches!(&lost, AgentError::Lost { agent: address, .. } if *address == agent.address),
        "{lost:?}"
    );
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_told_from_one_that_is_lost() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let timeouts = Timeouts { answer: Duration::from_millis(200) };
    let mut client = AgentClient::connect(&address.parse().unwrap(), None, timeouts).await.unwrap();
    let error = client.describe().await.unwrap_err();
    assert_eq!(
        error,
        AgentError::TimedOut { agent: address, asked: "Describe", after: Duration::from_millis(200) }
    );
}

#[tokio::test]
async fn the_program_says_where_it_listens_and_ends_when_asked_to() {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_lumina-agent"))
        .args(["--listen", "127.0.0.1:0", "--device", "no-such-device"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(agent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("lumina-agent listens on ").expect(&line).to_owned();
    let client = AgentClient::connect(&address.parse().unwrap(), None, TIMEOUTS).await.unwrap();
    let _running = taken(&client).await.unwrap();
    let second =
        Command::new(env!("CARGO_BIN_EXE_lumina-agent")).args(["--listen", &address]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8(second.stderr).unwrap().contains("--listen takes another address"));
    kill(Pid::from_raw(i32::try_from(agent.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(agent.wait().unwrap().code(), Some(0));
}
