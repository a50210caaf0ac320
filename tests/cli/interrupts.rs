//! Ctrl-C while a campaign runs.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::run::{Ran, command, folder};

/// A campaign without end that has found something.
fn campaign(root: &Path, format: &str) -> Child {
    let args = ["campaign", "noisy-neighbor", "--nic", "cx4-lx", "--strategy", "genetic", "--seed", "1"];
    let child = command()
        .current_dir(root)
        .args(args)
        .args(["--out", "c", "--format", format])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_written = |finding: fs::DirEntry| finding.path().join("finding.json").exists();
    // However long it takes: what follows does not depend on it.
    while !fs::read_dir(root.join("c/findings"))
        .is_ok_and(|mut findings| findings.any(|finding| finding.is_ok_and(is_written)))
    {
        thread::sleep(Duration::from_millis(10));
    }
    child
}

fn send(child: &Child, signals: &[Signal]) {
    let process = Pid::from_raw(child.id().try_into().unwrap());
    for signal in signals {
        kill(process, *signal).unwrap();
    }
}

fn end(mut child: Child) -> Ran {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    // Little is written to stderr: it does not fill the pipe.
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Ran { code: child.wait().unwrap().code().unwrap(), stdout, stderr }
}

const STOPPING: &str =
    "stopping: running tests end and are saved; Ctrl-C again ends at once, with what is saved\n";

#[test]
fn the_first_ctrl_c_is_answered_and_saves() {
    let root = folder(&[]);
    let child = campaign(root.path(), "text");
    send(&child, &[Signal::SIGINT]);
    let ran = end(child);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    let (_, after) = ran.stderr.split_once(STOPPING).unwrap_or_else(|| panic!("{}", ran.stderr));
    assert!(after.ends_with("interrupted and saved; --resume goes on\n"), "{after}");
    assert!(ran.stdout.contains("Findings: "), "{}", ran.stdout);
}

/// Both signals wait while the process is stopped, so that the second one comes before the running tests end.
#[test]
fn the_second_ctrl_c_prints_what_is_there() {
    for format in ["text", "json"] {
        let root = folder(&[]);
        let child = campaign(root.path(), format);
        send(&child, &[Signal::SIGSTOP, Signal::SIGINT, Signal::SIGTERM, Signal::SIGCONT]);
        let ran = end(child);
        assert_eq!(ran.code, 130, "{}", ran.stderr);
        assert!(ran.stderr.contains(STOPPING), "{}", ran.stderr);
        if format == "json" {
            let document = ran.json();
            assert_eq!(document["findings"][0]["kind"], "noisy-neighbor");
            assert!(document["executions"].as_u64().unwrap() >= 16, "{document}");
        } else {
            assert!(ran.stdout.contains("interrupted and saved; --resume goes on\n"), "{}", ran.stdout);
            assert!(ran.stdout.contains("Findings: 1\n"), "{}", ran.stdout);
        }
    }
}
