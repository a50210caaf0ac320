//! `lumina-switch` as a program: its arguments, what it prints, how it ends.

use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::frames::Made;
use crate::process::{Rig, assert_gone, command, sockets};

/// Exit code and stderr.
fn ends(command: &mut Command) -> (Option<i32>, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn it_ends_on_a_signal_with_its_counts_and_leaves_no_sockets() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let rig = Rig::start();
        let frame = Made::default().frame();
        rig.send(0, &frame);
        rig.receive(1);
        assert_eq!(sockets(rig.path()).len(), 3);
        let (code, said, left) = rig.terminate(signal);
        assert_eq!(left, [] as [&std::path::Path; 0]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("requester's port: 1 frames received, 0 sent, 0 lost"), "{said}");
        assert!(said.contains("responder's port: 0 frames received, 1 sent, 0 lost"), "{said}");
    }
}

#[test]
fn what_a_killed_switch_left_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let control = format!("unix:{}", folder.path().join("control").display());
        let mut switch = command(folder.path())
            .args(["--listen", &control, "--die-with-parent"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(switch.stdout.take().unwrap()), &mut line)
            .unwrap();
        assert_eq!(line.trim_end(), control);
        // A second one reports that the sockets are taken.
        let (code, said) = ends(command(folder.path()).args(["--listen", "127.0.0.1:0"]));
        assert_eq!(code, Some(1));
        assert!(said.contains("another process receives from this socket"), "{said}");
        switch.kill().unwrap();
        switch.wait().unwrap();
        assert_eq!(sockets(folder.path()).len(), 3, "it could not remove them");
    }
}

/// Its parent is killed by SIGKILL, which cannot be caught.
#[test]
fn it_does_not_outlive_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let switch = command(folder.path());
    let mut words = vec![switch.get_program().to_owned()];
    words.extend(switch.get_args().map(ToOwned::to_owned));
    let mut parent = Command::new("sh")
        .args(["-c", r#""$@" --listen 127.0.0.1:0 --die-with-parent & echo $!; wait"#, "sh"])
        .args(words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(parent.stdout.take().unwrap()));
    let mut line = || lines.next().unwrap().unwrap();
    let (first, second) = (line(), line());
    // The shell and the switch may print in either order.
    let pid = first.parse::<i32>().or(second.parse::<i32>()).unwrap();
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_gone(pid);
}

#[test]
fn bad_arguments_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "text").unwrap();
    let long = "x".repeat(200);
    let program = || Command::new(env!("CARGO_BIN_EXE_lumina-switch"));
    let path = |name: &str| format!("unix:{0}/{name}:{0}/guest", folder.path().display());
    let listening_at = |address: &str| -> Vec<String> {
        vec!["--port".into(), path("a"), "--port".into(), path("b"), "--listen".into(), address.into()]
    };
    let cases: Vec<(Vec<String>, i32, &str)> = vec![
        (vec![], 2, "--port <PORT>"),
        (vec!["--port".into(), path("a")], 2, "1 ports are given, and the switch has two"),
        (vec!["--port".into(), "eth1".into()], 2, "write unix:LOCAL:REMOTE"),
        (listening_at("here"), 2, "write IP:PORT"),
        (
            vec!["--port".into(), path("file"), "--port".into(), path("b")],
            1,
            "a file at this path that is no socket",
        ),
        (
            vec!["--port".into(), path("a"), "--port".into(), "if:nowhere0".into()],
            1,
            "there is no such interface",
        ),
        (vec!["--port".into(), path(&long), "--port".into(), path("b")], 1, "the socket cannot be bound"),
        (vec!["--port".into(), path("none/a"), "--port".into(), path("b")], 1, "the socket cannot be bound"),
        (vec!["--port".into(), path("a"), "--port".into(), path("a")], 1, "another process receives"),
        (listening_at(&format!("unix:{}", file.display())), 1, "a file at this path that is no socket"),
        (listening_at("192.0.2.1:1"), 1, "192.0.2.1:1 can be reached from other machines"),
        (
            [listening_at("192.0.2.1:1"), vec!["--insecure".into()]].concat(),
            1,
            "cannot listen at 192.0.2.1:1",
        ),
    ];
    for (arguments, code, words) in cases {
        let (ended, said) = ends(program().args(&arguments));
        assert_eq!(ended, Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert_eq!(sockets(folder.path()), [] as [&std::path::Path; 0]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "whatever was bound is gone again");
}
