//! The built `lumina-dumper` at a cable, in a namespace that the test makes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dumper::mirror::MirrorMeta;
use dumper::pool::{Collected, Losses, Pool};
use dumper::ring::{Interface, sender};
use dumper::serve::Address;
use dumper::testing::in_namespace;
use dumper::wire::frame::{ExtensionReprs, IpRepr};
use dumper::wire::{BthRepr, FrameRepr, Ipv4Repr, Mac, Opcode};
use dumper::{Event, Nanos, Psn, capture, integrity};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{MsgFlags, send};
use nix::unistd::Pid;
use tokio::runtime::{Builder, Runtime};

/// Longer than anything takes here, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn packets_of_several_dumpers_are_one_trace() {
    in_namespace(2, "several_dumpers");
}

#[test]
fn what_is_not_kept_is_told() {
    in_namespace(1, "losses");
}

#[test]
fn one_dump_is_a_file() {
    in_namespace(1, "a_file");
}

/// A mirrored packet, with another destination port for each.
fn mirrored(sequence: u32, payload: u16) -> Vec<u8> {
    let address = |host| Ipv4Addr::new(10, 0, 0, host);
    let mut repr = FrameRepr {
        destination: Mac(0),
        source: Mac(0),
        vlan: sequence.is_multiple_of(7).then_some(5),
        ip: IpRepr::V4(Ipv4Repr {
            traffic_class: 2,
            total_length: 0,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            protocol: 0,
            source: address(1),
            destination: address(2),
        }),
        src_port: 49_152,
        bth: BthRepr::new(Opcode::WriteMiddle, 0x11, Psn::new(sequence)),
        extensions: ExtensionReprs::default(),
        payload_len: payload,
    };
    MirrorMeta { sequence, time: Nanos(u64::from(sequence) * 10), event: Event::None }.write(&mut repr);
    let mut frame = Vec::new();
    repr.emit(&mut frame).unwrap();
    let port_at = if repr.vlan.is_some() { 40 } else { 36 };
    frame[port_at..port_at + 2].copy_from_slice(&(sequence.wrapping_mul(40_503) as u16).to_be_bytes());
    frame
}

struct Dumper {
    process: Child,
    address: Address,
}

impl Dumper {
    fn start(folder: &Path, interface: &str, arguments: &[&str]) -> Self {
        let address = Address::Unix(folder.join(interface));
        let mut process =
            command(interface).args(["--listen", &address.to_string()]).args(arguments).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said.trim(), address.to_string());
        Self { process, address }
    }
}

