//! A whole testbed "of real NICs" without any: agents in the guests, whose NICs are tap devices, the software switch over
//! P4Runtime, two dumpers with the weights 3 and 1, mutual TLS, in a network namespace of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dumper::testing::in_namespace;
use executor::guests::{Kernel, RunFolder};
use executor::vm::{Cache, Pair, Qemu, Wiring};
use serde_json::Value;
use tempfile::TempDir;

use super::place::{kill_and_wait, wait};
use super::run::{Ran, command, ran};

/// Addresses of the switch and of the dumpers.
const SWITCH: &str = "127.0.0.1:9559";
const DUMPERS: [&str; 2] = ["127.0.0.1:7481", "127.0.0.1:7482"];

/// What is known of rdma_rxe takes no time to be minimised; targets are `general` with tests that end soon.
const TARGET: &str = "base = \"general\"\noracles = [\"crash\", \"stall\", \"data-corruption\"]\n[traffic]\n\
                      num-connections = { min = 1, max = 8 }\nnum-msgs-per-qp = { min = 1, max = 10 }\n\
                      message-size = { min = 0, max = 16_384 }\nmin-retransmit-timeout = [14]\nmax-retransmit-retry = [2]\n";

/// A process that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The testbed, running.
struct Lab {
    switch: Running,
    dumpers: [Running; 2],
    pair: Pair,
    // Last, as the others have files in them.
    _sockets: RunFolder,
    folder: TempDir,
}

fn beside(program: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_lumina-fuzz")).with_file_name(program)
}

