//! The built switch between network interfaces: two pairs of veth in a namespace that the test makes.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use p4::Tables;
use p4::client::SwitchClient;

use crate::frames::Made;
use crate::process::PATIENCE;
use crate::vectors::sockets;
use crate::veth::{Ended, Host, in_namespace};

#[test]
fn a_switch_between_interfaces_holds_to_the_vectors_and_tells_of_what_the_system_dropped() {
    in_namespace(2, "interfaces::in_a_namespace");
}

#[test]
#[ignore = "changes the network: the test above runs it in a namespace"]
fn in_a_namespace() {
    let mut switch = Ended(
        Command::new(env!("CARGO_BIN_EXE_lumina-switch"))
            .args(["--port", "if:s1", "--port", "if:s2", "--listen", "127.0.0.1:0", "--die-with-parent"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut address = String::new();
    BufReader::new(switch.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut client = runtime.block_on(SwitchClient::connect(&address.trim().parse().unwrap())).unwrap();
    let hosts = [Host::at("h1"), Host::at("h2")];
    let of = |psn, payload| Made { psn, payload, ..Made::default() }.frame();

    let receive = |host: usize| hosts[host].receive();
    sockets::check_all(&runtime, &mut client, |host, frame| hosts[host].send(frame), receive);

    runtime.block_on(client.program(&Tables::default())).unwrap();
    for psn in 0..100 {
        hosts[0].send(&of(psn, 1024));
        assert_eq!(hosts[1].receive(), of(psn, 1024));
    }
    let captured = runtime.block_on(client.collect()).unwrap();
    assert_eq!((captured.trace.records().len(), captured.losses), (100, vec![]));

    runtime.block_on(client.program(&Tables::default())).unwrap();
    // A switch that stands still for longer than the system has room.
    let process = Pid::from_raw(switch.0.id().cast_signed());
    kill(process, Signal::SIGSTOP).unwrap();
    waitpid(process, Some(WaitPidFlag::WUNTRACED)).unwrap();
    const SENT: u64 = 30_000;
    let frame = of(7, 9000);
    for _ in 0..SENT {
        hosts[0].send(&frame);
    }
    kill(process, Signal::SIGCONT).unwrap();
    // The system tells of what it dropped with a later frame. The host's own socket drops as well while it is full.
    let (mut more, last, started) = (0, of(8, 64), Instant::now());
    loop {
        assert!(started.elapsed() < PATIENCE, "nothing comes any more");
        hosts[0].send(&last);
        more += 1;
        if std::iter::from_fn(|| hosts[1].receive_within(Duration::from_millis(50))).any(|one| one == last) {
            break;
        }
    }
    let captured = runtime.block_on(client.collect()).unwrap();
    assert_eq!(captured.losses.len(), 1, "{:?}", captured.losses);
    let losses = captured.losses[0];
    assert_eq!((losses.port, losses.overflow, losses.absent, losses.refused), (1, 0, 0, 0));
    assert!(losses.missed > 0);
    assert_eq!(captured.trace.records().len() as u64 + losses.missed, SENT + more);
}
