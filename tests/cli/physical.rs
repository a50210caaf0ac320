//! Files of testbeds of real NICs, and their keys: what is wrong is told, and nothing is commanded unasked.

use std::fs;

use crate::run::{DROP, folder, in_folder};

/// A testbed on this machine; nobody is there.
const LOCAL: &str = "\
[requester]
agent = \"127.0.0.1:1\"
nic = \"cx5\"

[responder]
agent = \"127.0.0.1:2\"
nic = \"e810\"

[switch]
kind = \"software\"
control = \"127.0.0.1:3\"
";

/// Says of a file whose line is replaced what is wrong, and where.
fn says(from: &str, to: &str) -> String {
    assert!(LOCAL.contains(from), "{from}");
    let folder = folder(&[("lab.toml", &LOCAL.replacen(from, to, 1)), ("drop.toml", DROP)]);
    let ran = in_folder(folder.path(), &["run", "drop.toml", "--testbed", "./lab.toml"]);
    assert!([1, 2].contains(&ran.code), "{}", ran.stderr);
    ran.stderr
}

#[test]
fn wrong_files_are_told_with_their_lines() {
    for (from, to, expected) in [
        ("agent = \"127.0.0.1:1\"", "agent = \"localhost:1\"", &["line 2", "no address", "IP:PORT"][..]),
        ("agent = \"127.0.0.1:1\"", "", &["agent"]),
        ("nic = \"cx5\"", "nic = \"../cx5\"", &["line 3", "is no name"]),
        ("nic = \"cx5\"", "nic = \"cx5\"\ndevice = \"$(reboot)\"", &["line 4", "is no name"]),
        ("nic = \"cx5\"", "nic = \"cx5\"\nport = 0", &["requester.port", "begin with 1"]),
        ("nic = \"cx5\"", "nic = \"cx5\"\naddresses = []", &["requester.addresses", "leave it out"]),
        ("nic = \"cx5\"", "nic = \"cx5\"\ncolour = 1", &["line 4", "colour", "device"]),
        ("127.0.0.1:2", "127.0.0.1:1", &["are the same"]),
        ("127.0.0.1:2", "192.0.2.2:7471", &["responder.agent", "testbed keys ./lab.toml"]),
        ("127.0.0.1:3", "192.0.2.3:9559", &["switch.control", "insecure = true"]),
        ("software", "magic", &["line 10", "software", "tofino"]),
        ("software", "tofino", &["switch.device-id", "is missing"]),
        ("control =", "ports = [1, 2]\ncontrol =", &["switch.ports", "lumina-switch"]),
        ("[switch]", "[limits]\ntimeouts = [9, 3]\n[switch]", &["limits.timeouts", "no range"]),
        (
            "[requester]",
            "keys = \"keys/orchestrator\"\n[requester]",
            &["keys/orchestrator/ca.pem", "testbed keys"],
        ),
    ] {
        let said = says(from, to);
        assert!(expected.iter().all(|part| said.contains(part)), "{to}: {said}");
    }
}

#[test]
fn a_machine_that_is_not_there_is_named() {
    let folder = folder(&[("lab.toml", LOCAL)]);
    let ran = in_folder(folder.path(), &["testbed", "check", "lab.toml"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    insta::assert_snapshot!(ran.stdout);
    let ran =
        in_folder(folder.path(), &["campaign", "general", "--testbed", "./lab.toml", "--executions", "1"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for part in ["the agent at 127.0.0.1:", "start lumina-agent there"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    assert!(!folder.path().join("campaign-general").exists());
}

#[test]
fn keys_are_made_for_all_machines_and_renewed() {
    let dumpers = "[[dumper]]\naddress = \"192.0.2.4:7472\"\n[[dumper]]\naddress = \"192.0.2.5:7472\"\n";
    let text = format!("{LOCAL}{dumpers}").replace("127.0.0.1", "192.0.2.1");
    let folder = folder(&[("lab.toml", &text)]);
    let keys = || in_folder(folder.path(), &["testbed", "keys", "lab.toml"]);
    let ran = keys();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(ran.stdout);
    let certificate =
        |name: &str| fs::read(folder.path().join(format!("keys/{name}/certificate.pem"))).unwrap();
    let authority = || fs::read(folder.path().join("keys/authority/ca.pem")).unwrap();
    let before = (certificate("dumper-2"), authority());
    let again = keys();
    assert!(again.stdout.contains("renewed") && !again.stdout.contains("(new)"), "{}", again.stdout);
    assert_ne!(certificate("dumper-2"), before.0);
    assert_eq!(authority(), before.1);
    // With its keys the file is one that tests may have.
    let text = format!("keys = \"keys/orchestrator\"\n{text}");
    fs::write(folder.path().join("lab.toml"), text).unwrap();
    let ran = in_folder(folder.path(), &["testbed", "keys", "lab.toml", "--format", "json"]);
    assert_eq!(ran.json().as_array().unwrap().len(), 6);
}
