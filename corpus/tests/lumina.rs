//! Files of the paper and of the published tool.

use corpus::{
    Action, ConnectionSet, Event, IterMode, Load, Mtu, Progression, RoceParameters, Target, TestConfig,
    TrafficClass, TrafficField, Verb,
    config::Files,
    load,
    lumina::{Dialect, Lab, NoteKind, from_yaml},
};

fn data(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn one(qpn: u32, psn: u32, iter: u32, action: Action) -> Event {
    Event {
        connections: ConnectionSet::One(qpn),
        target: Target::Data { psn, iter },
        progression: None,
        action,
    }
}

#[test]
fn listing_1_is_read_in_full() {
    let loaded = load(data("listing-1.yaml")).unwrap();
    let host = &loaded.config.requester;
    assert_eq!(host.nic, "cx4-lx");
    assert_eq!(host.ip_list, ["10.0.0.2/24".parse().unwrap(), "10.0.0.12/24".parse().unwrap()]);
    assert_eq!(host.physical.workspace.as_deref(), Some("/home/foo/bar/"));
    assert_eq!(host.physical.control_ip.as_deref(), Some("cx4-testing-traffic-requester"));
    assert_eq!(host.physical.if_name.as_deref(), Some("enp4s0"));
    assert_eq!(host.physical.switch_port, Some(144));
    assert_eq!(
        host.roce,
        RoceParameters {
            dcqcn_rp_enable: false,
            dcqcn_np_enable: true,
            min_time_between_cnps: 0,
            adaptive_retrans: false,
            slow_restart: true,
            ..RoceParameters::default()
        }
    );
    // What the snippet leaves out is a default, and said so; it does not collide with what it has.
    assert_eq!(loaded.config.responder.ip_list, ["10.0.0.1/24".parse().unwrap()]);
    let notes: Vec<_> = loaded.notes.iter().map(|note| (note.kind, note.field.as_str())).collect();
    assert_eq!(notes, [(NoteKind::Defaulted, "responder"), (NoteKind::Defaulted, "traffic")]);
}

#[test]
fn listing_2_is_read_in_full() {
    let loaded = load(data("listing-2.yaml")).unwrap();
    assert_eq!(loaded.dialect, Some(Dialect::Paper));
    let traffic = &loaded.config.traffic;
    assert_eq!(traffic.load, Load::Same { verb: Verb::Write, connections: 2 });
    assert_eq!((traffic.num_msgs_per_qp, traffic.message_size, traffic.mtu), (10, 10_240, Mtu::B1024));
    assert_eq!((traffic.multi_gid, traffic.barrier_sync, traffic.tx_depth), (true, true, 1));
    assert_eq!((traffic.min_retransmit_timeout, traffic.max_retransmit_retry), (14, 7));
    assert_eq!(traffic.iter_mode, IterMode::Paper);
    let expected = [one(1, 4, 1, Action::Ecn), one(2, 5, 1, Action::DROP), one(2, 5, 2, Action::DROP)];
    assert_eq!(loaded.config.events, expected);
}

#[test]
fn every_key_of_the_published_tool_is_used_or_noted() {
    let loaded = load(data("published.yaml")).unwrap();
    let config = &loaded.config;
    assert_eq!(loaded.dialect, Some(Dialect::Published));
    assert_eq!((config.requester.nic.as_str(), config.responder.nic.as_str()), ("e810", "cx5"));
    assert_eq!(config.requester.physical.pci_addr.as_deref(), Some("0000:3b:00.0"));
    assert_eq!(config.requester.physical.ib_device.as_deref(), Some("rocep59s0"));
    assert_eq!(config.requester.physical.ib_port, Some(1));
    assert!(!config.requester.roce.dcqcn_rp_enable && !config.requester.roce.dcqcn_np_enable);
    assert!(config.responder.roce.dcqcn_rp_enable && !config.responder.roce.dcqcn_np_enable);
    assert_eq!(config.responder.roce.min_time_between_cnps, 50);
    assert_eq!(config.traffic.load, Load::Split { send: 2, read: 1 });
    assert_eq!(config.traffic.iter_mode, IterMode::PerMessage);
    assert_eq!(config.requester.traffic_class, Some(TrafficClass::PerConnection(vec![0, 1, 3])));
    let every = |every| Some(Progression { every, count: None });
    let expected = [
        Event { progression: every(3), ..one(1, 3, 2, Action::DROP) },
        Event { progression: every(1), ..one(3, 1, 1, Action::Corrupt) },
    ];
    assert_eq!(config.events, expected);
    insta::assert_snapshot!(
        "published_notes",
        loaded.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    );
    insta::assert_snapshot!("published_exported", config.to_lumina(&loaded.lab).unwrap());
}

/// The keys of the published tool's own example file, each with a value of its own.
#[test]
fn the_laboratory_is_kept() {
    let loaded = load(data("laboratory.yaml")).unwrap();
    let text = loaded.config.to_lumina(&loaded.lab).unwrap();
    insta::assert_snapshot!("laboratory_exported", text);
    let again = from_yaml("again.yaml", &text, None).unwrap();
    assert_eq!((&again.config, &again.lab), (&loaded.config, &loaded.lab));
    assert_eq!(again.config.to_lumina(&again.lab).unwrap(), text);
    // For another laboratory, it is the same test.
    let other = loaded.config.to_lumina(&Lab::default()).unwrap();
    assert_eq!(from_yaml("other.yaml", &other, None).unwrap().config, loaded.config);
}

#[test]
fn a_wrong_laboratory_is_refused_where_it_is_wrong() {
    for (line, expected) in [
        ("rewrite-udp-dst-port: 70000", "rewrite-udp-dst-port"),
        ("num-repeats: often", "num-repeats"),
        ("switch: {username: [a]}", "switch.username"),
        ("requester-mirror: {pkt-dump-conf: {snap-len: -1}}", "requester-mirror.pkt-dump-conf.snap-len"),
    ] {
        let errors = from_yaml("f.yaml", &format!("{line}\ntraffic:\n  num-qps: 1\n"), None).unwrap_err();
        assert_eq!(errors.problems.len(), 1, "{errors}");
        assert!(errors.to_string().contains(expected), "{errors}");
    }
}

#[test]
fn the_caller_can_choose_the_dialect() {
    let text = "traffic:\n  num-qps: 1\n  data-pkt-events: [{qpn: 1, psn: 100, type: drop}]\n";
    let config = from_yaml("f.yaml", text, Some(Dialect::Paper)).unwrap().config;
    assert_eq!(config.events, [one(1, 100, 1, Action::DROP)]);
    let errors = from_yaml("f.yaml", text, None).unwrap_err();
    assert_eq!(errors.problems.len(), 2, "{errors}");
}

#[test]
fn events_listed_for_every_message_fold_back() {
    let toml = r#"
        [requester]
        nic = "cx5"
        [responder]
        nic = "cx6-dx"
        [traffic]
        num-msgs-per-qp = 3
        message-size = 2048
        iter-mode = "per-message"
        [[event]]
        qpn = "all"
        psn = 6
        type = "drop"
        [[event]]
        qpn = 1
        psn = 2
        every = 2
        count = 2
        type = "drop"
    "#;
    let config = corpus::from_toml("f.toml", toml).unwrap();
    let text = config.to_lumina(&Lab::default()).unwrap();
    assert!(text.ends_with("data-pkt-events:\n    - {qpn: 0, psn: 1, type: drop, iter: 1}\n"), "{text}");
}

#[test]
fn export_names_everything_that_lumina_cannot_say() {
    let toml = r#"
        [requester]
        nic = "reference"
        traffic-class = [0, 1]
        ets = { weights = [50, 50] }
        [responder]
        nic = "e810"
        traffic-class = 1
        [responder.roce-parameters]
        dcqcn-rp-enable = false
        [traffic]
        num-connections = 2
        rdma-verb = "send_read"
        tx-depth = 4
        recv-depth = 1
        rnr-retry = 3
        min-rnr-timer = 1
        max-rd-atomic = 1
        initial-psn = 0xfffff0
        seed = 9
        [[event]]
        qpn = 1
        psn = 5
        type = "drop"
        [[event]]
        qpn = 2
        psn = 4
        type = "ecn"
        [[event]]
        qpn = 1
        packet = "nak"
        nth = 1
        type = "delay"
        delay-us = 3
        [[event]]
        qpn = "all"
        psn = 6
        type = "set-field"
        field = "mig-req"
        value = 1
    "#;
    let config = corpus::from_toml("f.toml", toml).unwrap();
    insta::assert_snapshot!("export_refusals", config.to_lumina(&Lab::default()).unwrap_err());
}

#[test]
fn defaults_are_not_sayable_for_one_reason_only() {
    let refusals = TestConfig::default().to_lumina(&Lab::default()).unwrap_err();
    let fields: Vec<&str> = refusals.0.iter().map(|refusal| refusal.field.as_str()).collect();
    assert_eq!(fields, ["requester.nic", "responder.nic"]);
}

#[test]
fn long_comments_do_no_harm() {
    let comments = "    # - {qpn: 0, psn: 4, type: ecn, iter: 1}\n".repeat(500);
    let event = "    - {qpn: 0, psn: 4, type: ecn, iter: 1}\n";
    let text =
        format!("traffic:\n  num-qps: 1\n  data-pkt-events:\n{comments}{event}{comments}  mtu: 1024\n");
    assert_eq!(from_yaml("f.yaml", &text, None).unwrap().config.events.len(), 1);
    let none = format!("traffic:\n  num-qps: 1\n  data-pkt-events:\n{comments}");
    assert_eq!(from_yaml("f.yaml", &none, None).unwrap().config.events, []);
}

/// A test says what it is in each of its fields: none is left out without a word.
#[test]
fn export_names_every_field_of_the_traffic_that_lumina_does_not_have() {
    // Its rounds are those of `per-message`, so that events decide about the other mode.
    let is_its_own = |field: &&TrafficField| field.key == TrafficField::ITER_MODE.key;
    for field in TrafficField::ALL.iter().filter(|field| field.files != Files::All && !is_its_own(field)) {
        let mut config = corpus::from_toml("f.toml", "[traffic]\nnum-connections = 2\n").unwrap();
        let other = if (field.get)(&config.traffic) == 1 { 2 } else { 1 };
        (field.set)(&mut config.traffic, other);
        let refused = config.to_lumina(&Lab::default()).unwrap_err().to_string();
        assert!(refused.contains(&format!("{}:", field.path())), "{}: {refused}", field.key);
    }
}