impl Drop for Dumper {
    fn drop(&mut self) {
        // Either fails where it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(interface: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lumina-dumper"));
    command
        .args(["--interface", interface, "--die-with-parent"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Sends frames to the dumper at the other end of a cable.
fn send_all(interface: &str, frames: impl IntoIterator<Item = Vec<u8>>) {
    let socket = sender(Interface::named(interface).unwrap()).unwrap();
    for frame in frames {
        let begun = Instant::now();
        while send(socket.as_raw_fd(), &frame, MsgFlags::empty()) != Ok(frame.len()) {
            assert!(begun.elapsed() < PATIENCE);
        }
    }
}

#[test]
#[ignore = "changes the network: a test above runs it in a namespace"]
fn several_dumpers() {
    const PACKETS: u32 = 20_000;
    let (folder, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let dumpers = [
        Dumper::start(folder.path(), "h1", &["--threads", "2"]),
        Dumper::start(folder.path(), "h2", &["--threads", "3"]),
    ];
    let addresses: Vec<_> = dumpers.iter().map(|dumper| dumper.address.clone()).collect();
    let mut pool = runtime.block_on(Pool::connect(&addresses, None)).unwrap();
    // Each dump has its own packets.
    for payload in [0, 1_024] {
        runtime.block_on(pool.begin()).unwrap();
        // The second sends first, and neither sends in order.
        let of = |rest: u32| (1..=PACKETS).rev().filter(move |number| number % 3 % 2 == rest);
        send_all("s2", of(1).map(|number| mirrored(number, payload)));
        send_all("s1", of(0).map(|number| mirrored(number, payload)));
        let Collected { traced, losses } =
            runtime.block_on(pool.collect(PACKETS.into(), 1, |_| None)).unwrap();
        assert!(losses.iter().map(|(address, _)| address).eq(&addresses));
        assert!(losses.iter().all(|(_, losses)| *losses == Losses::default()), "{losses:?}");
        let records = traced.trace.records();
        assert_eq!(records.len() as u32, PACKETS);
        for (number, record) in (1..).zip(records) {
            assert_eq!(
                (record.sequence, record.psn.value(), record.time.0),
                (number, number, u64::from(number) * 10)
            );
        }
        let integrity = integrity::check(&traced.trace, None);
        assert!(!integrity.is_invalid(), "{integrity:?}");
        assert!(traced.skipped.errors.is_empty() && traced.skipped.other.is_empty());
    }
    // Another orchestrator has begun a dump at one of them.
    let mut other = runtime.block_on(Pool::connect(&addresses[1..], None)).unwrap();
    runtime.block_on(other.begin()).unwrap();
    let error = runtime.block_on(pool.collect(0, 1, |_| None)).unwrap_err();
    assert_eq!(error.address, addresses[1]);
    assert!(error.to_string().contains("another orchestrator"), "{error}");
    // One that has gone is named.
    drop(dumpers);
    let error = runtime.block_on(other.begin()).unwrap_err();
    assert!(
        error.to_string().starts_with(&format!("the dumper at {}: it cannot be reached", addresses[1])),
        "{error}"
    );
}

#[test]
#[ignore = "changes the network: a test above runs it in a namespace"]
fn losses() {
    const ROOM: u32 = 100;
    let (folder, runtime) = (tempfile::tempdir().unwrap(), runtime());
    let dumper = Dumper::start(folder.path(), "h1", &["--packets", &ROOM.to_string()]);
    let addresses = [dumper.address.clone()];
    let mut pool = runtime.block_on(Pool::connect(&addresses, None)).unwrap();
    runtime.block_on(pool.begin()).unwrap();
    let foreign = vec![0xff; 60];
    send_all("s1", (1..=ROOM + 5).map(|number| mirrored(number, 8)).chain([foreign.clone(), foreign]));
    let begun = Instant::now();
    while runtime.block_on(pool.counted()).unwrap().1[0].1.foreign < 2 {
        assert!(begun.elapsed() < PATIENCE);
    }
    let (kept, losses) = runtime.block_on(pool.counted()).unwrap();
    assert_eq!((kept, losses[0].1), (ROOM.into(), Losses { no_room: 5, foreign: 2, ..Losses::default() }));

    // A dumper that stands still for longer than the system has room.
    runtime.block_on(pool.begin()).unwrap();
    let process = Pid::from_raw(dumper.process.id().cast_signed());
    kill(process, Signal::SIGSTOP).unwrap();
    const SENT: u32 = 300_000;
    send_all("s1", (1..=SENT).map(|number| mirrored(number, 0)));
    kill(process, Signal::SIGCONT).unwrap();
    let begun = Instant::now();
    loop {
        let (kept, losses) = runtime.block_on(pool.counted()).unwrap();
        let Losses { no_room, ring, .. } = losses[0].1;
        if kept + no_room + ring == u64::from(SENT) {
            assert!(ring > 0);
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{kept} {losses:?}");
    }
}

#[test]
#[ignore = "changes the network: a test above runs it in a namespace"]
fn a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.pcapng");
    let mut process = command("h1").arg("--out").arg(&path).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("keeps packets"), "{said}");
    send_all("s1", (1..=1_000).rev().map(|number| mirrored(number, 1_024)));
    // They are on their way for some milliseconds.
    std::thread::sleep(Duration::from_millis(200));
    kill(Pid::from_raw(process.id().cast_signed()), Signal::SIGTERM).unwrap();
    let mut told = String::new();
    process.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(process.wait().unwrap().success(), "{told}");
    assert!(told.contains(&format!("1000 packets in {}; not kept: 0 for want", path.display())), "{told}");
    let traced = capture::read(&[path], capture::ReadOptions::default(), &mut |_| {}).unwrap().traced;
    assert_eq!(traced.trace.records().len(), 1_000);
    assert!(!integrity::check(&traced.trace, None).is_invalid());
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let output = command("no-such-0").args(["--listen", "127.0.0.1:0"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        told,
        "lumina-dumper: interface no-such-0: there is no such interface; `ip link` lists them\n"
    );
    assert_eq!(output.status.code(), Some(1));
}
