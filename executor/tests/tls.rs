//! Mutual TLS, over the agent of a host without RDMA devices: only an orchestrator with keys of the same testbed is served, and
//! whoever is not learns why.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dumper::serve::tls::{Authority, Keys, KeysError, Machine, Made, Role};
use dumper::serve::{Address, DialError, dial};
use executor::agent::{AgentClient, AgentError, AgentService, Host, HostOptions, Timeouts};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Validity of certificates, in days.
const DAYS: i64 = 90;

/// The keys of a testbed.
struct Lab {
    folder: TempDir,
    authority: Authority,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(&folder.path().join("authority")).unwrap();
        Self { folder, authority }
    }

    /// The keys of a machine; its name is its role.
    fn certify(&self, role: Role, address: IpAddr, days: i64) -> PathBuf {
        let machine = Machine { name: role.name().to_owned(), role, addresses: vec![address] };
        let folder = self.folder.path().join(&machine.name);
        self.authority.certify(&machine, days, &folder).unwrap();
        folder
    }

    fn keys(&self, role: Role) -> Keys {
        Keys::load(&self.certify(role, HERE, DAYS), role).unwrap()
    }
}

/// An agent with these keys, for as long as the test lasts.
async fn agent(keys: Option<Keys>) -> Address {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    tokio::spawn(async move {
        let host = Host::new(HostOptions::default());
        AgentService::new(host).serve(listener, keys.as_ref(), std::future::pending()).await.unwrap();
    });
    address
}

