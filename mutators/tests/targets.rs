//! Targets as files: the shipped ones, bases, what is written, and what is wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use corpus::{
    ActionKind, Capabilities, ControlPacket, HeaderField, Hop, Mtu, RoceParameters, Room, Rule, Verb,
};
use mutators::{Axis, Mutation, SHIPPED, Target, Values, Vocabulary, fields, load_with_base, operators};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::{VOCABULARY, hosts, shipped, target};

/// `general` whole, the others by what they change of it.
#[test]
fn shipped_targets_are_known() {
    let general = shipped("general");
    for one in SHIPPED {
        let target = shipped(one.name);
        assert_eq!(target.name, one.name);
        if target == general {
            insta::assert_snapshot!(one.name, target.to_toml());
        } else {
            let missing = general.changes_from(&target).into_iter().filter(|change| change.from.is_none());
            let missing = missing.map(|change| format!("no {}", change.path));
            let changed = target.changes_from(&general).into_iter();
            let changed = changed.map(|change| format!("{} = {}", change.path, change.to));
            let lines: Vec<_> =
                [target.description.clone()].into_iter().chain(missing).chain(changed).collect();
            insta::assert_snapshot!(one.name, lines.join("\n"));
        }
    }
}

#[test]
fn what_is_written_reads_back_equal() {
    for target in SHIPPED.iter().map(|one| shipped(one.name)).chain([target("name = \"a \\\"b\\\" 'c' µ\"")])
    {
        let again = Target::from_toml("again.toml", &target.to_toml(), VOCABULARY).unwrap();
        assert_eq!(again, target);
        assert_eq!(again.to_toml(), target.to_toml());
    }
}

#[test]
fn every_field_is_written_and_explained() {
    let text = format!("\n{}", target("").to_toml());
    for field in fields() {
        assert!(!field.allowed.is_empty(), "{}", field.path);
        if ["objectives", "operators"].contains(&field.path) {
            continue;
        }
        let key = field.path.rsplit('.').next().unwrap();
        assert!(text.contains(&format!("\n# {}\n{key} = ", field.meaning)), "{}", field.path);
    }
    for operator in operators() {
        assert!(
            text.contains(&format!("\n{} = {:?}\n", operator.name, operator.weight)),
            "{}",
            operator.name
        );
    }
}

#[test]
fn names_of_operators_differ() {
    let mut names: Vec<&str> = operators().map(|operator| operator.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    assert!(operators().all(|operator| operator.weight > 0.0 && operator.what.ends_with('.')));
}

#[test]
fn a_base_is_changed_where_a_file_says_so() {
    let text = "base = \"noisy-neighbor\"\npool = 4\nobjectives.discards = 0\ntraffic.rdma-verb = \"read\"\n";
    let (base, mine) = (shipped("noisy-neighbor"), target(text));
    assert_eq!((mine.name.as_str(), mine.description.as_str(), mine.pool), ("target", "", 4));
    assert_eq!(
        (mine.weights["discards"], mine.weights["noisy-neighbor"]),
        (0.0, base.weights["noisy-neighbor"])
    );
    assert_eq!((&mine.oracles, &mine.operators), (&base.oracles, &base.operators));
    assert_eq!(mine.space.values(Axis::Verb), &Values::only(1));
    assert_eq!(mine.space.values(Axis::Connections), base.space.values(Axis::Connections));
    assert_eq!(mine.space.packet_cap, base.space.packet_cap);
}

#[test]
fn targets_are_found_by_name_and_by_path() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), "base = \"general\"\n").unwrap();
    for name in ["mine.toml", "./mine.toml", folder.path().join("mine.toml").to_str().unwrap()] {
        let loaded = load_with_base(name, folder.path(), VOCABULARY).unwrap();
        assert_eq!((loaded.target.name.as_str(), loaded.base), ("mine", Some(shipped("general"))));
    }
    let error = |name: &str| {
        let error = Target::load(name, folder.path(), VOCABULARY).unwrap_err().to_string();
        error.replace(folder.path().to_str().unwrap(), "DIR")
    };
    insta::assert_snapshot!([error("noisy-neighbour"), error("mine"), error("none.toml")].join("\n"));
}

