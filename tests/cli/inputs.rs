//! Inputs that are not what they seem: pipes and devices, files with misleading names, lines without end, negative numbers.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command};

use nix::sys::stat::Mode;

use crate::run::{DROP, command, data, folder, in_folder, ran};

/// A named pipe, with a writer that ends the pipe for whoever opens it: a program that reads it gets an empty text, and does
/// not wait.
struct Pipe(Child);

impl Pipe {
    fn new(path: &Path) -> Self {
        nix::unistd::mkfifo(path, Mode::from_bits_truncate(0o600)).unwrap();
        Self(Command::new("sh").args(["-c", ": >\"$0\""]).arg(path).spawn().unwrap())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn pipes_sockets_and_devices_are_refused() {
    let root = folder(&[("test.toml", DROP)]);
    let root = root.path();
    let pipes = ["pipe.toml", "pipe.yml", "pipe.rds", "pipe.pcap"].map(|name| Pipe::new(&root.join(name)));
    let _socket = UnixListener::bind(root.join("socket.toml")).unwrap();
    let capture = data().join("rxe_write_mid.pcap");
    let capture = capture.to_str().unwrap();
    let out = root.join("kept").display().to_string();
    assert_eq!(in_folder(root, &["run", "test.toml", "--out", &out]).code, 0);
    fs::remove_file(root.join("kept/verdicts.json")).unwrap();
    let verdicts = Pipe::new(&root.join("kept/verdicts.json"));
    for (args, name) in [
        (&["run", "pipe.toml"][..], "pipe.toml"),
        (&["run", "socket.toml"], "socket.toml"),
        (&["run", "/dev/zero"], "/dev/zero"),
        (&["run", "pipe.yml"], "pipe.yml"),
        (&["run", "pipe.rds"], "pipe.rds"),
        (&["run", "test.toml", "--nic", "./pipe.toml"], "pipe.toml"),
        (&["replay", "pipe.toml"], "pipe.toml"),
        (&["replay", "kept"], "verdicts.json"),
        (&["replay", "test.toml", "--nic", "./pipe.toml"], "pipe.toml"),
        (&["export", "pipe.toml", "--format", "toml"], "pipe.toml"),
        (&["export", "test.toml", "--format", "lumina", "--lab", "pipe.yml"], "pipe.yml"),
        (&["analyze", "pipe.pcap"], "pipe.pcap"),
        (&["analyze", "/dev/null"], "/dev/null"),
        (&["analyze", capture, "--config", "pipe.toml"], "pipe.toml"),
        (&["nics", "check", "./pipe.toml"], "pipe.toml"),
        (&["targets", "check", "./pipe.toml"], "pipe.toml"),
        (&["campaign", "./pipe.toml", "--out", "c"], "pipe.toml"),
        (&["campaign", "general", "--nic", "./pipe.toml", "--out", "c"], "pipe.toml"),
    ] {
        let ran = in_folder(root, args);
        assert_eq!(ran.code, 2, "{args:?}: {} {}", ran.stdout, ran.stderr);
        let said = ran.stderr.contains("not a regular file") && ran.stderr.contains(name);
        assert!(said, "{args:?}: {}", ran.stderr);
    }
    drop((pipes, verdicts));
}

/// Files of a finding are read as others are.
#[test]
fn pipes_in_a_finding_are_refused() {
    let root = folder(&[]);
    let root = root.path();
    let campaign = "campaign noisy-neighbor --nic cx4-lx --strategy genetic --seed 1 --executions 16 --out c";
    assert_eq!(in_folder(root, &campaign.split(' ').collect::<Vec<_>>()).code, 0);
    let finding = fs::read_dir(root.join("c/findings")).unwrap().next().unwrap().unwrap().path();
    let path = finding.to_str().unwrap();
    for (name, command) in [
        ("finding.json", "replay"),
        ("reproducer.toml", "replay"),
        ("nic-requester.toml", "replay"),
        ("trace.pcapng", "analyze"),
    ] {
        let file = finding.join(name);
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let pipe = Pipe::new(&file);
        let ran = in_folder(root, &[command, path]);
        // A document that is a pipe is none.
        let said = if name == "finding.json" { "holds no finding" } else { "not a regular file" };
        assert!(ran.code == 2 && ran.stderr.contains(said), "{name}: {} {}", ran.code, ran.stderr);
        drop(pipe);
        fs::remove_file(&file).unwrap();
        fs::write(&file, bytes).unwrap();
    }
    assert_eq!(in_folder(root, &["replay", path]).code, 0);
}

#[test]
fn a_file_in_the_other_language_than_its_name_tells_is_called_that() {
    let yaml = "requester:\n  nic:\n    type: CX4\ntraffic:\n  num-qps: 1\n";
    let root = folder(&[("lumina.toml", yaml), ("ours.yml", DROP), ("bad.toml", "[traffic]\nmtu = = 1\n")]);
    for (name, said) in [
        ("lumina.toml", "the text is YAML: a file in Lumina's language ends in .yaml or .yml"),
        ("ours.yml", "the text is TOML: the file's name should end in .toml"),
    ] {
        let ran = in_folder(root.path(), &["run", name]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(said) && ran.stderr.contains(": 1 problem"), "{}", ran.stderr);
    }
    let ran = in_folder(root.path(), &["run", "bad.toml"]);
    assert!(ran.code == 2 && !ran.stderr.contains("the text is"), "{}", ran.stderr);
}

#[test]
fn control_characters_of_names_do_not_reach_the_terminal() {
    let name = "e\u{1b}[2Jv\u{7}i\nl";
    let [test, script, capture, missing] = ["toml", "rds", "pcap", "none"].map(|end| format!("{name}.{end}"));
    let folders = format!("{name}/finding.json");
    let root = folder(&[
        (&*test, "[traffic]\nmtu = \"\u{1b}[31m\"\n"),
        (&*script, "nonsense\n"),
        (&*capture, "no capture"),
        (&*folders, "{}"),
        ("good.toml", DROP),
    ]);
    let tests = format!("./{test}");
    for args in [
        &["run", &test][..],
        &["run", &script],
        &["run", &missing],
        &["run", "good.toml", "--nic", &tests],
        &["run", "good.toml", "--out", name],
        &["run", "good.toml", "--record", &script],
        &["analyze", &capture],
        &["analyze", &missing],
        &["analyze", name],
        &["replay", name],
        &["replay", &missing],
        &["minimize", name],
        &["export", &test, "--format", "toml"],
        &["export", "good.toml", "--format", "toml", "--out", &script],
        &["nics", "check", &tests],
        &["targets", "check", &tests],
        &["campaign", &tests],
        &["corpus", "check", name],
        &["campaign", "general", "--seed", name],
        &[name],
    ] {
        let ran = in_folder(root.path(), args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("v\\u{7}i"), "{args:?} does not name it: {said}");
        let lines = said.replace("i\nl", "LINE BREAK");
        assert!(!lines.contains("LINE BREAK"), "{args:?}: {said}");
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{args:?}: {said:?}");
    }
}

#[test]
fn negative_numbers_are_answered_with_the_least_value() {
    for (args, said) in [
        (&["campaign", "general", "--seed", "-1"][..], "'-1' for '--seed <N>': must be at least 0"),
        (&["campaign", "general", "--executions", "-5"], "'-5' for '--executions <N>': must be at least 1"),
        (&["campaign", "general", "--executions", "0"], "must be at least 1"),
        (
            &["campaign", "general", "--executions", "99999999999999999999"],
            "must be at most 18446744073709551615",
        ),
        (&["campaign", "general", "--executions", "many"], "is neither a number nor `unlimited`"),
        (&["campaign", "general", "--jobs", "-2"], "-2 is not in 1..=1024"),
        (&["campaign", "general", "--duration", "-8h"], "'-8h' for '--duration <TIME>': must be at least 1s"),
        (&["campaign", "general", "--max-disk", "-1G"], "'-1G' for '--max-disk <SIZE>': must be at least 0"),
        (&["run", "t.toml", "--seed", "-1"], "must be at least 0"),
        (&["run", "t.toml", "--context", "-1"], "-1 is not in 0..=50"),
        (&["replay", "c", "--seed", "-1"], "must be at least 0"),
        (&["minimize", "c", "--seed", "-1"], "must be at least 0"),
        (&["compare", "general", "--seeds", "-1"], "must be at least 1"),
        (&["compare", "general", "--first-seed", "-1"], "must be at least 0"),
    ] {
        let ran = ran(command().args(args));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said) && !ran.stderr.contains("-- "), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn lines_without_end_are_cut_in_errors() {
    let long = format!("[traffic]\nmtu = 1024 {}\n", "x".repeat(900_000));
    let comment = format!("# {}\n[traffic]\nmtu = 1000 # {}\n", "y".repeat(400_000), "z".repeat(400_000));
    let yaml = format!("traffic: {{num-qps: 1, {}, mtu: 1000}}\n", " ".repeat(500_000));
    let root = folder(&[("long.toml", &long), ("comment.toml", &comment), ("long.yml", &yaml)]);
    for (name, place) in
        [("long.toml", "long.toml:2:"), ("comment.toml", "comment.toml:3:7]"), ("long.yml", "long.yml:1:")]
    {
        let ran = in_folder(root.path(), &["run", name]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.len() < 5_000, "{name}: {} bytes", ran.stderr.len());
        assert!(ran.stderr.contains(place) && ran.stderr.contains("..."), "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_capture_that_is_given_twice_is_called_that() {
    let root = folder(&[]);
    for name in ["first.pcap", "second.pcap"] {
        fs::copy(data().join("rxe_write_mid.pcap"), root.path().join(name)).unwrap();
    }
    let other = data().join("rxe_write_ecn.pcap");
    for args in [["first.pcap", "second.pcap"], ["first.pcap", "first.pcap"]] {
        let ran = in_folder(root.path(), &["analyze", args[0], other.to_str().unwrap(), args[1]]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        let said = format!("error: {} and {}: are the same capture; name it once\n", args[0], args[1]);
        assert_eq!(ran.stderr, said);
    }
}
