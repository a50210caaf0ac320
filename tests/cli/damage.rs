//! Result folders of `run --out` that are damaged afterwards: `analyze` says which condition of completeness failed.

use std::fs;
use std::path::Path;

use dumper::capture::{self, CaptureFormat, ReadOptions};
use dumper::{Nanos, Record, Trace};

use crate::run::{DROP, Ran, folder, in_folder};

const CAPTURE: &str = "kept/pcap-result/trace.pcapng";
const COUNTS: &str = "kept/switch-result/switch_state_snapshot.yml";

/// Rewrites the capture with other records.
fn with_records(root: &Path, change: impl FnOnce(&mut Vec<Record>)) {
    let path = root.join(CAPTURE);
    let captured = capture::read(&[&path], ReadOptions::default(), &mut |_| ()).unwrap();
    let trace = captured.traced.trace;
    let mut records = trace.records().to_vec();
    change(&mut records);
    let mut changed = Trace::new(trace.origin());
    for flow in trace.flows() {
        changed.add_flow(*flow);
    }
    for record in records {
        match trace.extra(&record) {
            Some(extra) => changed.push_with(record, extra),
            None => changed.push(record),
        }
    }
    let mut bytes = Vec::new();
    capture::write(&changed, &captured.connections, CaptureFormat::PcapNg, None, &mut bytes).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Adds one to a port's counter below a heading.
fn count_one_more(root: &Path, heading: &str, port: u32) {
    let path = root.join(COUNTS);
    let text = fs::read_to_string(&path).unwrap();
    let (before, below) = text.split_once(heading).unwrap();
    let key = format!("    {port}: ");
    let (between, value) = below.split_once(&key).unwrap();
    let (value, rest) = value.split_once('\n').unwrap();
    let more = value.parse::<u64>().unwrap() + 1;
    fs::write(path, format!("{before}{heading}{between}{key}{more}\n{rest}")).unwrap();
}

fn verdicts(ran: &Ran) -> Vec<String> {
    let document = ran.json();
    let conditions = document["integrity"]["conditions"].as_array().unwrap();
    conditions.iter().map(|one| one["verdict"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_kind_of_damage_fails_its_own_conditions() {
    type Damage = fn(&Path);
    let cases: [(&str, Damage, [&str; 4], &str); 8] = [
        ("none", |_| (), ["pass"; 4], "complete"),
        ("written again", |root| with_records(root, |_| ()), ["pass"; 4], "complete"),
        (
            "a packet lost",
            |root| with_records(root, |records| _ = records.remove(4)),
            ["fail", "pass", "fail", "fail"],
            "packet 5 is missing",
        ),
        (
            "a packet twice",
            |root| with_records(root, |records| records.insert(4, records[4])),
            ["fail", "pass", "fail", "fail"],
            "packet 5 is there twice",
        ),
        (
            "time back",
            |root| with_records(root, |records| records[9].time = Nanos(records[8].time.0 - 51)),
            ["pass", "fail", "pass", "pass"],
            "time steps back 51 ns at packet 10",
        ),
        (
            "ingress of the requester's port",
            |root| count_one_more(root, "ingress:", 1),
            ["pass", "pass", "pass", "fail"],
            "25 packets received by the switch, 24 in the trace",
        ),
        (
            "egress of the first dumper's port",
            |root| count_one_more(root, "egress:", 3),
            ["pass", "pass", "fail", "pass"],
            "25 packets mirrored by the switch, 24 in the trace",
        ),
        // Packets from the switch to the hosts are not part of the conditions.
        ("egress of a host's port", |root| count_one_more(root, "egress:", 1), ["pass"; 4], "complete"),
    ];
    for (name, damage, expected, says) in cases {
        let folder = folder(&[("test.toml", DROP)]);
        assert_eq!(in_folder(folder.path(), &["run", "test.toml", "--out", "kept"]).code, 0);
        damage(folder.path());
        let json = in_folder(folder.path(), &["analyze", "kept", "--format", "json"]);
        assert_eq!(verdicts(&json), expected, "{name}");
        let text = in_folder(folder.path(), &["analyze", "kept"]);
        assert!(text.stdout.contains(says), "{name}: {}", text.stdout);
        let code = if expected.contains(&"fail") { 5 } else { 0 };
        assert_eq!((json.code, text.code), (code, code), "{name}");
    }
}
