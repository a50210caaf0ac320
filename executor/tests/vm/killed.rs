//! A process that a test needs is killed in its middle: the test is run again, and nothing is left.

use std::fs;
use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::pair::run;

/// Some seconds of traffic.
pub(crate) const LONG: &str =
    "rdma-verb = \"write\"\nnum-msgs-per-qp = 300\nmessage-size = 65536\ntx-depth = 4";

/// Processor time of the switch since a test began, in ticks of 10 ms, by which its packets pass: what else is asked of it
/// takes less, and the 19,200 packets take much more.
const TRAFFIC: u64 = 5;

/// Waits until the packets of the long test pass, however busy the machine is.
fn wait_traffic() {
    let switch = children("lumina-switch")[0];
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{switch}/stat")).unwrap();
        let (_, after) = stat.rsplit_once(") ").unwrap();
        after.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum::<u64>()
    };
    let (before, started) = (ticks(), Instant::now());
    while ticks() < before + TRAFFIC {
        assert!(started.elapsed() < Duration::from_secs(60), "no packet passes the switch");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Processes that this one started, whose program has a name.
fn children(program: &str) -> Vec<Pid> {
    let ours = std::process::id();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let Some((before, after)) = stat.rsplit_once(") ") else { return false };
        let parent: Option<u32> = after.split(' ').nth(1).and_then(|parent| parent.parse().ok());
        // The kernel cuts names at fifteen bytes.
        before.ends_with(&program[..program.len().min(15)]) && parent == Some(ours)
    };
    pids.filter(is_it).map(Pid::from_raw).collect()
}

/// Does something to the first such process while a long test runs, which comes to its end all the same; the
/// processes of the testbed are others then, and as many.
fn survives(program: &'static str, blow: fn(Pid)) {
    // Started by the first test of the suite.
    run("num-msgs-per-qp = 1", "").whole().completes();
    let killer = thread::spawn(move || {
        wait_traffic();
        let victims = children(program);
        blow(victims[0]);
        victims[0]
    });
    run(LONG, "").whole().completes();
    let victim = killer.join().unwrap();
    assert!(!children(program).contains(&victim));
    assert_eq!(children("qemu-system-x86_64").len(), 2, "one pair runs");
    assert_eq!(children("lumina-switch").len(), 1, "one switch runs");
}

fn kill_it(pid: Pid) {
    kill(pid, Signal::SIGKILL).unwrap();
}

/// Says a word on the console of a guest, which is QEMU's stdin.
fn say(qemu: Pid, word: &str) {
    let mut console = fs::OpenOptions::new().write(true).open(format!("/proc/{qemu}/fd/0")).unwrap();
    console.write_all(format!("{word}\n").as_bytes()).unwrap();
}

fn kill_agent(qemu: Pid) {
    say(qemu, "kill-agent");
}

#[test]
fn a_guest_that_is_killed_is_replaced() {
    survives("qemu-system-x86_64", kill_it);
}

#[test]
fn a_switch_that_is_killed_is_replaced() {
    survives("lumina-switch", kill_it);
}

#[test]
fn an_agent_that_is_killed_is_replaced() {
    survives("qemu-system-x86_64", kill_agent);
}

#[test]
fn an_agent_that_is_killed_between_two_tests_is_nothing_of_the_next_one() {
    run("num-msgs-per-qp = 1", "").whole();
    kill_agent(children("qemu-system-x86_64")[0]);
    // It is started again long before that.
    thread::sleep(Duration::from_secs(2));
    run("num-msgs-per-qp = 1", "").whole().completes().conforms();
}

#[test]
fn a_kernel_that_crashes_is_what_was_observed_with_its_call_trace_and_the_guest_is_replaced() {
    run("num-msgs-per-qp = 1", "").whole().completes();
    let killer = thread::spawn(|| {
        wait_traffic();
        say(children("qemu-system-x86_64")[0], "crash");
    });
    let crashed = run(LONG, "");
    killer.join().unwrap();
    let analysis = crashed.analysis();
    let signatures: Vec<_> = analysis.anomalies.kept().iter().map(scoring::Anomaly::signature).collect();
    assert_eq!(signatures.len(), 1, "{signatures:?}");
    assert!(signatures[0].contains("/kernel-crashes/sysrq_handle_crash"), "{signatures:?}");
    assert!(!crashed.observation.trace.records().is_empty(), "what the switch had by then");
    run("num-msgs-per-qp = 1", "").whole().completes();
}