async fn refused(address: &Address, role: Role, keys: Option<&Keys>) -> String {
    match dial(address, role, keys).await {
        Err(DialError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_orchestrator_with_keys_is_served() {
    let lab = Lab::new();
    let address = agent(Some(lab.keys(Role::Agent))).await;
    let keys = lab.keys(Role::Orchestrator);
    let mut client = AgentClient::connect(&address, Some(&keys), Timeouts::default()).await.unwrap();
    assert_eq!(client.describe().await.unwrap().protocol, executor::agent::protocol());
    let certificate = dial(&address, Role::Agent, Some(&keys)).await.unwrap().certificate.unwrap();
    assert_eq!((certificate.role, &certificate.addresses[..]), (Some(Role::Agent), &[HERE][..]));
    assert_eq!(certificate.warning(), None);
}

#[tokio::test]
async fn without_a_certificate_nothing_is_served() {
    let address = agent(Some(Lab::new().keys(Role::Agent))).await;
    // In plaintext.
    let timeouts = Timeouts { answer: Duration::from_secs(10) };
    let asked = match AgentClient::connect(&address, None, timeouts).await {
        Ok(mut client) => client.describe().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(matches!(asked, Err(AgentError::Lost { .. })), "{asked:?}");
    let Address::Tcp(at) = address else { panic!("{address}") };
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    // An alert of TLS (RFC 8446, 6), if anything.
    assert!(answer.is_empty() || answer[0] == 21, "{answer:?}");
}

#[tokio::test]
async fn keys_of_other_machines_command_nobody() {
    let (lab, other) = (Lab::new(), Lab::new());
    let address = agent(Some(lab.keys(Role::Agent))).await;
    for role in [Role::Agent, Role::Switch, Role::Dumper] {
        let why = refused(&address, Role::Agent, Some(&lab.keys(role))).await;
        assert!(why.contains("it refuses the keys") && why.contains(role.name()), "{why}");
    }
    // An orchestrator of another testbed, who takes this one's authority for its own.
    let folder = other.certify(Role::Orchestrator, HERE, DAYS);
    let why = refused(&address, Role::Agent, Some(&Keys::load(&folder, Role::Orchestrator).unwrap())).await;
    assert!(why.contains("of another authority"), "{why}");
    fs::copy(lab.folder.path().join("authority/ca.pem"), folder.join("ca.pem")).unwrap();
    let why = refused(&address, Role::Agent, Some(&Keys::load(&folder, Role::Orchestrator).unwrap())).await;
    assert!(why.contains("it refuses the keys"), "{why}");
    // Keys that are named for another purpose are not even loaded.
    let error = Keys::load(&lab.certify(Role::Dumper, HERE, DAYS), Role::Orchestrator).unwrap_err();
    assert!(
        error.to_string().ends_with("are the keys of a dumper, and those of an orchestrator are needed"),
        "{error}"
    );
}

#[tokio::test]
async fn a_service_shows_its_role_and_its_address() {
    let lab = Lab::new();
    let keys = lab.keys(Role::Orchestrator);
    let dumper = agent(Some(lab.keys(Role::Dumper))).await;
    let why = refused(&dumper, Role::Agent, Some(&keys)).await;
    assert!(why.contains("the role dumper, and agent is needed"), "{why}");

    let elsewhere = lab.certify(Role::Agent, [192, 0, 2, 1].into(), DAYS);
    let elsewhere = agent(Some(Keys::load(&elsewhere, Role::Agent).unwrap())).await;
    let why = refused(&elsewhere, Role::Agent, Some(&keys)).await;
    assert!(why.contains("not for the address 127.0.0.1"), "{why}");

    let why = refused(&agent(Some(keys.clone())).await, Role::Agent, Some(&keys)).await;
    assert!(why.contains("that of an orchestrator"), "{why}");
    let why = refused(&agent(None).await, Role::Agent, Some(&keys)).await;
    assert!(why.contains("start it with --keys"), "{why}");
}

#[tokio::test]
async fn certificates_end() {
    let lab = Lab::new();
    let ended = |role| Keys::load(&lab.certify(role, HERE, 0), role).unwrap();
    let (of_agent, of_orchestrator) = (ended(Role::Agent), ended(Role::Orchestrator));
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert!(of_agent.certificate().warning().unwrap().contains("has expired"));
    let why = refused(&agent(Some(of_agent)).await, Role::Agent, Some(&lab.keys(Role::Orchestrator))).await;
    assert!(why.contains("its certificate has expired"), "{why}");
    let address = agent(Some(lab.keys(Role::Agent))).await;
    let why = refused(&address, Role::Agent, Some(&of_orchestrator)).await;
    assert!(why.contains("it refuses the keys") && why.contains("Expired"), "{why}");
    // A month before its end it is warned of.
    for (days, is_warned) in [(29, true), (31, false)] {
        let keys = Keys::load(&lab.certify(Role::Agent, HERE, days), Role::Agent).unwrap();
        assert_eq!(keys.certificate().warning().is_some(), is_warned, "{days}");
    }
}

#[test]
fn keys_are_private_and_are_renewed() {
    let lab = Lab::new();
    let machine = Machine { name: "switch".to_owned(), role: Role::Switch, addresses: vec![HERE] };
    let folder = lab.folder.path().join("switch");
    assert_eq!(lab.authority.certify(&machine, DAYS, &folder).unwrap(), Made::New);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in ["switch/key.pem", "authority/ca-key.pem"] {
        assert_eq!(mode(&lab.folder.path().join(path)), 0o600, "{path}");
    }
    assert_eq!((mode(&folder), mode(&lab.folder.path().join("authority"))), (0o700, 0o700));
    let before = fs::read(folder.join("certificate.pem")).unwrap();
    // The authority is the same one when it is opened again.
    let authority = Authority::open(&lab.folder.path().join("authority")).unwrap();
    assert_eq!(authority.certify(&machine, DAYS, &folder).unwrap(), Made::Renewed);
    assert_ne!(fs::read(folder.join("certificate.pem")).unwrap(), before);
    Keys::load(&folder, Role::Switch).unwrap();
}

#[test]
fn wrong_keys_are_told() {
    let lab = Lab::new();
    let folder = lab.certify(Role::Dumper, HERE, DAYS);
    let load = || Keys::load(&folder, Role::Dumper);
    let key = folder.join("key.pem");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(load(), Err(KeysError::Readable { .. })));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    load().unwrap();
    let (own, good) = (folder.join("certificate.pem"), fs::read(folder.join("certificate.pem")).unwrap());
    for (text, why) in [
        (&b""[..], "has no certificate in PEM"),
        (b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", "is no certificate in PEM"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate.pem"),
        (&[b'A'; 70_000], "has more than"),
    ] {
        fs::write(&own, text).unwrap();
        let error = load().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    // Of another machine.
    lab.certify(Role::Switch, HERE, DAYS);
    fs::write(&own, &good).unwrap();
    fs::copy(lab.folder.path().join("switch/key.pem"), &key).unwrap();
    let error = load().unwrap_err().to_string();
    assert!(error.contains("does not belong to certificate.pem"), "{error}");
    fs::remove_file(&key).unwrap();
    assert!(load().unwrap_err().to_string().contains("testbed keys"));
}

/// Connections of clients that have no keys.
const CONNECTIONS: usize = 1_000;

/// Memory that they may take together.
const MOST_KIB: u64 = 32 << 10;

/// The built agent, which ends with this.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Agent {
    fn memory_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

/// Some send nothing, some the beginning of a handshake, some what is none.
#[tokio::test]
async fn a_thousand_connections_without_keys_take_little_memory() {
    let lab = Lab::new();
    let keys = lab.certify(Role::Agent, HERE, DAYS);
    let mut child = Command::new(env!("CARGO_BIN_EXE_lumina-agent"))
        .args(["--listen", "127.0.0.1:0", "--keys"])
        .arg(&keys)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let agent = Agent(child);
    let address: Address = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
    let Address::Tcp(at) = address else { panic!("{address}") };
    let orchestrator = lab.keys(Role::Orchestrator);
    let mut client = AgentClient::connect(&address, Some(&orchestrator), Timeouts::default()).await.unwrap();
    client.describe().await.unwrap();

    let before = agent.memory_kib();
    let mut open = Vec::new();
    for number in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(at).await.unwrap();
        // Of the record of a ClientHello that has 16 KB (RFC 8446, 5.1).
        let sent: &[u8] = match number % 3 {
            0 => b"",
            1 => b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03",
            _ => b"GET / HTTP/1.1\r\n\r\n",
        };
        // The agent may have closed it.
        let _ = stream.write_all(sent).await;
        if number % 3 == 1 {
            let _ = stream.write_all(&[0; 8_000]).await;
        }
        open.push(stream);
    }
    let grown = agent.memory_kib().saturating_sub(before);
    assert!(grown < MOST_KIB, "{grown} KiB");
    // Whoever has keys is served meanwhile.
    let mut second = AgentClient::connect(&address, Some(&orchestrator), Timeouts::default()).await.unwrap();
    second.describe().await.unwrap();
    client.describe().await.unwrap();
    drop(open);
}
