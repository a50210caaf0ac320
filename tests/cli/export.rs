//! `export`: the same test, in the languages of other tools.

use std::fs;
use std::path::Path;

use crate::run::{folder, in_folder};

/// The finding of a short campaign.
fn finding(folder: &Path) -> String {
    let args = "campaign noisy-neighbor --nic cx4-lx --strategy genetic --seed 1 --executions 16 --out c";
    let ran = in_folder(folder, &args.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let findings = fs::read_dir(folder.join("c/findings")).unwrap();
    let ids: Vec<_> = findings.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    format!("c/findings/{}", ids[0])
}

const LAB: &str = include_str!("../../corpus/tests/data/laboratory.yaml");

#[test]
fn a_finding_leaves_in_every_language() {
    let folder = folder(&[("lab.yml", LAB)]);
    let path = folder.path();
    let finding = finding(path);
    let export = |args: &[&str]| {
        let ran = in_folder(path, &[&["export", &finding, "--format"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };

    // What comes back is the same test, and shows the same.
    fs::write(path.join("test.toml"), export(&["toml"])).unwrap();
    fs::write(path.join("test.rds"), export(&["script"])).unwrap();
    for test in ["test.toml", "test.rds"] {
        let ran = in_folder(path, &["run", test, "--format", "json"]);
        assert_eq!(ran.code, 0, "{test}: {} {}", ran.stdout, ran.stderr);
        assert!(
            ran.stdout.contains("noisy-neighbor/requester/innocent-suffers/lost"),
            "{test}: {}",
            ran.stdout
        );
    }
    export(&["pcapng", "--out", "trace.pcapng"]);
    assert_eq!(
        fs::read(path.join("trace.pcapng")).unwrap(),
        fs::read(path.join(&finding).join("trace.pcapng")).unwrap()
    );

    let lumina = export(&["lumina"]);
    assert!(lumina.contains("type: CX4\n") && lumina.contains("control-ip: \"192.0.2.1\"\n"), "{lumina}");
    let lumina = export(&["lumina", "--lab", "lab.yml"]);
    for line in
        ["    type: CX6\n", "  username: \"operator\"\n", "  listen-port: 13000\n", "  rdma-verb: read\n"]
    {
        assert!(lumina.contains(line), "{lumina}");
    }
    let perftest = export(&["perftest"]);
    let command = "ib_read_bw -F -d mlx5_0 -i 1 -p 18515 -q 12 ";
    assert_eq!(perftest.matches(command).count(), 2, "{perftest}");
    assert!(
        perftest.contains(" 10.0.0.2\n") && perftest.contains("of connections 1 to 11 is dropped"),
        "{perftest}"
    );
}

/// The keys that the published tool reads, as the docs list them from its sources.
fn keys() -> Vec<String> {
    let docs = include_str!("../../docs/test-config.md");
    let rows = docs.lines().skip_while(|line| !line.starts_with("| read by | keys;"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let mut keys = Vec::new();
    for row in rows {
        let spans = row.split('`').skip(1).step_by(2);
        for key in spans.filter(|span| !span.contains(['/', ' ']) && !span.starts_with("dcqcn")) {
            for (word, instead) in
                [("HOST", ["requester", "responder"]), ("MIRROR", ["requester-mirror", "responder-mirror"])]
            {
                if key.split('.').next() == Some(word) {
                    keys.extend(instead.map(|instead| key.replacen(word, instead, 1)));
                }
            }
            if !key.starts_with(|c: char| c.is_uppercase()) {
                keys.push(key.to_owned());
            }
        }
    }
    keys
}

#[test]
fn what_is_exported_has_every_key_that_lumina_reads() {
    let keys = keys();
    assert!(keys.len() > 80, "{keys:?}");
    for (verb, nic, dcqcn) in [
        ("write", "cx6-dx", &["dcqcn-rp-enable", "dcqcn-np-enable"][..]),
        ("send", "e810", &["dcqcn-enable"]),
        ("read", "cx4-lx", &["dcqcn-rp-enable", "dcqcn-np-enable"]),
    ] {
        let test = format!(
            "[requester]\nnic = \"{nic}\"\n[responder]\nnic = \"{nic}\"\n[traffic]\nrdma-verb = \"{verb}\"\n\
             num-msgs-per-qp = 1\n[[event]]\nqpn = 1\npsn = 2\ntype = \"drop\"\n"
        );
        let folder = folder(&[("test.toml", &test)]);
        let ran = in_folder(folder.path(), &["export", "test.toml", "--format", "lumina"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let file: serde_json::Value = serde_saphyr::from_str(&ran.stdout).unwrap();
        let of_hosts = ["requester", "responder"]
            .into_iter()
            .flat_map(|host| dcqcn.iter().map(move |key| format!("{host}.roce-parameters.{key}")));
        for key in keys.iter().cloned().chain(of_hosts) {
            assert!(
                file.pointer(&format!("/{}", key.replace('.', "/"))).is_some(),
                "{verb}: {key}\n{}",
                ran.stdout
            );
        }
    }
}

/// What the published tool's file says comes back, also of what a test does not depend on.
#[test]
fn a_lumina_file_is_written_again() {
    let folder = folder(&[("lab.yml", LAB)]);
    let run = |args: &[&str]| {
        let ran = in_folder(folder.path(), args);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    };
    run(&["export", "lab.yml", "--format", "lumina", "--out", "once.yml"]);
    run(&["export", "once.yml", "--format", "lumina", "--out", "twice.yml"]);
    let read = |name: &str| corpus::load(folder.path().join(name)).unwrap();
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(text("once.yml"), text("twice.yml"));
    for (before, after) in [("lab.yml", "once.yml"), ("once.yml", "twice.yml")] {
        let (before, after) = (read(before), read(after));
        assert_eq!((before.config, before.lab), (after.config, after.lab));
    }
}

#[test]
fn commands_of_perftest_say_what_they_leave_out() {
    let test = "[requester]\nib-device = \"mlx5 'a'\"\n[traffic]\nnum-connections = { send = 2, read = 3 }\n\
                rdma-verb = \"send_read\"\nnum-msgs-per-qp = 2\nmessage-size = 4096\nbarrier-sync = true\n\
                max-retransmit-retry = 3\n[requester.roce-parameters]\nadaptive-retrans = true\n\
                [responder.offload]\nflows = 40\nplace = \"last\"\n[[event]]\nqpn = 1\npsn = 2\ntype = \"drop\"\n\
                [[control]]\nhost = \"responder\"\ndo = \"add-flows\"\n";
    let folder = folder(&[("test.toml", test)]);
    let ran = in_folder(folder.path(), &["export", "test.toml", "--format", "perftest"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn commands_of_perftest_keep_to_its_limits() {
    for (test, line, said) in [
        ("message-size = 0\n", "-s 1 -n 10 ", "message-size of 0 bytes: the nearest that it takes is 1"),
        (
            "message-size = 2147483648\nmtu = 4096\nnum-msgs-per-qp = 1\n",
            "-s 2147483647 -n 5 ",
            "message-size of 2147483648 bytes: the nearest that it takes is 2147483647",
        ),
        (
            "num-msgs-per-qp = 32768\ntx-depth = 32768\n",
            "-t 15000 ",
            "tx-depth of 32768 requests: the nearest that it takes is 15000",
        ),
        (
            "rdma-verb = \"send\"\nrecv-depth = 20000\n",
            "-r 16384",
            "recv-depth of 20000 requests: the nearest that it takes is 16384",
        ),
        (
            "rdma-verb = \"send_read\"\nnum-msgs-per-qp = 1\n",
            "ib_send_bw -F -d mlx5_0 -i 1 -p 18515 -q 1 -s 10240 -n 5 ",
            "num-msgs-per-qp of 1 message: the nearest that it takes is 5",
        ),
        ("rdma-verb = \"send_read\"\nnum-msgs-per-qp = 21\n", "-s 10240 -n 11 ", "here each verb has"),
        ("rdma-verb = \"send_read\"\nnum-msgs-per-qp = 21\n", "-s 10240 -n 10 ", "here each verb has"),
    ] {
        let folder = folder(&[("test.toml", &format!("[traffic]\n{test}"))]);
        let ran = in_folder(folder.path(), &["export", "test.toml", "--format", "perftest"]);
        assert_eq!(ran.code, 0, "{test}: {}", ran.stderr);
        assert_eq!(ran.stdout.matches(line).count(), 2, "{test}: {}", ran.stdout);
        assert!(ran.stdout.contains(said), "{test}: {}", ran.stdout);
        // One message on a connection of both verbs is a Send.
        assert!(!test.contains("= 1\n") || !ran.stdout.contains("ib_read_bw"), "{test}: {}", ran.stdout);
    }
}

#[test]
fn what_cannot_be_exported_is_said() {
    let folder = folder(&[
        ("test.toml", "[requester]\nnic = \"reference\"\n"),
        ("own.toml", "[requester]\nnic = \"cx5\"\n[responder]\nnic = \"cx5\"\n"),
        ("bad.yml", "num-repeats: often\n"),
        ("there.yml", ""),
    ]);
    for (args, said) in [
        (&["test.toml", "--format", "lumina"][..], "requester.nic: \"reference\" is no NIC type of Lumina"),
        (
            &["own.toml", "--format", "toml", "--lab", "bad.yml"],
            "--lab: a laboratory is part of the formats lumina and lumina-result alone",
        ),
        (&["own.toml", "--format", "lumina", "--lab", "bad.yml"], "num-repeats"),
        (&["own.toml", "--format", "lumina", "--out", "there.yml"], "there.yml: is there already"),
        (&["own.toml", "--format", "pcapng"], "name its file with --out"),
        (&["nothing.toml", "--format", "toml"], "nothing.toml"),
    ] {
        let ran = in_folder(folder.path(), &[&["export"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(fs::read_to_string(folder.path().join("there.yml")).unwrap(), "");
}

#[test]
fn a_result_has_the_ports_and_the_capture_of_the_laboratory() {
    let test = "[requester]\nnic = \"cx5\"\n\n[responder]\nnic = \"cx5\"\n\n[traffic]\nnum-msgs-per-qp = 3\n\n[[event]]\nqpn = 1\npsn = 2\ntype = \"drop\"\n";
    let folder = folder(&[("lab.yml", LAB), ("test.toml", test)]);
    let path = folder.path();
    let out = ["export", "test.toml", "--format", "lumina-result", "--lab", "lab.yml", "--out", "result"];
    let ran = in_folder(path, &out);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = |name: &str| fs::read_to_string(path.join("result").join(name)).unwrap();
    let config = text("lumina.yml");
    let place = path.join("result").canonicalize().unwrap();
    assert!(config.contains(&format!("result-path: \"{}\"\n", place.display())), "{config}");
    assert!(config.contains("num-repeats: 1\n") && config.contains("switch-port: 133\n"), "{config}");
    // The hosts' ports and the dumpers', and on these together every packet of the capture.
    let counters = text("0/switch-result/switch_state_snapshot.yml");
    let egress = counters.split("egress:").nth(1).unwrap();
    let count = |port: u32| {
        let line = egress.lines().find_map(|line| line.trim().strip_prefix(&format!("{port}: ")));
        line.unwrap_or_else(|| panic!("no port {port} in {counters}")).parse::<u64>().unwrap()
    };
    assert!(count(133) > 0 && count(141) > 0, "{counters}");
    let messages = text("0/switch-result/switch_message_snapshot.yml");
    assert!(messages.contains("snd_sw_port: 133\n  rcv_sw_port: 141\n"), "{messages}");
    let ran = in_folder(path, &["analyze", "result/0/pcap-result/all.pcap", "--format", "json"]);
    let packets = ran.json()["input"]["packets"].as_u64().unwrap();
    assert_eq!(count(149) + count(157), packets, "{counters}");
    // The drop is in it, as the published tool marks it.
    assert_eq!(ran.json()["event_count"], 1, "{}", ran.stdout);
    let again = in_folder(path, &out);
    assert_eq!(again.code, 2, "a folder that is there is not written into");
}
