//! The compiled program on bmv2, between network interfaces: `ci/p4` runs this where p4c and bmv2 are installed.

use std::fmt::Display;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corpus::Role;
use dumper::mirror::MirrorMeta;
use dumper::serve::Address;
use dumper::testing::in_namespace;
use p4::client::{Device, ProgramClient, SwitchError};
use p4::entries::program::Compiled;
use tokio::runtime::Runtime;
use tokio::time::sleep;
use tonic::transport::Endpoint;

use crate::conformance::{Target, deviations, forwards, tables};
use crate::frames::Made;
use crate::process::PATIENCE;
use crate::programs::{Case, possible, udp_at, wiring};
use crate::veth::{Ended, Host};

/// Time in which no frame may come where none should.
const SILENCE: Duration = Duration::from_millis(20);

/// A file that `ci/p4` has made.
fn compiled(name: &str) -> PathBuf {
    let folder = std::env::var_os("LUMINA_P4").expect("LUMINA_P4 is the folder of what p4c has made");
    PathBuf::from(folder).join(name)
}

#[test]
#[ignore = "needs p4c and bmv2: ci/p4 runs it"]
fn the_compiler_gives_the_p4info_of_the_schema() {
    for name in ["v1model", "tna", "t2na"] {
        let Ok(bytes) = std::fs::read(compiled(&format!("{name}.p4info.bin"))) else {
            println!("{name}: not compiled");
            continue;
        };
        Compiled::read(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        println!("{name}: the P4Info is that of the schema");
    }
}

#[test]
#[ignore = "needs p4c and bmv2: ci/p4 runs it"]
fn bmv2_holds_to_the_vectors() {
    in_namespace(4, "bmv2::in_a_namespace");
}

/// A switch between two hosts and two dumpers.
struct Rig {
    _switch: Ended,
    runtime: Runtime,
    client: ProgramClient,
    hosts: [Host; 2],
    dumpers: [Host; 2],
}

/// Starts bmv2 without a program, with the ports of hosts and dumpers at the interfaces of the namespace.
fn start() -> (Ended, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let program = std::env::var("SIMPLE_SWITCH_GRPC").unwrap_or_else(|_| "simple_switch_grpc".to_owned());
    let mut command = Command::new(program);
    for (at, port) in (1..).zip([10, 20, 30, 31]) {
        command.args(["--interface", &format!("{port}@s{at}")]);
    }
    command.args(["--device-id", "7", "--no-p4", "--", "--grpc-server-addr", &address.to_string()]);
    let switch = Ended(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    (switch, address.to_string().parse().unwrap())
}

/// What succeeds once bmv2 serves.
async fn patiently<T, E: Display>(mut attempt: impl AsyncFnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match attempt().await {
            Ok(done) => return done,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

impl Rig {
    fn start() -> Self {
        let (switch, address) = start();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let config = std::fs::read(compiled("v1model.json")).unwrap();
        let compiled = Compiled::read(std::fs::read(compiled("v1model.p4info.bin")).unwrap()).unwrap();
        let device = Device { id: 7, compiled, config, wiring: wiring() };
        let client = runtime
            .block_on(patiently(async || ProgramClient::connect(&address, None, device.clone()).await));
        let hosts = [Host::at("h1"), Host::at("h2")];
        Self { _switch: switch, runtime, client, hosts, dumpers: [Host::at("h3"), Host::at("h4")] }
    }

    fn check(&mut self, case: &Case) -> Result<(), SwitchError> {
        self.runtime.block_on(self.client.program(&case.tables))?;
        let mut mirrored = 0;
        for entered in &case.entered {
            self.hosts[entered.from as usize].send(&entered.frame);
            mirrored += u64::from(entered.mirror.is_some());
            // What comes in at two ports has no order of its own.
            let begun = Instant::now();
            while self.runtime.block_on(self.client.counters())?.received() != mirrored {
                assert!(begun.elapsed() < PATIENCE, "{}: packet {mirrored} does not enter", case.name);
            }
        }
        for (place, entered) in case.entered.iter().enumerate() {
            for host in Role::ALL {
                let left = entered.left.iter().filter(|(to, _)| *to == host);
                let mut expected: Vec<_> = left.map(|(_, frame)| frame.clone()).collect();
                let mut left: Vec<_> = expected.iter().map(|_| self.hosts[host as usize].receive()).collect();
                // The replicas of a packet leave in the order that the traffic manager gives them.
                expected.sort();
                left.sort();
                assert!(left == expected, "{}: packet {}", case.name, place + 1);
            }
        }
        let mut sequence = 0;
        for entered in &case.entered {
            let Some(event) = entered.mirror else { continue };
            let at = usize::from(sequence % 4 == 2);
            sequence += 1;
            let mut mirrored = self.dumpers[at].receive();
            let mut expected = entered.frame.clone();
            let time = dumper::Nanos(0);
            p4::rewrite::mirror(&mut expected, MirrorMeta { sequence, time, event });
            // The switch's own time, and the destination port, which is drawn.
            let port = udp_at(&entered.frame) + 2;
            mirrored[..6].fill(0);
            mirrored[port..port + 2].copy_from_slice(&entered.frame[port..port + 2]);
            assert!(mirrored == expected, "{}: mirrored packet {sequence}", case.name);
        }
        for end in self.hosts.iter().chain(&self.dumpers) {
            assert_eq!(end.receive_within(SILENCE), None, "{}", case.name);
        }
        Ok(())
    }
}

#[test]
#[ignore = "changes the network: the test above runs it in a namespace"]
fn in_a_namespace() {
    conforms();
    let mut rig = Rig::start();
    let cases = possible();
    for case in &cases {
        rig.check(case).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
    println!("bmv2: {} vectors", cases.len());
    let begun = Instant::now();
    rig.runtime.block_on(rig.client.program(&tables())).unwrap();
    println!("bmv2: as many entries as its tables hold, in {:?}", begun.elapsed());
    forwards(|frame| rig.hosts[0].send(frame), || rig.hosts[1].receive());
    println!("bmv2: and they match");
}

/// Where bmv2's server deviates from the rules to which `lumina-switch` is held: so the rules are no private opinion.
fn conforms() {
    let (_switch, address) = start();
    let host = Host::at("h1");
    let send = |packets| (0..packets).for_each(|_| host.send(&Made::default().frame()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runtime.block_on(async {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = patiently(async || endpoint.connect().await).await;
        deviations(Target {
            channel,
            device: 7,
            p4info: Some(std::fs::read(compiled("v1model.p4info.bin")).unwrap()),
            config: std::fs::read(compiled("v1model.json")).unwrap(),
            port: 10,
            send: &send,
        })
        .await
    });
    println!("bmv2 deviates from the rules in {} places:\n{}", found.len(), found.join("\n"));
    let known = found.iter().map(|deviation| DEVIATIONS.iter().any(|known| deviation.starts_with(known)));
    assert!(known.clone().all(|is_known| is_known) && known.count() == DEVIATIONS.len());
}

/// What bmv2's server (PI) does otherwise: codes for what is not there, other devices, and a backup that becomes the primary unasked.
const DEVIATIONS: [&str; 8] = [
    "an arbitration for another device: Ok",
    "an insert into a table that is not there: [InvalidArgument]",
    "a value of more bits than its field: [InvalidArgument]",
    "a Read of a table that is not there: Err(InvalidArgument)",
    "a Read of another device: Err(FailedPrecondition)",
    "a counter that is not there: Err(InvalidArgument)",
    "a cell behind the last: Err(Unknown)",
    "the primary has gone: a backup is told: (Ok, 10)",
];
