//! Testbeds of real NICs whose agents are made up: what a host has decides what tests may be, and one that changes or restarts is
//! told.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use corpus::{ControlPacket, Mtu, RoceSetting, Role, TestConfig};
use dumper::observation::kernel::{Kind, troubles};
use dumper::serve::{Access, Address, Bound, Limits, serve};
use executor::agent::proto::agent_server::{Agent, AgentServer};
use executor::agent::proto::{
    DescribeRequest, Description, Device, Event, Gid, GidType, Limits as DeviceLimits, Parameter,
    ParameterState, Port, Step,
};
use executor::agent::protocol;
use executor::physical::{Lab, PhysicalError};
use executor::{Testbed as _, TestbedError};
use p4::process::{self, Options};
use p4::switch::Dumpers;
use tempfile::TempDir;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};

/// What the agent of a host says, and what changes each time.
struct Said {
    description: Description,
    /// Done after each answer.
    then: fn(&mut Description),
    /// The host is gone as soon as a test begins; else the test never gets an answer.
    is_lost: bool,
}

/// An agent that says so.
struct MadeUp(Arc<Mutex<Said>>);

#[tonic::async_trait]
impl Agent for MadeUp {
    type TestStream = ReceiverStream<Result<Event, Status>>;

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<Description>, Status> {
        let mut said = self.0.lock().unwrap();
        let description = said.description.clone();
        let then = said.then;
        then(&mut said.description);
        Ok(Response::new(description))
    }

    async fn test(&self, _: Request<Streaming<Step>>) -> Result<Response<Self::TestStream>, Status> {
        if !self.0.lock().unwrap().is_lost {
            std::future::pending::<()>().await;
        }
        Err(Status::unavailable("the host has gone"))
    }
}

/// A testbed with two such hosts, and a switch.
struct Place {
    folder: TempDir,
    hosts: [Arc<Mutex<Said>>; 2],
}

/// A ConnectX as its agent describes it.
fn connectx(host: u8) -> Description {
    let mut raw = [0; 16];
    raw[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, host]);
    let gid =
        |index, ip: &str| Gid { index, r#type: GidType::RoceV2.into(), raw: raw.to_vec(), ip: ip.to_owned() };
    let set = |name: &str, state: ParameterState| Parameter {
        name: name.to_owned(),
        state: state.into(),
        detail: String::new(),
    };
    let port = Port {
        number: 1,
        active: true,
        ethernet: true,
        active_mtu: 1024,
        netdev: "eth1".to_owned(),
        gids: vec![gid(0, "fe80::1"), gid(1, &format!("10.0.0.{host}")), gid(2, &format!("10.0.1.{host}"))],
        roce_parameters: vec![
            set("dcqcn-np-enable", ParameterState::Present),
            set("dcqcn-rp-enable", ParameterState::Present),
            set("slow-restart", ParameterState::Absent),
        ],
        ..Port::default()
    };
    Description {
        agent_version: "0.1.0".to_owned(),
        kernel_release: "6.12.1".to_owned(),
        devices: vec![Device {
            name: "mlx5_0".to_owned(),
            driver: "mlx5_core".to_owned(),
            family: "mlx5".to_owned(),
            firmware: "16.35.1012".to_owned(),
            limits: Some(DeviceLimits {
                max_qp_wr: 64,
                max_qp_rd_atom: 16,
                max_qp_init_rd_atom: 8,
                ..DeviceLimits::default()
            }),
            ports: vec![port],
            ..Device::default()
        }],
        max_memory_bytes: 4 << 20,
        protocol: protocol(),
        boot_id: "first".to_owned(),
        ..Description::default()
    }
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hosts = [1, 2].map(|host| {
            let said = Said { description: connectx(host), then: |_| (), is_lost: host == 1 };
            Arc::new(Mutex::new(said))
        });
        let path = |name: &str| folder.path().join(name);
        for (name, said) in ["requester", "responder"].into_iter().zip(&hosts) {
            let (address, routes) =
                (Address::Unix(path(name)), Routes::new(AgentServer::new(MadeUp(Arc::clone(said)))));
            in_thread(async move |ready| {
                let bound = Bound::listen(&address).await.unwrap();
                ready.send(()).unwrap();
                serve("test", bound.listener, None, routes, Limits::default()).await.unwrap();
            });
        }
        let port = |host: u8| {
            let text = format!("unix:{0}/{host}.switch:{0}/{host}.guest", folder.path().display());
            text.parse().unwrap()
        };
        let options = Options {
            ports: [port(1), port(2)],
            dumper_ports: Vec::new(),
            dumpers: Dumpers::default(),
            listen: Address::Unix(path("switch")),
            access: Access::default(),
            limits: p4::switch::Limits::default(),
        };
        in_thread(async move |ready| {
            let listening = |_: &Address| ready.send(()).unwrap();
            process::run(options, &mut |_| (), listening, std::future::pending()).await.unwrap();
        });
        let place = Self { folder, hosts };
        place.write("");
        place
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("lab.toml")
    }

    /// Writes the file, with more of the requester.
    fn write(&self, requester: &str) {
        let at = self.folder.path().display();
        let text = format!(
            "[requester]\nagent = \"unix:{at}/requester\"\nnic = \"cx5\"\n{requester}\n\
             [responder]\nagent = \"unix:{at}/responder\"\nnic = \"cx5\"\n\
             [switch]\nkind = \"software\"\ncontrol = \"unix:{at}/switch\"\n"
        );
        fs::write(self.file(), text).unwrap();
    }

    fn change(&self, host: Role, change: impl FnOnce(&mut Said)) {
        change(&mut self.hosts[host as usize].lock().unwrap());
    }

    fn open(&self) -> Result<Lab, PhysicalError> {
        Lab::open(&self.file())
    }

    /// The error of a testbed whose requester's host is described so, and what to do.
    fn refused(&self, change: impl FnOnce(&mut Description)) -> String {
        self.change(Role::Requester, |said| {
            said.description = connectx(1);
            change(&mut said.description);
        });
        let error = self.open().unwrap_err();
        format!("{error}; {}", error.mend().unwrap_or_default())
    }
}