/// Words that other crates do not have (any more) are reported, not ignored.
#[test]
fn words_of_other_rooms_are_checked() {
    let poor = Vocabulary { kinds: &["stall"], ..VOCABULARY };
    let error = Target::load("noisy-neighbor", Path::new(""), poor).unwrap_err().to_string();
    assert!(error.contains("oracles: \"noisy-neighbor\" is not known here; there are stall"), "{error}");
    let error = Target::from_toml("mine.toml", "base = \"noisy-neighbor\"", poor).unwrap_err().to_string();
    assert!(error.starts_with("mine.toml:1:8: base: "), "{error}");
    assert_eq!(Target::load("general", Path::new(""), poor).unwrap().oracles, ["stall"]);
}

#[test]
fn every_bad_file_is_answered() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 36);
    for name in names {
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        let error = Target::from_toml(&name, &text, VOCABULARY).expect_err(&name);
        let shown: String = text.chars().take(400).collect();
        insta::with_settings!({ description => shown, omit_expression => true, prepend_module_to_snapshot => false, snapshot_path => "snapshots/bad" }, {
            insta::assert_snapshot!(name.as_str(), error);
        });
    }
}

#[test]
fn hostile_files_are_answered_soon() {
    let many = format!("oracles = [{}]\n", "\"x\", ".repeat(100_000));
    let keys: String = (0..50_000).map(|key| format!("key-{key} = 1\n")).collect();
    let numbers = format!("traffic.seed = [{}]\n", (0..100_000).map(|n| format!("{n},")).collect::<String>());
    for text in [many, keys, numbers, format!("name = \"{}\"", "x".repeat(1_000_000)), "[".repeat(100_000)] {
        let errors = Target::from_toml("hostile.toml", &text, VOCABULARY).unwrap_err().0;
        assert!(errors.problems.len() <= corpus::MAX_PROBLEMS);
        // A line of a problem names every kind at most.
        let longest = 200 + VOCABULARY.kinds.join(", ").len();
        let length = errors.to_string().len();
        assert!(length < corpus::MAX_PROBLEMS * longest, "{length}");
    }
}

/// Of classes, it is said what of them is outside.
#[test]
fn classes_that_are_outside_are_told_why() {
    let two = target("[hosts]\nclasses = [0, 2]\nets-weights = [10, 50]");
    let admits = |ets: &str| {
        let host = format!("{{ traffic-class = 0, ets = {ets} }}");
        two.admits(
            &corpus::from_toml("test.toml", &format!("requester = {host}\nresponder = {host}")).unwrap(),
        )
    };
    assert_eq!(admits("{ weights = [50, 50] }"), Ok(()));
    assert_eq!(admits("{ weights = [10, 0, 50] }"), Ok(()));
    for (ets, why) in [
        ("{ weights = [50, 50, 50] }", "3 as the number of classes"),
        ("{ weights = [50], strict = [1] }", "1 as the number of strict classes"),
        ("{ weights = [50, 20] }", "weight 20"),
    ] {
        let reason = admits(ets).unwrap_err();
        assert!(reason.starts_with(&format!("requester.ets: {why} is outside")), "{reason}");
    }
}

