//! The built switch between network interfaces: pairs of veth in a namespace that the test makes.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use corpus::Role;
use dumper::integrity::Verdict;
use dumper::mirror::MirrorMeta;
use dumper::pool::{Collected, Dumper, Losses, Options, Pool, routes};
use dumper::serve::{self, Address, Bound};
use dumper::testing::{Root, in_namespace_of};
use dumper::{ActionKind, Event, Nanos, Psn, integrity};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, geteuid};
use p4::client::SwitchClient;
use p4::switch::MIRRORED_BYTES;
use p4::{Tables, translate};
use tokio::runtime::Runtime;

use crate::frames::Made;
use crate::process::PATIENCE;
use crate::programs::udp_at;
use crate::support::{config, connections};
use crate::vectors::{file, sockets};
use crate::veth::{Ended, Host};

/// Names the kind of the ports.
const ACCESS: &str = "LUMINA_ACCESS";

#[test]
fn a_switch_between_interfaces_holds_to_the_vectors_and_tells_of_what_the_system_dropped() {
    in_namespace_of(Root::OfUser, 2, "interfaces::in_a_namespace", &[(ACCESS, "packet")]);
}

/// In a user namespace, which the kernel does not let have AF_XDP, the other way in is taken.
#[test]
fn the_best_way_into_an_interface_is_the_one_that_can_be_had() {
    in_namespace_of(Root::OfUser, 2, "interfaces::in_a_namespace", &[(ACCESS, "if")]);
}

#[test]
fn so_does_one_with_af_xdp() {
    assert!(geteuid().is_root(), "AF_XDP takes capabilities of the machine itself: run this test as root");
    in_namespace_of(Root::OfMachine, 2, "interfaces::in_a_namespace", &[(ACCESS, "xdp")]);
}

#[test]
fn dumpers_get_their_shares_of_all_packets() {
    in_namespace_of(Root::OfUser, 4, "interfaces::dumpers_in_a_namespace", &[(ACCESS, "packet")]);
}

#[test]
fn a_pool_of_dumpers_has_every_packet_and_its_exit() {
    in_namespace_of(Root::OfUser, 4, "interfaces::pool_in_a_namespace", &[(ACCESS, "packet")]);
}

/// The switch, at s1 and s2.
struct Rig {
    switch: Ended,
    runtime: Runtime,
    client: SwitchClient,
    hosts: [Host; 2],
}