/// Runs something in a thread of its own, until the program ends; returns when it is ready.
fn in_thread<F: Future<Output = ()>>(run: impl FnOnce(std::sync::mpsc::Sender<()>) -> F + Send + 'static) {
    let (ready, is_ready) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.unwrap().block_on(run(ready));
    });
    is_ready.recv().unwrap();
}

#[test]
fn what_hosts_have_is_what_tests_may_be() {
    let place = Place::new();
    let can = place.open().unwrap().capabilities();
    assert_eq!((can.max_bytes, can.max_tx_depth, can.max_rd_atomic), (4 << 20, 64, 8));
    // Addresses of a link are none.
    assert_eq!((can.max_addresses, can.ipv6), (2, false));
    assert_eq!(can.mtus.iter().map(|mtu: &Mtu| mtu.bytes()).max(), Some(1024));
    assert_eq!(can.settings, [RoceSetting::NotificationPoint, RoceSetting::ReactionPoint].into());
    assert!(can.control_packets.contains(&ControlPacket::Cnp) && !can.deterministic);

    place.change(Role::Responder, |said| {
        let device = &mut said.description.devices[0];
        (device.family, device.driver) = ("rxe".to_owned(), String::new());
    });
    let can = place.open().unwrap().capabilities();
    assert!(!can.control_packets.contains(&ControlPacket::Cnp) && !can.fixed.dcqcn_np_enable);
    place.write("addresses = [\"10.0.1.1\"]");
    assert_eq!(place.open().unwrap().capabilities().max_addresses, 1);
}

#[test]
fn hosts_that_cannot_be_used_are_told() {
    let place = Place::new();
    for (change, parts) in [
        (
            (|said| said.protocol.clear()) as fn(&mut Description),
            ["of another version", "install the lumina-agent"],
        ),
        (
            |said| (said.devices, said.no_devices) = (Vec::new(), "it has none".into()),
            ["it has none", "driver"],
        ),
        (|said| said.devices.push(Device::default()), ["several RDMA devices", "`device`"]),
        (|said| said.devices[0].ports[0].number = 2, ["no port 1", "`port`"]),
        (|said| said.devices[0].ports[0].ethernet = false, ["InfiniBand", "Ethernet mode"]),
        (|said| said.devices[0].ports[0].gids.truncate(1), ["no RoCE v2 GID of an IPv4 address", "address"]),
    ] {
        let said = place.refused(change);
        assert!(said.starts_with("the requester host at unix:"), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
    place.write("device = \"mlx5_7\"");
    let said = place.refused(|_| ());
    assert!(said.contains("no RDMA device mlx5_7; it has mlx5_0"), "{said}");
    place.write("addresses = [\"10.9.9.9\"]");
    let said = place.refused(|_| ());
    assert!(said.contains("10.9.9.9, which `addresses` names"), "{said}");
}

#[test]
fn a_host_with_another_firmware_is_another_one() {
    let place = Place::new();
    let mut lab = place.open().unwrap();
    place.change(Role::Responder, |said| "16.35.2000".clone_into(&mut said.description.devices[0].firmware));
    match lab.run(&test()) {
        Err(TestbedError::Broken(why)) => {
            for part in ["responder host", "firmware", "16.35.1012", "16.35.2000", "begin another one"] {
                assert!(why.contains(part), "{why}");
            }
        }
        other => panic!("{other:?}"),
    }
}

/// A host that restarts in each try is the test's doing; one that restarts once was not.
#[test]
fn a_host_that_restarts_each_time_is_an_observation() {
    let place = Place::new();
    let mut lab = place.open().unwrap();
    // Between two questions, a test has been tried.
    place.change(Role::Requester, |said| said.then = |said| said.boot_id.push('x'));
    let observed = lab.run(&test()).unwrap();
    let kinds: Vec<Kind> = troubles(&observed.requester_log).iter().map(|trouble| trouble.kind).collect();
    assert_eq!(kinds, [Kind::Rebooted]);

    place.change(Role::Requester, |said| said.then = |said| said.instance += 1);
    let observed = lab.run(&test()).unwrap();
    let kinds: Vec<Kind> = troubles(&observed.requester_log).iter().map(|trouble| trouble.kind).collect();
    assert_eq!(kinds, [Kind::AgentEnded]);

    // It is gone, and is the same when it answers again: that says nothing of the test.
    place.change(Role::Requester, |said| said.then = |_| ());
    match lab.run(&test()) {
        Err(TestbedError::Broken(why)) => assert!(why.contains("is lost: the host has gone"), "{why}"),
        other => panic!("{other:?}"),
    }
}

/// A test within what these hosts can do.
fn test() -> TestConfig {
    let text = "[traffic]\nmtu = 1024\nrecv-depth = 64\nmax-rd-atomic = 8\n";
    corpus::from_toml("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}
