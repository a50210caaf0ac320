//! The built switch between network interfaces: pairs of veth in a namespace that the test makes.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corpus::Role;
use dumper::Nanos;
use dumper::mirror::MirrorMeta;
use dumper::testing::{Root, in_namespace_of};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, geteuid};
use p4::Tables;
use p4::client::SwitchClient;
use p4::switch::MIRRORED_BYTES;
use tokio::runtime::Runtime;

use crate::frames::Made;
use crate::process::PATIENCE;
use crate::programs::udp_at;
use crate::vectors::{file, sockets};
use crate::veth::{Ended, Host};

/// Names the kind of the ports.
pub(crate) const ACCESS: &str = "LUMINA_ACCESS";

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

/// The switch, at s1 and s2.
pub(crate) struct Rig {
    switch: Ended,
    pub(crate) runtime: Runtime,
    pub(crate) client: SwitchClient,
    pub(crate) hosts: [Host; 2],
}

impl Rig {
    pub(crate) fn start(arguments: &[&str]) -> Self {
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
        let client = runtime.block_on(SwitchClient::connect(&address.trim().parse().unwrap(), None)).unwrap();
        Self { switch, runtime, client, hosts: [Host::at("h1"), Host::at("h2")] }
    }

    pub(crate) fn begin(&mut self, tables: &Tables) {
        self.runtime.block_on(self.client.program(tables)).unwrap();
    }
}

impl Rig {
    /// Processor time of the switch.
    fn used(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.switch.0.id())).unwrap();
        // Fields 14 and 15 of proc(5), in hundredths of a second, behind the name in parentheses.
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(11).take(2);
        Duration::from_millis(fields.map(|ticks| 10 * ticks.parse::<u64>().unwrap()).sum())
    }
}

pub(crate) fn of(psn: u32, payload: u16) -> Vec<u8> {
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

    // An interface that went down and came up again is as before, and the switch does not spin meanwhile.
    let set = |state: &str| Command::new("ip").args(["link", "set", "s1", state]).status().unwrap().success();
    assert!(set("down"));
    let before = rig.used();
    std::thread::sleep(Duration::from_secs(1));
    assert!(rig.used() - before < Duration::from_millis(500));
    assert!(set("up"));
    rig.hosts[0].send(&frames[0]);
    assert!(rig.hosts[1].receive() == frames[0]);

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
