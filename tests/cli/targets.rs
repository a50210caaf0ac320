//! `targets list`, `targets show` and `targets check`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use corpus::ConnectionSet;
use executor::{NicProfile, profile, sim};
use fuzzer::campaign::vocabulary;
use mutators::{SHIPPED, Target};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::run::{Ran, lumina_fuzz};

/// Checks a file with this text; its folder is `DIR` in what is said.
fn check(text: &str, format: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my-target.toml");
    fs::write(&path, text).unwrap();
    let mut ran = lumina_fuzz(["targets", "check", path.to_str().unwrap(), "--format", format]);
    for text in [&mut ran.stdout, &mut ran.stderr] {
        *text = text.replace(folder.path().to_str().unwrap(), "DIR");
    }
    ran
}

/// The output of `show` is a target that `check` finds equal to the one shown.
#[test]
fn every_listed_target_is_shown_whole() {
    let listed = lumina_fuzz(["targets", "list", "--format", "json"]).json();
    let table = lumina_fuzz(["targets", "list"]).stdout;
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|target| target["name"].clone()).collect();
    let shipped = [
        "general",
        "noisy-neighbor",
        "retransmission",
        "timeouts",
        "cnp",
        "ets",
        "interop",
        "counters",
        "corruption",
        "multipath",
        "flow-table",
        "malformed",
    ];
    assert_eq!(names, shipped);
    for target in listed.as_array().unwrap() {
        let name = target["name"].as_str().unwrap();
        let line = table.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        assert!(line.ends_with(target["description"].as_str().unwrap()), "{line}");
        let shown = lumina_fuzz(["targets", "show", name]);
        assert_eq!((shown.code, &shown.stderr[..]), (0, ""));
        let checked = check(&format!("base = \"{name}\"\n{}", shown.stdout), "json").json();
        assert_eq!((&checked["name"], &checked["changes"]), (&name.into(), &json!([])));
        let document = lumina_fuzz(["targets", "show", name, "--format", "json"]).json();
        assert_eq!((&document["name"], &document["description"]), (&name.into(), &target["description"]));
        for field in document["fields"].as_array().unwrap() {
            let [path, value] = ["field", "value"].map(|key| field[key].as_str().unwrap());
            let key = path.split_once('.').map_or(path, |(_, key)| key);
            let meaning = field["meaning"].as_str().unwrap();
            assert!(shown.stdout.contains(&format!("# {meaning}\n{key} = {value}\n")), "{path}");
        }
    }
}

#[test]
fn a_valid_file_is_compared_with_its_base() {
    let text = "base = \"noisy-neighbor\"\npool = 8\n[traffic]\nrdma-verb = \"read\"\n\
                [objectives]\nfsm = 1\n[operators]\nseed = 0\n";
    let ran = check(text, "text");
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    insta::assert_snapshot!("targets_check", ran.stdout);
    let document = check(text, "json").json();
    assert_eq!(
        document["changes"],
        json!([
            {"field": "pool", "from": "32", "to": "8"},
            {"field": "objectives.fsm", "from": null, "to": "1.0"},
            {"field": "operators.seed", "from": "0.25", "to": "0.0"},
            {"field": "traffic.rdma-verb", "from": "[\"write\", \"read\", \"send\"]", "to": "\"read\""},
        ])
    );
    assert_eq!((&document["valid"], &document["name"]), (&true.into(), &"my-target".into()));
    assert_eq!((&document["base"], &document["sample"]["tests"]), (&"noisy-neighbor".into(), &1000.into()));
}

/// A space of one test is that test a thousand times: ten Writes of ten packets.
#[test]
fn the_sample_is_of_the_space() {
    let document = check("", "json").json();
    assert_eq!(document["base"], json!(null));
    let all = |number: u64| json!({ "least": number, "tenth": number, "median": number, "nine_tenths": number, "most": number });
    assert_eq!(
        document["sample"],
        json!({
            "tests": 1000, "packets": all(100), "near_cap_percent": 0.0, "connections": all(1), "events": all(0),
            "connections_with_events": all(0),
        })
    );
    let near = check("packet-cap = 111", "json").json();
    assert_eq!(near["sample"]["near_cap_percent"], 100.0);
    let text = check("", "text").stdout;
    assert!(text.starts_with("DIR/my-target.toml: valid, called my-target\n\n1000 random tests "), "{text}");
}

/// Tests of shipped targets are cheap: a campaign runs hundreds in a second.
#[test]
fn random_tests_of_shipped_targets_are_small() {
    for name in SHIPPED.iter().map(|shipped| shipped.name) {
        let sample = lumina_fuzz(["targets", "check", name, "--format", "json"]).json()["sample"].clone();
        let packets = sample["packets"]["median"].as_u64().unwrap();
        assert!((20..2_500).contains(&packets), "{name}: {sample}");
        assert!(sample["near_cap_percent"].as_f64().unwrap() < 5.0, "{name}: {sample}");
        // What two NICs do to each other shows without events, and losses at random, paths and flow tables are none.
        let least = u64::from(!["interop", "corruption", "multipath", "flow-table"].contains(&name));
        assert!(sample["events"]["tenth"].as_u64().unwrap() >= least, "{name}: {sample}");
    }
}

