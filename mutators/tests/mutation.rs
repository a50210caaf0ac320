//! Random tests of shipped, random and degenerate spaces, and chains of mutants of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use corpus::config::Files;
use corpus::{Action, ActionKind, Host, Role, TestConfig, TrafficField, testing};
use mutators::{AXES, Axis, Kind, Mutation, SHIPPED, Target, Values, operators};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::{VOCABULARY, hosts, shipped, target};

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A random test and so many mutants, each of the one before; all of them are checked.
fn chain(target: &Target, seed: u64, length: usize) -> Vec<(TestConfig, Vec<&'static str>)> {
    let names: BTreeSet<&str> = operators().map(|operator| operator.name).collect();
    let mut rng = rng(seed);
    let mut tests = vec![(target.random(&hosts(), &mut rng), Vec::new())];
    assert_eq!(target.admits(&tests[0].0), Ok(()), "{}", tests[0].0);
    assert_nics(target, &tests[0].0);
    for _ in 0..length {
        let parent = &tests[tests.len() - 1].0;
        let Mutation::Changed(mutant) = target.mutate(parent, &mut rng) else { break };
        assert_ne!(mutant.config, *parent);
        assert_eq!(target.admits(&mutant.config), Ok(()), "{:?} of\n{parent}", mutant.operators);
        assert_nics(target, &mutant.config);
        assert!((1..=3).contains(&mutant.operators.len()));
        assert!(mutant.operators.iter().all(|name| names.contains(name)));
        tests.push((mutant.config, mutant.operators));
    }
    tests
}

/// The NICs that were given, each at its host or, where the target says so, at the other.
fn assert_nics(target: &Target, test: &TestConfig) {
    let nics = [&*test.requester.nic, &test.responder.nic];
    let [requester, responder] = hosts().map(|host| host.nic);
    let swaps = target.space.swaps_nics();
    assert!(nics == [&requester, &responder] || swaps && nics == [&responder, &requester], "{test}");
}