/// The error for a test to start from names the reason why it is outside the space.
#[test]
fn what_is_outside_is_told_why() {
    let target = shipped("noisy-neighbor");
    let cases = [
        ("", "traffic.num-connections: 1"),
        ("traffic.num-connections = 4\n[[event]]\nqpn = 9\npsn = 1\ntype = \"drop\"", "not valid"),
        ("traffic.num-connections = 4\ntraffic.mtu = 512", "traffic.mtu: 512"),
        (
            "traffic.num-connections = 4\ntraffic.rdma-verb = \"send_read\"",
            "traffic.rdma-verb: \"send_read\"",
        ),
        (
            "traffic.num-connections = 4\ntraffic.multi-gid = true\nrequester.ip-list = [\"10.0.0.3/24\", \"10.0.0.4/24\"]",
            "traffic.multi-gid: true",
        ),
        (
            "traffic.num-connections = 4\nresponder.roce-parameters.min-time-between-cnps = 9",
            "responder.roce-parameters.min-time-between-cnps: 9",
        ),
        ("traffic.num-connections = 4\nresponder.traffic-class = 1", "responder.traffic-class"),
        ("traffic.num-connections = 4\nrequester.traffic-class = 1", "requester.traffic-class has no `ets`"),
        (
            "traffic.num-connections = 4\nrequester = { traffic-class = 0, ets = { weights = [50] } }\n\
             responder.traffic-class = 0",
            "responder.ets is not the requester's",
        ),
        (
            "traffic.num-connections = 4\nrequester = { traffic-class = 0, ets = { weights = [50] } }\n\
             responder = { traffic-class = 0, ets = { weights = [50] } }",
            "requester.ets: 1 as the number of classes is outside of the space; allowed: 0",
        ),
        (
            "traffic.num-connections = 4\nrequester.roce-parameters.slow-restart = true",
            "requester.roce-parameters.slow-restart",
        ),
        ("traffic = { num-connections = 64, message-size = 40_960, mtu = 1024 }", "25600 packets"),
        (
            "traffic.num-connections = 4\n[[event]]\nqpn = \"all\"\npsn = 1\ntype = \"drop\"",
            "event[1]: its form of connections",
        ),
        (
            "traffic.num-connections = 4\n[[event]]\nqpn = { first = 4 }\npsn = 1\ntype = \"drop\"",
            "no connection stays",
        ),
        (
            "traffic.num-connections = 4\n[[event]]\nqpn = 1\npsn = 1\ntype = \"corrupt\"",
            "event[1]: what it does",
        ),
        (
            "traffic.num-connections = 4\n[[event]]\nqpn = 1\npsn = 1\niter = 2\ntype = \"drop\"",
            "event[1]: its `iter`",
        ),
        (
            "traffic.num-connections = 4\n[[event]]\nqpn = 1\npsn = 1\nevery = 2\ntype = \"drop\"",
            "event[1]: its progression",
        ),
    ];
    for (text, why) in cases {
        // A contradiction in itself cannot be read.
        let mut test = corpus::from_toml("test.toml", &text.replace("qpn = 9", "qpn = 4")).unwrap();
        if text.contains("qpn = 9") {
            test.events[0].connections = corpus::ConnectionSet::One(9);
        }
        let reason = target.admits(&test).unwrap_err();
        assert!(reason.contains(why), "{reason}");
    }
    let paper = "
        traffic = { num-connections = 36, rdma-verb = \"read\", message-size = 20_480 }
        [[event]]
        qpn = { first = 12 }
        psn = 5
        type = \"drop\"
    ";
    let [requester, responder] = hosts();
    let paper = corpus::from_toml("paper.toml", paper).unwrap();
    let paper = corpus::TestConfig { requester, responder, ..paper };
    assert_eq!(target.admits(&paper), Ok(()));
}

/// Rules are none of a space; a mutant of a test that has some has a chain.
#[test]
fn rules_between_tables_become_a_chain() {
    let target = shipped("flow-table");
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut test = target.random(&hosts(), &mut rng);
    assert_eq!(target.admits(&test), Ok(()));
    let port = Rule { table: 1, direction: None, ip_version: None, forward_to: Hop::Port };
    for offload in [&mut test.requester.offload, &mut test.responder.offload].into_iter().flatten() {
        (offload.tables, offload.rules) = (1, vec![port]);
    }
    assert!(target.admits(&test).unwrap_err().starts_with("offload.rule: "));
    let Mutation::Changed(mutant) = target.mutate(&test, &mut rng) else { panic!("not applicable") };
    assert_eq!(target.admits(&mutant.config), Ok(()));
}

/// The line of a chain says how many rule sets there are, and how many of them packets can use.
#[test]
fn the_space_of_rules_is_told_with_a_chain() {
    let with = |tables: &str| {
        let text = format!("[offload]\nhosts = \"both\"\ntables = {tables}\n");
        Target::from_toml("chains.toml", &text, VOCABULARY).unwrap().to_toml()
    };
    // (2^2)^4 and 3^4.
    assert!(with("[1, 2]").contains("between 2 tables in 256 ways; 81 have"), "{}", with("[1, 2]"));
    assert!(!with("1").contains("Rules could"));
}

/// A testbed like one of soft NICs: Writes and Sends, few settings, long timers.
fn narrow() -> Capabilities {
    Capabilities {
        verbs: [Verb::Write, Verb::Send].into(),
        actions: [ActionKind::Drop, ActionKind::Delay, ActionKind::SetField].into(),
        header_fields: [HeaderField::MigReq, HeaderField::Opcode].into(),
        control_packets: [ControlPacket::Ack].into(),
        max_delay_ns: 50_000,
        mtus: [Mtu::B1024, Mtu::B256].into(),
        max_connections: 6,
        max_bytes: 1 << 20,
        timeouts: 14..=18,
        max_tx_depth: 4,
        max_recv_depth: 128,
        max_rd_atomic: 16,
        max_addresses: 2,
        settings: [].into(),
        fixed: RoceParameters { dcqcn_np_enable: false, dcqcn_rp_enable: false, ..Default::default() },
        initial_psn: false,
        swaps_nics: false,
        ..Capabilities::all()
    }
}

#[test]
fn a_testbed_that_can_do_everything_changes_nothing() {
    for target in SHIPPED.iter().map(|one| shipped(one.name)) {
        assert_eq!(target.within(&Capabilities::all()).unwrap(), target);
    }
}

/// Each table has its masks, and a tunnel takes one of the NIC's contexts.
#[test]
fn tests_ask_for_no_more_than_the_nics_have_room_for() {
    let room = Room { pauses: false, masks: 1_000, entries: 3_000, tunnels: 5_000 };
    let can = Capabilities { room, ..Capabilities::all() };
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for name in ["flow-table", "multipath"] {
        let target = shipped(name).within(&can).unwrap();
        for _ in 0..300 {
            let mut test = target.random(&hosts(), &mut rng);
            for _ in 0..4 {
                assert!(!test.network.pfc, "{}", test.to_toml());
                for table in test.tables() {
                    let masks = table.egress_masks.max(table.ingress_masks);
                    let tables = table.flows.div_ceil(3_000);
                    assert!(masks * tables <= 1_000, "{}", test.to_toml());
                    assert!(!table.vxlan || table.flows <= 5_000, "{}", test.to_toml());
                }
                if let Mutation::Changed(mutant) = target.mutate(&test, &mut rng) {
                    test = mutant.config;
                }
            }
        }
    }
}

#[test]
fn tests_ask_for_nothing_that_the_testbed_has_not() {
    let can = narrow();
    for name in ["general", "retransmission", "timeouts"] {
        let target = shipped(name).within(&can).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for _ in 0..100 {
            let mut test = target.random(&hosts(), &mut rng);
            for _ in 0..4 {
                assert_eq!(can.violations(&test), [], "{name}: {}", test.to_toml());
                if let Mutation::Changed(mutant) = target.mutate(&test, &mut rng) {
                    test = mutant.config;
                }
            }
        }
    }
    // As a switch in hardware, which rewrites nothing.
    let fixed = Capabilities {
        actions: [ActionKind::Drop, ActionKind::Duplicate].into(),
        header_fields: [].into(),
        ..can.clone()
    };
    let target = shipped("general").within(&fixed).unwrap();
    for seed in 0..100 {
        assert_eq!(fixed.violations(&target.random(&hosts(), &mut ChaCha8Rng::seed_from_u64(seed))), []);
    }
    let refused =
        shipped("malformed").within(&Capabilities { header_fields: [HeaderField::MigReq].into(), ..can });
    insta::assert_snapshot!(refused.unwrap_err());
}