#[test]
fn a_wrong_file_is_answered_with_everything_that_is_wrong() {
    let text = "pool = 0\n\n[traffic]\nrdma-verbs = \"read\"\nmtu = [1000, 1024]\n";
    let ran = check(text, "text");
    assert_eq!((ran.code, &ran.stdout[..]), (2, ""));
    insta::assert_snapshot!("targets_check_wrong", ran.stderr);
    let document = check(text, "json").json();
    assert_eq!(document["error"], "bad target");
    let problems = document["problems"].as_array().unwrap();
    let places: Vec<_> = problems.iter().map(|one| (&one["field"], &one["location"]["line"])).collect();
    assert_eq!(
        places,
        [
            (&"pool".into(), &1.into()),
            (&"traffic.rdma-verbs".into(), &4.into()),
            (&"traffic.mtu".into(), &5.into())
        ]
    );
}

#[test]
fn a_target_that_is_not_there() {
    for (action, target, says) in [
        ("show", "genral", "did you mean `general`?"),
        ("check", "./nowhere.toml", "cannot be read"),
        ("show", "/dev/zero", "not a regular file"),
        ("check", "/", "Is a directory"),
    ] {
        let ran = lumina_fuzz(["targets", action, target]);
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{target}");
        assert!(ran.stderr.contains(says), "{target}: {}", ran.stderr);
    }
}

/// Random tests of `noisy-neighbor`, in percent, whose losses make a NIC discard packets that arrive.
fn overflowing_percent(nic: &NicProfile) -> usize {
    const TESTS: usize = 500;
    let target = Target::load("noisy-neighbor", Path::new(""), vocabulary()).unwrap();
    let test = corpus::TestConfig::default();
    let hosts = [test.requester, test.responder];
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let overflows = (0..TESTS).filter(|_| {
        let test = target.random(&hosts, &mut rng);
        let observation = sim::run(&test, [nic.clone(), nic.clone()]).unwrap();
        let hosts = [observation.requester, observation.responder].into_iter().flatten();
        hosts.filter_map(|host| host.moved("rx_discards_phy")).any(|discards| discards > 0)
    });
    overflows.count() * 100 / TESTS
}

/// The search climbs from tests that show a little of the noisy neighbour of Lumina 6.2.2: some of the first have to.
#[test]
fn random_tests_overflow_nics_with_a_slow_path() {
    let cx4_lx = profile::load("cx4-lx", Path::new("")).unwrap();
    let mut patient = cx4_lx.clone();
    patient.slow_path.contexts = 20;
    let mut writes = cx4_lx.clone();
    writes.slow_path.verbs = vec![profile::Verb::Write];
    writes.retransmission.nack_generation_ns.write = profile::Span::exactly(150_000);
    // Losses of Writes are recovered at once where those were sent at once, and not one burst after the other.
    writes.transmit.burst = 1;
    for (nic, least) in [(&cx4_lx, 4), (&patient, 2), (&writes, 4)] {
        let percent = overflowing_percent(nic);
        assert!(percent >= least, "{percent} %, contexts = {}", nic.slow_path.contexts);
    }
    assert_eq!(overflowing_percent(&NicProfile::default()), 0);
}

/// NICs were measured to retry up to six times more often than configured (Lumina §6.3): to see that, a
/// packet must be lost for as many rounds.
#[test]
fn random_tests_exhaust_every_retry_budget() {
    const TESTS: usize = 500;
    const FURTHER: u32 = 6;
    let target = Target::load("timeouts", Path::new(""), vocabulary()).unwrap();
    let test = corpus::TestConfig::default();
    let hosts = [test.requester, test.responder];
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut exhausting = 0;
    let mut budgets = BTreeSet::new();
    for _ in 0..TESTS {
        let test = target.random(&hosts, &mut rng);
        let retries = u32::from(test.traffic.max_retransmit_retry);
        let is_lost = |psn: u32, connections: &ConnectionSet, iter: u32| {
            let lost = corpus::Target::Data { psn, iter };
            test.events.iter().any(|event| event.target == lost && event.connections == *connections)
        };
        let exhausts = test.events.iter().any(|event| match event.target {
            corpus::Target::Data { psn, .. } => {
                (1..=1 + retries + FURTHER).all(|iter| is_lost(psn, &event.connections, iter))
            }
            corpus::Target::Control { .. } => false,
        });
        if exhausts {
            exhausting += 1;
            budgets.insert(retries);
        }
    }
    assert!(exhausting * 100 >= TESTS * 10, "{exhausting} of {TESTS}");
    assert!(budgets.contains(&7), "{budgets:?}");
}