#[test]
fn children_of_shipped_targets_are_valid_inside_and_different() {
    for one in SHIPPED {
        let target = shipped(one.name);
        for seed in 0..40 {
            assert_eq!(chain(&target, seed, 100).len(), 101, "{}", one.name);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_tests() {
    let target = shipped("general");
    assert_eq!(chain(&target, 7, 50), chain(&target, 7, 50));
    assert_ne!(chain(&target, 7, 1), chain(&target, 8, 1));
}

/// The same on every machine and in every version: campaigns are repeated by their seed.
#[test]
fn a_chain_is_known() {
    let tests = chain(&shipped("noisy-neighbor"), 1, 12);
    let lineage: Vec<String> = tests
        .iter()
        .map(|(test, operators)| {
            let packets = test.traffic.total_packets();
            let (load, events) = (test.traffic.load, test.events.len());
            format!("{} -> {load:?}, {packets} packets, {events} events", operators.join(", "))
        })
        .collect();
    let last = &tests[tests.len() - 1].0;
    insta::assert_snapshot!(format!("{}\n\n{last}", lineage.join("\n")));
}

/// Everything that can be switched on, in a space that is small enough to be gone through.
fn small() -> String {
    let names: Vec<_> = ActionKind::ALL.iter().map(|kind| format!("{:?}", kind.name())).collect();
    let operands = ActionKind::ALL.iter().filter_map(|kind| Action::operand_of(*kind));
    let operands = operands.map(|operand| format!("{} = {{ min = 1, max = 4 }}\n", operand.field.key));
    let later = TrafficField::ALL.iter().filter(|field| field.files == Files::Later);
    let later = later.map(|field| {
        let values = match field.form {
            corpus::config::Form::Number(field) => {
                format!("{{ min = {}, max = {} }}", field.min, field.max.min(100))
            }
            corpus::config::Form::Word(words) => format!("{words:?}"),
            form => panic!("{form:?} has no values here"),
        };
        format!("{} = {values}\n", field.key)
    });
    let traffic = format!("[traffic]\n{}", later.collect::<String>());
    let small = SMALL.replacen("[traffic]\n", &traffic, 1);
    format!("{small}type = [{}]\n{}", names.join(", "), operands.collect::<String>())
}

/// It without the actions, and without the fields of the traffic that tests have not had from the first.
const SMALL: &str = r#"
    packet-cap = 400
    [traffic]
    rdma-verb = ["write", "read", "send", "send_read", "send_read_split"]
    num-connections = { min = 1, max = 12 }
    num-msgs-per-qp = { min = 1, max = 6 }
    mtu = [256, 512, 1024, 2048, 4096]
    message-size = { min = 0, max = 4_096 }
    multi-gid = [false, true]
    barrier-sync = [false, true]
    tx-depth = { min = 1, max = 4 }
    min-retransmit-timeout = [10, 14]
    max-retransmit-retry = { min = 0, max = 7 }
    recv-depth = { min = 1, max = 8 }
    rnr-retry = [0, 7]
    min-rnr-timer = [1, 12]
    max-rd-atomic = { min = 1, max = 4 }
    initial-psn = ["random", 0, 0xff_ffff]
    iter-mode = ["paper", "per-message"]
    seed = { min = 1, max = 4 }
    [network]
    loss-ppb = [0, 1_000_000, 100_000_000]
    loss-model = ["per-bit", "per-packet"]
    links = { min = 1, max = 3 }
    corrupted-links-percent = [50, 100]
    loss-packets = ["all", "data", "ack", "nak", "cnp", "read-request"]
    loss-direction = ["both", "to-responder", "to-requester"]
    loss-effect = ["drop", "corrupt"]
    repeat-naks = { min = 1, max = 3 }
    repeat-retransmissions = { min = 1, max = 3 }
    repeat-tails = { min = 1, max = 3 }
    repeat-match = ["psn", "connection"]
    paths = { min = 0, max = 3 }
    path-delay-ns = [0, 6_000]
    path-rate-gbps = [0, 40]
    spray = ["flow", "flowlet", "packet", "round-robin"]
    flowlet-gap-ns = [1_000, 50_000]
    spray-packets = ["all", "data"]
    pfc = [false, true]
    [hosts]
    addresses = { min = 1, max = 3 }
    dcqcn-np-enable = [false, true]
    dcqcn-rp-enable = [false, true]
    min-time-between-cnps = [0, 4]
    adaptive-retrans = [false, true]
    slow-restart = [false, true]
    loss-recovery = ["go-back-n", "selective-repeat"]
    classes = { min = 0, max = 4 }
    ets-weights = [1, 50, 100]
    strict-classes = { min = 0, max = 4 }
    swap-nics = true
    [offload]
    hosts = ["none", "requester", "responder", "both"]
    flows = { min = 1, max = 24 }
    egress-masks = { min = 1, max = 3 }
    ingress-masks = { min = 1, max = 3 }
    place = ["spread", "first", "last", "apart"]
    tables = { min = 1, max = 3 }
    actions = { min = 0, max = 2 }
    vxlan = [false, true]
    virtual-functions = { min = 1, max = 3 }
    max-idle-ms = [1_000, 10_000]
    revalidate-ms = [1, 500]
    scheduler = ["ovs", "hyper"]
    hyper-entries = [1, 4_096]
    operations = 2
    do = ["add-flows", "remove-flows", "add-masks", "unbind-vf", "stop-connections"]
    count = { min = 1, max = 4 }
    at-ms = [0, 500]
    [events]
    max-entries = 6
    rounds = { min = 1, max = 3 }
    qpn = ["one", "list", "first", "all"]
    packet = ["data", "ack", "nak", "cnp", "read-request"]
    iter = { min = 1, max = 4 }
    nth = { min = 1, max = 4 }
    progression = ["none", "count", "to-the-end"]
    every = { min = 1, max = 8 }
    count = { min = 2, max = 5 }
    value = [0, 1]
"#;

/// Traffic classes of a host, under the names of the axes; of the weights one.
fn classes(host: &Host) -> toml::Table {
    let ets = host.ets.clone().unwrap_or_default();
    let weights: Vec<u8> = ets.weights.iter().copied().filter(|weight| *weight > 0).collect();
    let number = |number: usize| toml::Value::Integer(number as i64);
    let mut classes = toml::Table::from_iter([
        ("classes".to_owned(), number(weights.len() + ets.strict.len())),
        ("strict-classes".to_owned(), number(ets.strict.len())),
    ]);
    if let Some(weight) = weights.first() {
        classes.insert("ets-weights".into(), number((*weight).into()));
    }
    classes
}

/// Numbers of a test, by the path of the axis that they are values of.
fn seen(test: &TestConfig) -> Vec<(String, String)> {
    let value: toml::Table = test.to_toml().parse().unwrap();
    let mut seen = Vec::new();
    let mut section = |name: &str, table: &toml::Table| {
        for (key, value) in table {
            let form = match (key.as_str(), value) {
                ("qpn", toml::Value::Integer(_)) => "one".to_owned(),
                ("qpn", toml::Value::Array(_)) => "list".to_owned(),
                ("qpn", toml::Value::Table(_)) => "first".to_owned(),
                ("num-connections", toml::Value::Table(_)) => "pair".to_owned(),
                (key, toml::Value::Integer(us)) if key.ends_with("-us") => (us * 1_000).to_string(),
                ("loss-packets", toml::Value::Array(kinds)) => match &kinds[..] {
                    [only] => only.as_str().unwrap().to_owned(),
                    _ => "all".to_owned(),
                },
                (_, toml::Value::String(word)) => word.clone(),
                (_, value) => value.to_string(),
            };
            seen.push((format!("{name}.{}", key.replace("-us", "-ns")), form));
        }
    };
    section("traffic", value["traffic"].as_table().unwrap());
    let without_losses = toml::Table::from_iter([("loss-ppb".to_owned(), toml::Value::Integer(0))]);
    let mut network = value.get("network").and_then(toml::Value::as_table).unwrap_or(&without_losses).clone();
    let copies = match network.remove("repeat") {
        Some(toml::Value::Table(copies)) => copies,
        _ => ["naks", "retransmissions", "tails"]
            .map(|key| (key.to_owned(), toml::Value::Integer(1)))
            .into_iter()
            .collect(),
    };
    let paths = match network.remove("path") {
        Some(toml::Value::Array(paths)) => paths,
        _ => Vec::new(),
    };
    network.insert("paths".into(), toml::Value::Integer(paths.len() as i64));
    for (key, axis) in [("delay-ns", "path-delay-ns"), ("rate-gbps", "path-rate-gbps")] {
        if let Some(path) = paths.last() {
            network.insert(axis.into(), path[key].clone());
        }
    }
    // Without it the text does not say so.
    network.entry("pfc").or_insert(false.into());
    network.extend(copies.into_iter().map(|(key, value)| (format!("repeat-{key}"), value)));
    section("network", &network);
    for role in Role::ALL {
        let mut roce = value[role.name()]["roce-parameters"].as_table().unwrap().clone();
        // Without it the text does not say so.
        roce.entry("loss-recovery").or_insert("go-back-n".into());
        section("hosts", &roce);
        section("hosts", &classes(test.host(role)));
    }
    let hosts = Role::ALL.map(|role| test.host(role).offload.is_some());
    let hosts = ["none", "requester", "responder", "both"][usize::from(hosts[0]) + 2 * usize::from(hosts[1])];
    section("offload", &toml::Table::from_iter([("hosts".to_owned(), hosts.into())]));
    for role in Role::ALL {
        if let Some(table) = value[role.name()].get("offload").and_then(toml::Value::as_table) {
            let mut table = table.clone();
            // Without it the text does not say so.
            table.entry("tables").or_insert(1.into());
            section("offload", &table);
        }
    }
    for control in value.get("control").into_iter().flat_map(|controls| controls.as_array().unwrap()) {
        section("offload", control.as_table().unwrap());
    }
    for event in value.get("event").into_iter().flat_map(|events| events.as_array().unwrap()) {
        let mut event = event.as_table().unwrap().clone();
        event.entry("packet").or_insert("data".into());
        section("events", &event);
    }
    seen
}

#[test]
fn chains_reach_every_corner_with_every_operator() {
    let target = target(&small());
    let (mut corners, mut applied) = (BTreeSet::new(), BTreeSet::new());
    let (mut totals, mut addresses) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..10 {
        for (test, operators) in chain(&target, seed, 3_000) {
            corners.extend(seen(&test));
            applied.extend(operators);
            totals.insert(test.traffic.total_packets());
            if test.traffic.multi_gid {
                addresses.insert((test.requester.ip_list.len(), test.responder.ip_list.len()));
            }
        }
    }
    assert_eq!(addresses.len(), 8, "all but one each: {addresses:?}");
    let never: Vec<_> = operators().filter(|operator| !applied.contains(operator.name)).collect();
    assert!(never.is_empty(), "{never:?}");
    for entry in AXES {
        let values = target.space.values(entry.axis);
        let ends = match (entry.axis, values) {
            // Not in a test's text under this name.
            (
                Axis::Addresses
                | Axis::MaxEntries
                | Axis::Innocent
                | Axis::SwapNics
                | Axis::Rounds
                | Axis::Operations,
                _,
            ) => {
                continue;
            }
            (Axis::Progression, _) => continue,
            (_, Values::Range { min, max }) => vec![*min, *max],
            (_, Values::List(list)) => list.clone(),
        };
        // A text does not have these at their default.
        let is_unsaid = |end: u64| {
            let later = TrafficField::ALL.iter().filter(|field| field.files == Files::Later);
            later.into_iter().any(|field| entry.path == field.path().to_string() && end == field.default)
        };
        for end in ends.into_iter().filter(|end| !is_unsaid(*end)) {
            let word = match entry.kind {
                Kind::Words(words) => words[end as usize].replace("_split", ""),
                Kind::Flags => (end != 0).to_string(),
                // That it is random is not said.
                Kind::NumberOrRandom(field) if end > field.max => continue,
                _ => end.to_string(),
            };
            let corner = (entry.path.to_owned(), word);
            assert!(corners.contains(&corner), "{corner:?} is never reached");
        }
    }
    for corner in [("traffic.num-connections", "pair"), ("events.count", "2"), ("events.every", "1")] {
        assert!(corners.contains(&(corner.0.to_owned(), corner.1.to_owned())), "{corner:?}");
    }
    // A message mostly has dummies, so that a test of one packet is rare.
    let small = small();
    let without_dummies: Vec<_> = small.lines().filter(|line| !line.starts_with("dummy-headers")).collect();
    let bare = self::target(&without_dummies.join("\n"));
    for seed in 0..10 {
        totals.extend(chain(&bare, seed, 1_000).iter().map(|(test, _)| test.traffic.total_packets()));
    }
    assert_eq!((totals.first(), totals.last()), (Some(&1), Some(&400)));
}

/// A target that draws one operator only, in the small space.
fn only(operator: &str) -> Target {
    let weights = operators().map(|one| format!("{} = {}\n", one.name, u8::from(one.name == operator)));
    target(&format!("{}[operators]\n{}", small(), weights.collect::<String>()))
}

#[test]
fn an_operator_changes_what_it_says_and_nothing_else() {
    /// An operator, and what puts its change back.
    type Case = (&'static str, fn(&mut TestConfig, &TestConfig));
    let cases: [Case; 13] = [
        ("seed", |child, parent| child.traffic.seed = parent.traffic.seed),
        ("timeout", |child, parent| {
            child.traffic.min_retransmit_timeout = parent.traffic.min_retransmit_timeout;
        }),
        ("initial-psn", |child, parent| child.traffic.initial_psn = parent.traffic.initial_psn),
        ("senders", |child, parent| {
            assert_eq!(child.traffic.load.connections(), parent.traffic.load.connections());
            child.traffic.load = parent.traffic.load;
        }),
        ("tx-depth-full", |child, parent| {
            assert_eq!(child.traffic.tx_depth, child.traffic.num_msgs_per_qp.min(4));
            child.traffic.tx_depth = parent.traffic.tx_depth;
        }),
        ("event-remove", |child, parent| child.events.clone_from(&parent.events)),
        ("set-same", |child, parent| {
            for (event, before) in child.events.iter_mut().zip(&parent.events) {
                event.connections = before.connections.clone();
            }
        }),
        ("addresses", |child, parent| {
            for role in Role::ALL {
                child.host_mut(role).ip_list.clone_from(&parent.host(role).ip_list);
            }
        }),
        ("swap-nics", |child, parent| {
            assert_ne!(child.requester.nic, parent.requester.nic);
            mutators::swap_nics(child);
        }),
        ("classes-spread", |child, parent| {
            assert_eq!(child.requester.traffic_class, child.responder.traffic_class);
            for role in Role::ALL {
                child.host_mut(role).traffic_class.clone_from(&parent.host(role).traffic_class);
            }
        }),
        ("ets-equal", |child, parent| {
            let weights = |test: &TestConfig| test.requester.ets.clone().unwrap().weights;
            assert_eq!(weights(child).len(), weights(parent).len());
            let mut weights: Vec<u8> = weights(child).into_iter().filter(|weight| *weight > 0).collect();
            weights.dedup();
            assert_eq!(weights.len(), 1);
            for role in Role::ALL {
                child.host_mut(role).ets.clone_from(&parent.host(role).ets);
            }
        }),
        ("adaptive-retrans", |child, parent| {
            for role in Role::ALL {
                child.host_mut(role).roce = parent.host(role).roce;
            }
        }),
        ("cnp-interval", |child, parent| {
            for role in Role::ALL {
                child.host_mut(role).roce = parent.host(role).roce;
            }
        }),
    ];
    let all = target(&small());
    for (name, put_back) in cases {
        let one = only(name);
        let mut changed = 0;
        for (parent, _) in chain(&all, 3, 1_500) {
            let Mutation::Changed(mutant) = one.mutate(&parent, &mut rng(1)) else { continue };
            assert!(mutant.operators.iter().all(|operator| *operator == name));
            let mut child = mutant.config;
            put_back(&mut child, &parent);
            // Events whose packet exists no more, or that contradict others now, go with it.
            if child.events.len() == parent.events.len() {
                assert_eq!(child, parent, "{name}");
                changed += 1;
            }
        }
        assert!(changed > 20, "{name}: {changed}");
    }
}

#[test]
fn a_space_of_one_point_has_one_test_and_no_mutants() {
    let one = target("");
    let [requester, responder] = hosts();
    let point = TestConfig { requester, responder, ..TestConfig::default() };
    assert_eq!(one.random(&hosts(), &mut rng(1)), point);
    assert_eq!(one.mutate(&point, &mut rng(1)), Mutation::NotApplicable);
    let off = operators().map(|operator| format!("{} = 0\n", operator.name)).collect::<String>();
    let none = target(&format!("{}[operators]\n{off}", small()));
    assert_eq!(none.mutate(&point, &mut rng(1)), Mutation::NotApplicable);
}

#[test]
fn what_only_a_rare_operator_can_change_is_changed() {
    let rare = target("traffic.seed = [1, 2]\n[operators]\nseed = 1e-6\n");
    for seed in 0..50 {
        let test = rare.random(&hosts(), &mut rng(seed));
        let Mutation::Changed(mutant) = rare.mutate(&test, &mut rng(seed)) else { panic!("not applicable") };
        assert_eq!((mutant.config.traffic.seed, &mutant.operators[..]), (2, &["seed"][..]));
    }
}

/// An operator that is new must not move what a seed gives, but for the tests that it makes itself.
#[test]
fn an_operator_moves_only_the_mutants_that_it_makes() {
    let all = target(&small());
    let parents = chain(&all, 5, 1_200);
    for name in ["event-add", "mtu", "packet-near"] {
        let without = target(&format!("{}[operators]\n{name} = 0\n", small()));
        let mut made = 0;
        for (seed, (parent, _)) in parents.iter().enumerate() {
            let with = all.mutate(parent, &mut rng(seed as u64));
            let Mutation::Changed(mutant) = &with else { panic!("not applicable") };
            if mutant.operators.contains(&name) {
                made += 1;
            } else {
                assert_eq!(with, without.mutate(parent, &mut rng(seed as u64)), "{name}, seed {seed}");
            }
        }
        assert!((1..parents.len() / 4).contains(&made), "{name}: {made} of {}", parents.len());
    }
}

/// Only a packet that is lost whenever it is sent ends a QP.
#[test]
fn losses_go_on_for_round_after_round() {
    let rounds = target(&small().replace("rounds = { min = 1, max = 3 }", "rounds = 4"));
    let mut longest = 0;
    for seed in 0..200 {
        let test = rounds.random(&hosts(), &mut rng(seed));
        for event in &test.events {
            let corpus::Target::Data { psn, iter } = event.target else { continue };
            let again = |iter| corpus::Event { target: corpus::Target::Data { psn, iter }, ..event.clone() };
            let count = (iter..).take_while(|iter| test.events.contains(&again(*iter))).count();
            longest = longest.max(count);
        }
    }
    assert_eq!(longest, 4);
}

#[test]
fn innocent_connections_stay_and_losses_are_shared() {
    let target = shipped("noisy-neighbor");
    let mut shared = BTreeMap::new();
    for seed in 0..300 {
        for (test, _) in chain(&target, seed, 20) {
            let connections = test.traffic.load.connections();
            let hit = (1..=connections)
                .filter(|qpn| test.events.iter().any(|event| event.connections.contains(*qpn)))
                .count();
            assert!(hit < connections as usize);
            *shared.entry(hit >= 11).or_insert(0) += 1;
        }
    }
    // The paper's anomaly takes a dozen at once.
    assert!(shared[&true] * 4 > shared[&false], "{shared:?}");
}

/// A space as text: each axis with its default, one value, a list or a range, of numbers that keep tests small.
fn spaces() -> impl Strategy<Value = String> {
    let axes: Vec<BoxedStrategy<String>> = AXES.iter().map(axis).collect();
    (axes, 1..3_000_u32).prop_map(|(lines, cap)| {
        let lines: String = lines.concat();
        format!("packet-cap = {cap}\n{lines}")
    })
}

fn axis(entry: &'static mutators::Entry) -> BoxedStrategy<String> {
    let numbers = |min: u64, max: u64| {
        // Without links, or where none loses packets, losses contradict themselves.
        let min = if matches!(entry.axis, Axis::Links | Axis::CorruptedLinks) { 1 } else { min };
        // Small ones, and ends.
        let most = match entry.axis {
            Axis::Connections | Axis::Messages => 40,
            Axis::MessageSize => 20_000,
            Axis::MaxEntries => 8,
            // More contradict most of the numbers of classes.
            Axis::StrictClasses => 1,
            _ => max,
        };
        let one = prop_oneof![Just(min), min..=most.min(min + 30), Just(most)];
        let list = prop::collection::btree_set(one.clone(), 1..4)
            .prop_map(|set| format!("{:?}", set.into_iter().collect::<Vec<_>>()));
        let range = (one.clone(), one.clone())
            .prop_map(|(a, b)| format!("{{ min = {}, max = {} }}", a.min(b), a.max(b)));
        prop_oneof![one.prop_map(|one| one.to_string()), list, range].boxed()
    };
    let words = |words: Vec<String>| {
        let count = words.len();
        let first = words[0].clone();
        subsequence(words, 1..=count)
            .prop_map(move |mut some| {
                // Not every test has what the others stand for.
                let is_needed = matches!(entry.axis, Axis::LossPackets | Axis::LossDirection);
                if is_needed && !some.contains(&first) {
                    some.insert(0, first.clone());
                }
                format!("[{}]", some.join(", "))
            })
            .boxed()
    };
    let values = match entry.kind {
        Kind::Number(field) | Kind::NumberOrRandom(field) => numbers(field.min, field.max),
        Kind::Limit(_) => select(vec!["0", "1", "8"]).prop_map(str::to_owned).boxed(),
        Kind::OneOf(list) => words(list.iter().map(ToString::to_string).collect()),
        Kind::Words(list) => words(list.iter().map(|word| format!("{word:?}")).collect()),
        Kind::Flags => words(vec!["false".into(), "true".into()]),
        Kind::Switch => select(vec!["false", "true"]).prop_map(str::to_owned).boxed(),
    };
    prop_oneof![1 => Just(String::new()), 2 => values.prop_map(|values| format!("{} = {values}\n", entry.path))]
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn children_of_random_targets_are_valid_inside_and_different(text in spaces(), seed in any::<u64>()) {
        match Target::from_toml("random.toml", &text, VOCABULARY) {
            Ok(target) => {
                prop_assert_eq!(chain(&target, seed, 30), chain(&target, seed, 30));
                let again = Target::from_toml("again.toml", &target.to_toml(), VOCABULARY).unwrap();
                prop_assert_eq!(again, target);
            }
            // Values by themselves are right.
            Err(error) => {
                let text = error.to_string();
                let contradictions =
                    ["valid test", "connection", "address", "outstanding", "such a packet", "strict", "is so long"];
                prop_assert!(contradictions.iter().any(|word| text.contains(word)), "{}", text);
            }
        }
    }

    #[test]
    fn children_of_tests_from_elsewhere_are_inside(parent in testing::configs(), seed in any::<u64>()) {
        for target in SHIPPED.iter().map(|one| shipped(one.name)).chain([target(&small()), target("")]) {
            let mut rng = rng(seed);
            if let Mutation::Changed(mutant) = target.mutate(&parent, &mut rng) {
                prop_assert_eq!(target.admits(&mutant.config), Ok(()));
                prop_assert!(mutant.config != parent);
            } else {
                prop_assert_eq!(&target.name, "target");
            }
        }
    }
}