impl Rig {
    fn start(arguments: &[&str]) -> Self {
        let access = std::env::var(ACCESS).unwrap();
        let [first, second] = ["s1", "s2"].map(|name| format!("{access}:{name}"));
        let mut switch = Ended(
            Command::new(env!("CARGO_BIN_EXE_lumina-switch"))
                .args(["--port", &first, "--port", &second, "--listen", "127.0.0.1:0", "--die-with-parent"])
                .args(arguments)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut address = String::new();
        BufReader::new(switch.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(SwitchClient::connect(&address.trim().parse().unwrap())).unwrap();
        Self { switch, runtime, client, hosts: [Host::at("h1"), Host::at("h2")] }
    }

    fn begin(&mut self, tables: &Tables) {
        self.runtime.block_on(self.client.program(tables)).unwrap();
    }
}

fn of(psn: u32, payload: u16) -> Vec<u8> {
    Made { psn, payload, ..Made::default() }.frame()
}

#[test]
#[ignore = "changes the network: the tests above run it in a namespace"]
fn in_a_namespace() {
    let mut rig = Rig::start(&[]);
    let receive = |host: usize| rig.hosts[host].receive();
    sockets::check_all(&rig.runtime, &mut rig.client, |host, frame| rig.hosts[host].send(frame), receive);

    rig.begin(&Tables::default());
    let long = (0..100).map(|psn| of(psn, if psn % 2 == 0 { 1024 } else { 9000 }));
    let tagged = Made { vlan: Some(0x6007), ..Made::default() }.frame();
    let frames: Vec<_> = long.chain([tagged]).collect();
    for frame in &frames {
        rig.hosts[0].send(frame);
        assert!(rig.hosts[1].receive() == *frame, "{} bytes", frame.len());
    }
    let captured = rig.runtime.block_on(rig.client.collect()).unwrap();
    assert_eq!((captured.trace.records().len(), captured.losses), (frames.len(), vec![]));

    rig.begin(&Tables::default());
    // A switch that stands still for longer than the system has room.
    let process = Pid::from_raw(rig.switch.0.id().cast_signed());
    kill(process, Signal::SIGSTOP).unwrap();
    waitpid(process, Some(WaitPidFlag::WUNTRACED)).unwrap();
    const SENT: u64 = 30_000;
    let frame = of(7, 9000);
    for _ in 0..SENT {
        rig.hosts[0].send(&frame);
    }
    kill(process, Signal::SIGCONT).unwrap();
    // The system tells of what it dropped with a later frame. The host's own socket drops as well while it is full.
    let (mut more, last, started) = (0, of(8, 64), Instant::now());
    loop {
        assert!(started.elapsed() < PATIENCE, "nothing comes any more");
        rig.hosts[0].send(&last);
        more += 1;
        if std::iter::from_fn(|| rig.hosts[1].receive_within(Duration::from_millis(50)))
            .any(|one| one == last)
        {
            break;
        }
    }
    let captured = rig.runtime.block_on(rig.client.collect()).unwrap();
    assert_eq!(captured.losses.len(), 1, "{:?}", captured.losses);
    let losses = captured.losses[0];
    assert_eq!((losses.port, losses.overflow, losses.absent, losses.refused), (1, 0, 0, 0));
    assert!(losses.missed > 0);
    assert_eq!(captured.trace.records().len() as u64 + losses.missed, SENT + more);
}

#[test]
#[ignore = "changes the network: the test above runs it in a namespace"]
fn dumpers_in_a_namespace() {
    for one_port in [false, true] {
        let mut arguments = vec!["--dumper", "packet:s3*3", "--dumper", "packet:s4"];
        arguments.extend(one_port.then_some("--one-mirror-port"));
        let mut rig = Rig::start(&arguments);
        let dumpers = [Host::at("h3"), Host::at("h4")];
        let mut ports = Vec::new();
        for vector in file::all() {
            rig.begin(&vector.tables());
            for (sequence, packet) in (1..).zip(&vector.packets) {
                rig.hosts[packet.from as usize].send(&packet.frame);
                let at = usize::from(sequence % 4 == 3);
                let mut mirrored = dumpers[at].receive();
                let mut expected = packet.frame.clone();
                p4::rewrite::mirror(
                    &mut expected,
                    MirrorMeta { sequence, time: Nanos(0), event: packet.mirror },
                );
                expected.truncate(MIRRORED_BYTES);
                // The switch's own time, and the destination port.
                mirrored[..6].fill(0);
                let port = udp_at(&packet.frame) + 2..udp_at(&packet.frame) + 4;
                ports.push(mirrored[port.clone()].to_vec());
                if !one_port {
                    mirrored[port.clone()].copy_from_slice(&expected[port]);
                }
                assert!(mirrored == expected, "{}: packet {sequence}", vector.name);
            }
            for host in Role::ALL {
                let left: Vec<_> =
                    vector.leave_to(host).iter().map(|_| rig.hosts[host as usize].receive()).collect();
                vector.assert_left(host, &left);
            }
        }
        ports.sort();
        ports.dedup();
        assert!(if one_port { ports.len() == 1 } else { ports.len() > 10 }, "{} ports", ports.len());
    }
}

#[test]
#[ignore = "changes the network: the test above runs it in a namespace"]
fn pool_in_a_namespace() {
    const PACKETS: u32 = 3_000;
    /// A host has room for these.
    const PER_TURN: usize = 300;
    let mut rig = Rig::start(&["--dumper", "packet:s3*3", "--dumper", "packet:s4"]);
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let addresses: Vec<_> = ["h3", "h4"].map(|name| Address::Unix(folder.path().join(name))).into();
    for (name, address) in ["h3", "h4"].into_iter().zip(&addresses) {
        let options = Options { interfaces: vec![name.to_owned()], threads: 2, packets: PACKETS };
        let routes = routes(Arc::new(Dumper::start(options).unwrap()));
        let bound = runtime.block_on(Bound::listen(address)).unwrap();
        runtime.spawn(async move {
            // All of it: its path is there as long as it is.
            let bound = bound;
            serve::serve("test", bound.listener, routes, serve::Limits::default()).await
        });
    }
    let mut pool = runtime.block_on(Pool::connect(&addresses)).unwrap();
    let config = config(&format!(
        r#"traffic = {{ num-msgs-per-qp = {PACKETS}, message-size = 1024 }}
        event = [
            {{ qpn = 1, psn = 2, every = 3, type = "drop" }},
            {{ qpn = 1, psn = 3, every = 3, type = "delay", delay-us = 50 }},
        ]"#
    ));
    let tables = translate(&config, &connections(1, Psn::new(1))).unwrap();
    // What one test left is not in the next.
    for _ in 0..2 {
        rig.runtime.block_on(rig.client.program(&tables)).unwrap();
        runtime.block_on(pool.begin()).unwrap();
        for first in (1..=PACKETS).step_by(PER_TURN) {
            (first..first + PER_TURN as u32).for_each(|psn| rig.hosts[0].send(&of(psn, 1024)));
            (0..PER_TURN - PER_TURN / 3).for_each(|_| drop(rig.hosts[1].receive()));
        }
        let exits = rig.runtime.block_on(rig.client.collect()).unwrap();
        assert_eq!(exits.losses, []);
        let counters = exits.counters.clone();
        let of_dumpers = [3, 4].map(|port| counters.egress[&port]);
        assert_eq!(of_dumpers, [u64::from(PACKETS) * 3 / 4, u64::from(PACKETS) / 4]);
        let exit = |sequence| {
            let record = exits.trace.records().iter().find(|record| record.sequence == sequence)?;
            exits.trace.extra(record)?.exit
        };
        let Collected { traced, losses } =
            runtime.block_on(pool.collect(counters.mirrored(), 1, exit)).unwrap();
        assert!(losses.iter().all(|(_, losses)| *losses == Losses::default()), "{losses:?}");
        let integrity = integrity::check(&traced.trace, Some(&counters));
        let verdicts = integrity.conditions.iter().map(|condition| condition.verdict);
        assert!(verdicts.eq([Verdict::Pass; 4]), "{integrity:?}");
        for (psn, record) in (1..).zip(traced.trace.records()) {
            let event = [ActionKind::Delay, ActionKind::Delay, ActionKind::Drop][(psn % 3) as usize];
            let event = if psn % 3 == 1 { Event::None } else { Event::Action(event) };
            assert_eq!((record.psn.value(), record.event()), (psn, event));
            let later =
                traced.trace.extra(record).and_then(|extra| extra.exit).map(|exit| exit.time - record.time);
            assert_eq!(later.is_some_and(|later| later >= Nanos(50_000)), psn % 3 == 0, "{psn}");
        }
    }
}