/// A program that serves once it has said its address.
fn start(program: &str, arguments: &[&str]) -> Running {
    let mut child = Command::new(beside(program))
        .args(["--die-with-parent"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "{program} does not start");
    Running(child)
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

impl Lab {
    fn start() -> Self {
        for tap in ["tap1", "tap2"] {
            ip(&format!("tuntap add dev {tap} mode tap"));
            ip(&format!("link set {tap} mtu 9200 promisc on up"));
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("short.toml"), TARGET).unwrap();
        write_file(folder.path(), ["127.0.0.1:1", "127.0.0.1:2"].map(|address| address.parse().unwrap()));
        let made = in_lab(folder.path(), &["testbed", "keys", "lab.toml"]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        let sockets = RunFolder::make().unwrap();
        let image = Cache::open(None).unwrap().image(&Kernel::V6_1).unwrap();
        let qemu = Qemu::find(&image).unwrap();
        let wiring = Wiring::Taps(["tap1", "tap2"].map(str::to_owned));
        let mut pair = Pair::start(&qemu, [&image, &image], &sockets, &wiring).unwrap();
        let keys = folder.path().join("keys");
        pair.requester.give_keys(&keys.join("requester")).unwrap();
        pair.responder.give_keys(&keys.join("responder")).unwrap();
        write_file(folder.path(), [pair.requester.agent(), pair.responder.agent()]);
        let switch = start_switch(folder.path());
        let dumpers = [0, 1].map(|at| start_dumper(folder.path(), at));
        Self { switch, dumpers, pair, _sockets: sockets, folder }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        in_lab(self.folder.path(), arguments)
    }

    /// Runs a campaign to its end, which is a good one.
    fn campaign(&self, seed: &str, executions: &str) -> Value {
        let ran = self.run(&campaign(seed, executions));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.json()
    }

    /// Runs a campaign in which something happens after some tests; its summary.
    fn campaign_while(&mut self, seed: &str, happens: impl FnOnce(&mut Self)) -> Value {
        let folder = self.folder.path().to_owned();
        let mut running = command();
        running.current_dir(&folder).args(campaign(seed, "40")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = running.spawn().unwrap();
        let summary = folder.join(seed).join("summary.json");
        let executions = || {
            let text = fs::read_to_string(&summary).unwrap_or_default();
            serde_json::from_str::<Value>(&text).ok()?["executions"].as_u64()
        };
        assert!(wait(Duration::from_secs(120), || executions().unwrap_or(0) > 0));
        happens(self);
        let ended = running.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let summary: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!((&summary["executions"], &summary["invalid"]), (&40.into(), &0.into()), "{summary:#}");
        summary
    }
}

fn in_lab(folder: &Path, arguments: &[&str]) -> Ran {
    ran(command().current_dir(folder).args(arguments))
}

fn campaign<'a>(seed: &'a str, executions: &'a str) -> Vec<&'a str> {
    let what = ["campaign", "./short.toml", "--testbed", "./lab.toml", "--seed", seed, "--out", seed];
    [&what[..], &["--executions", executions, "--format", "json"]].concat()
}

/// The testbed's file.
fn write_file(folder: &Path, agents: [SocketAddr; 2]) {
    let [requester, responder] = agents;
    let [first, second] = DUMPERS;
    let text = format!(
        "keys = \"keys/orchestrator\"\n\
         [requester]\nagent = \"{requester}\"\nnic = \"rxe-a\"\n\
         [responder]\nagent = \"{responder}\"\nnic = \"rxe-b\"\n\
         [switch]\nkind = \"software\"\ncontrol = \"{SWITCH}\"\n\
         [[dumper]]\naddress = \"{first}\"\n[[dumper]]\naddress = \"{second}\"\n\
         [limits]\ntimeouts = [14, 18]\nmax-connections = 64\nmax-mib = 32\nrestart-s = 60\n"
    );
    fs::write(folder.join("lab.toml"), text).unwrap();
}

fn start_switch(folder: &Path) -> Running {
    let keys = folder.join("keys/switch");
    let ports = ["--port", "packet:tap1", "--port", "packet:tap2"];
    let dumpers = ["--dumper", "packet:s1*3", "--dumper", "packet:s2"];
    let listen = ["--listen", SWITCH, "--keys", keys.to_str().unwrap()];
    start("lumina-switch", &[&ports[..], &dumpers, &listen].concat())
}

fn start_dumper(folder: &Path, at: usize) -> Running {
    let keys = folder.join(format!("keys/dumper-{}", at + 1));
    let interface = ["h1", "h2"][at];
    start(
        "lumina-dumper",
        &["--interface", interface, "--listen", DUMPERS[at], "--keys", keys.to_str().unwrap()],
    )
}

#[test]
fn campaigns_run_and_findings_replay() {
    in_namespace(2, "guests::physical::within_campaigns");
}

#[test]
#[ignore = "changes the network: a test above runs it in a namespace"]
fn within_campaigns() {
    let lab = Lab::start();
    let checked = lab.run(&["testbed", "check", "lab.toml"]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    println!("{}", checked.stdout);
    for seed in ["1", "2", "3", "4"] {
        let summary = lab.campaign(seed, "20");
        assert_eq!((&summary["executions"], &summary["invalid"]), (&20.into(), &0.into()));
        assert_eq!(summary["requester_nic"], "real-rxe-a");
    }
    // The fifth one looks for all that rdma_rxe is known for.
    let known = TARGET.replace(
        "[\"crash\", \"stall\", \"data-corruption\"]",
        "[\"gbn-violation\", \"protocol-violation\", \"counter-mismatch\"]",
    );
    fs::write(lab.folder.path().join("short.toml"), known).unwrap();
    let summary = lab.campaign("5", "40");
    assert_eq!(summary["invalid"], 0);
    let findings = summary["findings"].as_array().unwrap();
    assert!(!findings.is_empty(), "{summary:#}");
    let replayed = lab.run(&["replay", "5", "--format", "json"]);
    assert!([0, 4].contains(&replayed.code), "{}", replayed.stderr);
    let lines = replayed.json();
    let lines = lines["findings"].as_array().unwrap();
    assert!(lines.iter().any(|line| line["reproduced"] == true), "{lines:#?}");
    let report = lab.run(&["report", "5"]);
    assert_eq!(report.code, 0, "{}", report.stderr);
    let page = fs::read_to_string(lab.folder.path().join("5/report.html")).unwrap();
    for part in ["real-rxe-a", "real-rxe-b"] {
        assert!(page.contains(part), "{page}");
    }
    let path = findings.iter().find_map(|finding| finding["path"].as_str()).unwrap();
    let page = fs::read_to_string(lab.folder.path().join("5").join(path).join("report.html")).unwrap();
    assert!(page.contains("rxe0, Linux 6.1"), "{page}");
    // What a campaign was on is in its folder.
    let nic = fs::read_to_string(lab.folder.path().join("5/nic-requester.toml")).unwrap();
    assert!(nic.contains("device = \"rxe0\"") && nic.contains("kernel = \"6.1"), "{nic}");
}

#[test]
#[ignore = "takes minutes: ci/long vm"]
fn a_testbed_whose_parts_fail_goes_on() {
    in_namespace(2, "guests::physical::within_failures");
}

#[test]
#[ignore = "changes the network: a test above runs it in a namespace"]
fn within_failures() {
    let mut lab = Lab::start();
    // A dumper that is killed, and comes back.
    lab.campaign_while("1", |lab| {
        kill_and_wait(&mut lab.dumpers[0].0);
        lab.dumpers[0] = start_dumper(lab.folder.path(), 0);
    });
    // The switch.
    lab.campaign_while("2", |lab| {
        kill_and_wait(&mut lab.switch.0);
        lab.switch = start_switch(lab.folder.path());
    });
    // An agent, which its host starts again.
    lab.campaign_while("3", |lab| lab.pair.responder.say("kill-agent").unwrap());
    // A clock that jumps in the middle of a campaign ends no connection; new ones are refused, with the reason, until it is right again.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    lab.campaign_while("4", |lab| {
        lab.pair.responder.say(&format!("clock {}", now + 2 * 366 * 24 * 3600)).unwrap();
    });
    let checked = lab.run(&["testbed", "check", "lab.toml"]);
    assert_eq!(checked.code, 1);
    let refused = checked.stdout.lines().find(|line| line.contains("responder's agent")).unwrap();
    assert!(refused.contains("FAILED") && refused.contains("not expired"), "{}", checked.stdout);
    lab.pair.responder.say(&format!("clock {now}")).unwrap();
    assert!(wait(Duration::from_secs(30), || lab.run(&["testbed", "check", "lab.toml"]).code == 0));
    // A link that is down.
    lab.pair.requester.say("link down").unwrap();
    assert!(wait(Duration::from_secs(30), || {
        let checked = lab.run(&["testbed", "check", "lab.toml"]);
        checked.code == 1 && checked.stdout.contains("is down")
    }));
    lab.pair.requester.say("link up").unwrap();
    assert!(wait(Duration::from_secs(30), || lab.run(&["testbed", "check", "lab.toml"]).code == 0));
    // A dumper that is not there when a campaign begins.
    kill_and_wait(&mut lab.dumpers[1].0);
    let ran = lab.run(&campaign("5", "5"));
    assert_ne!(ran.code, 0);
    for part in [DUMPERS[1], "cannot be reached", "lab.toml` looks at everything"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}
