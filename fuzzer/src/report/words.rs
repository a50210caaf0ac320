//! A test in words.

use std::collections::{BTreeMap, BTreeSet};

use corpus::config::fields;
use corpus::{
    Action, ControlPacket, Copies, DummyRule, Ets, Event, HeaderField, Host, Load, LossDirection, LossEffect,
    LossModel, Network, PacketKinds, Progression, Repeat, RepeatMatch, SetField, Spray, SprayPackets, Target,
    TestConfig, Traffic, TrafficClass, Verb, plural,
};
use dumper::Nanos;
use scoring::ExpiryCause;

use super::brief;

/// Fields that the sentences on traffic and NICs say.
const SAID: [&str; 10] = [
    "nic",
    "num-connections",
    "rdma-verb",
    "num-msgs-per-qp",
    "mtu",
    "message-size",
    "tx-depth",
    "barrier-sync",
    "traffic-class",
    "ets",
];

/// A test in a few sentences: the traffic, the injected events, and other unusual settings.
pub(crate) fn sentences(config: &TestConfig) -> String {
    let mut sentences = vec![traffic(&config.traffic)];
    sentences.extend(classes(config));
    sentences.extend(events(config));
    sentences.push(match unusual(config).as_slice() {
        [] => "All other parameters have their defaults.".into(),
        unusual => format!("Other values than the defaults: {}.", unusual.join(", ")),
    });
    sentences.join(" ")
}

/// `12 Reads`, one on each connection, or `12 connections of 10 Reads`.
pub(super) fn messages(traffic: &Traffic) -> String {
    let (connections, each) = (traffic.load.connections(), traffic.num_msgs_per_qp);
    let verb = match traffic.load {
        Load::Same { verb, .. } => self::verb(verb),
        Load::Alternating { .. } | Load::Split { .. } => {
            return format!("Sends and Reads on {}", plural(connections.into(), "connection"));
        }
    };
    match (connections, each) {
        (_, 1) => plural(connections.into(), verb),
        (1, _) => format!("{} on 1 connection", plural(each.into(), verb)),
        _ => format!("{connections} connections of {each} {verb}s"),
    }
}

/// Connections, given by their numbers: `connection 3`, `connections 1 to 4, 7`.
pub(super) fn numbers(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for number in numbers.into_iter().collect::<BTreeSet<_>>() {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let plural = if matches!(spans.as_slice(), [(first, last)] if first == last) { "" } else { "s" };
    let spans = spans.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    format!("connection{plural} {}", spans.collect::<Vec<_>>().join(", "))
}

const fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Write => "Write",
        Verb::Read => "Read",
        Verb::Send => "Send",
    }
}

fn traffic(traffic: &Traffic) -> String {
    let connections = traffic.load.connections();
    let who = match traffic.load {
        Load::Same { verb, .. } if connections == 1 => format!("One connection {}s", self::verb(verb)),
        Load::Same { verb, .. } => format!("{connections} connections each {}", self::verb(verb)),
        Load::Alternating { .. } if connections == 1 => "One connection Sends and Reads in turns".into(),
        Load::Alternating { .. } => format!("{connections} connections each Send and Read in turns"),
        Load::Split { send, .. } => {
            let (senders, readers) = (numbers(1..=send), numbers(send + 1..=connections));
            format!("Of {connections} connections, {senders} for Sends and {readers} for Reads, each has")
        }
    };
    let packets = plural(traffic.shape().own_packets().into(), "packet");
    let mut text = format!(
        "{who} {} of {} ({packets}{}, MTU {})",
        plural(traffic.num_msgs_per_qp.into(), "message"),
        plural(traffic.message_size.into(), "byte"),
        if traffic.num_msgs_per_qp == 1 { "" } else { " each" },
        traffic.mtu.bytes(),
    );
    if traffic.dummy_headers > 0 {
        let dummies = plural(traffic.dummy_headers.into(), "request");
        text += &match (traffic.dummy_idle_ns, traffic.dummy_rule) {
            (0, _) => format!(", behind each of them {dummies} of 0 bytes"),
            (idle, DummyRule::IdleAfter) => {
                format!(", behind each of them that nothing follows for {} {dummies} of 0 bytes", Nanos(idle))
            }
            (idle, DummyRule::GapBefore) => {
                format!(", before each of them that comes later than {} {dummies} of 0 bytes", Nanos(idle))
            }
        };
    }
    if traffic.tx_depth > 1 {
        text += &format!(", up to {} of them at a time", traffic.tx_depth);
    }
    if traffic.barrier_sync {
        text +=
            &format!(", and wait for each other after every {}", plural(traffic.tx_depth.into(), "message"));
    }
    text + "."
}

/// Traffic classes, of both hosts where they have the same.
fn classes(config: &TestConfig) -> Vec<String> {
    let (requester, responder) = (&config.requester, &config.responder);
    let connections = config.traffic.load.connections();
    let of = |whose: &str, host: &Host| {
        let classes = host.traffic_class.as_ref()?;
        Some(format!("The data of {whose} is in {}.", in_classes(classes, host.ets.as_ref(), connections)))
    };
    if (&requester.traffic_class, &requester.ets) == (&responder.traffic_class, &responder.ets) {
        return of("both hosts", requester).into_iter().collect();
    }
    [of("the requester", requester), of("the responder", responder)].into_iter().flatten().collect()
}

/// `two traffic classes of equal weight: class 0 has connection 1, class 1 has connection 2`
fn in_classes(classes: &TrafficClass, ets: Option<&Ets>, connections: u32) -> String {
    let numbers_of: Vec<u8> = (0..=fields::TRAFFIC_CLASS.max as u8)
        .filter(|class| classes.classes().contains(class) || ets.is_some_and(|ets| ets.serves(*class)))
        .collect();
    let weight_of =
        |class: u8| ets.and_then(|ets| ets.weights.get(usize::from(class))).filter(|one| **one > 0);
    let first = numbers_of.first().and_then(|class| weight_of(*class));
    let is_equal = first.is_some() && numbers_of.iter().all(|class| weight_of(*class) == first);
    if let [only] = numbers_of.as_slice() {
        return format!("traffic class {only}");
    }
    let each = numbers_of.iter().map(|class| {
        let gets = match (weight_of(*class), ets) {
            (Some(_), _) if is_equal => String::new(),
            (Some(weight), _) => format!(" of weight {weight}"),
            (None, Some(_)) => " with strict priority".into(),
            (None, None) => String::new(),
        };
        let members: Vec<u32> = (1..=connections).filter(|qpn| classes.of(*qpn) == Some(*class)).collect();
        let has = if members.is_empty() { "no connection".into() } else { numbers(members) };
        format!("class {class}{gets} has {has}")
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let (count, equal) = (NUMBERS[numbers_of.len() - 1], if is_equal { " of equal weight" } else { "" });
    format!("{count} traffic classes{equal}: {each}")
}

/// One for each number of traffic classes.
const NUMBERS: [&str; 8] = ["one", "two", "three", "four", "five", "six", "seven", "eight"];

/// The injected events, and the losses, copies, paths and flow control of the network, a sentence each.
#[must_use]
pub fn events(config: &TestConfig) -> Vec<String> {
    let connections = config.traffic.load.connections();
    let losses = losses(&config.network, connections);
    let copies = copies(&config.network.repeat);
    let mut said: Vec<String> = match &config.events[..] {
        [] if losses.is_none() => vec!["No packet has an event.".into()],
        events => events.iter().map(|one| event(one, connections)).chain(losses).collect(),
    };
    said.extend(copies);
    said.extend(paths(&config.network));
    said.extend(config.network.pfc.then(|| "All links have priority flow control.".to_owned()));
    said
}

/// `Packets take 2 paths (no delay; 10000 ns, at 40 Gb/s with room for 16 packets), drawn for each packet.`
fn paths(network: &Network) -> Option<String> {
    let each = network.paths.iter().map(|path| {
        let delay = if path.delay_ns == 0 { "no delay".into() } else { format!("{} ns", path.delay_ns) };
        let weight = if path.weight == 1 { String::new() } else { format!(", weight {}", path.weight) };
        let rate = match path.rate_gbps {
            0 => String::new(),
            gbps => {
                format!(", at {gbps} Gb/s with room for {}", plural(u64::from(path.queue_packets), "packet"))
            }
        };
        delay + &weight + &rate
    });
    let each: Vec<String> = each.collect();
    let spread = match (network.spray, network.spray_packets) {
        _ if each.len() < 2 => String::new(),
        (spray, packets) => {
            let choice = match spray {
                Spray::Flow => "drawn for each flow".into(),
                Spray::Flowlet => format!("drawn again after a pause of {} ns", network.flowlet_gap_ns),
                Spray::Packet => "drawn for each packet".into(),
                Spray::RoundRobin => "in turn".to_owned(),
            };
            let answers = if packets == SprayPackets::Data { "; all but data take the first" } else { "" };
            format!(", {choice}{answers}")
        }
    };
    let count = plural(each.len() as u64, "path");
    (!each.is_empty()).then(|| format!("Packets take {count} ({}){spread}.", each.join("; ")))
}

/// `The network sends NAKs twice, and the packets that they ask for 3 times (known by their PSN alone).`
fn copies(repeat: &Repeat) -> Option<String> {
    let again = match repeat.matching {
        RepeatMatch::Psn => "the packets that NAKs ask for (known by their PSN alone)",
        RepeatMatch::Connection => "the packets that NAKs ask for",
    };
    let kinds = [
        ("NAKs of sequence errors", repeat.naks),
        (again, repeat.retransmissions),
        ("packets that end a message", repeat.tails),
    ];
    let copied = kinds.into_iter().filter(|(_, packets)| *packets > 1);
    let copied: Vec<String> = copied.map(|(kind, packets)| format!("{kind} {}", times(packets))).collect();
    (!copied.is_empty()).then(|| format!("The network sends {}.", copied.join(", ")))
}

fn times(packets: u8) -> String {
    if packets == 2 { "twice".into() } else { format!("{packets} times") }
}

/// `At random, 1 % of the packets of connection 1 are lost if they are full, fewer of smaller ones, on each of 4 links.`
fn losses(network: &Network, connections: u32) -> Option<String> {
    if !network.loses() {
        return None;
    }
    let which = match network.loss_packets {
        PacketKinds::ALL => "packets".to_owned(),
        kinds => format!("{} packets", kinds.named().map(|(name, _)| name).collect::<Vec<_>>().join(", ")),
    };
    let way = match network.loss_direction {
        LossDirection::Both => "",
        LossDirection::ToResponder => " to the responder",
        LossDirection::ToRequester => " to the requester",
    };
    let done = match network.loss_effect {
        LossEffect::Drop => "lost",
        LossEffect::Corrupt => "corrupted",
    };
    let share = f64::from(network.loss_ppb) / 1e7;
    let size = match (network.loss_model, network.loss_bytes) {
        (LossModel::PerPacket, _) => String::new(),
        (LossModel::PerBit, None) => " if they are full, fewer of smaller ones".into(),
        (LossModel::PerBit, Some(bytes)) => format!(" if they have {bytes} bytes, fewer of smaller ones"),
    };
    let links = match (network.links, network.corrupted_links_percent) {
        (1, 100) => String::new(),
        (links, 100) => format!(", on each of {links} links"),
        (links, percent) => {
            format!(", on {}, each with a probability of {percent} %", plural(links.into(), "link"))
        }
    };
    let set = numbers(network.loss_qpn.members(connections));
    Some(format!("At random, {share} % of the {which}{way} of {set} are {done}{size}{links}."))
}

fn event(event: &Event, connections: u32) -> String {
    let (packet, number) = match event.target {
        Target::Data { psn, .. } => ("Data packet", psn),
        Target::Control { packet, nth } => (control(packet), nth),
    };
    let further = match event.progression {
        None => String::new(),
        Some(Progression { every, count }) => {
            let every = if every == 1 { "each".into() } else { format!("every {}", ordinal(every)) };
            let end = count.map_or_else(|| "to the end".into(), |count| format!("{count} in all"));
            format!(" and {every} after it ({end})")
        }
    };
    let set = numbers(event.connections.members(connections));
    let is = if event.progression.is_some() { "are" } else { "is" };
    let mut text = format!("{packet} {number}{further} of {set} {is} {}", done(event.action));
    if let Target::Data { iter: iter @ 2.., .. } = event.target {
        text += &format!(", when sent for the {} time", ordinal(iter));
    }
    text + "."
}

const fn control(packet: ControlPacket) -> &'static str {
    match packet {
        ControlPacket::Ack => "ACK",
        ControlPacket::Nak => "NAK",
        ControlPacket::Cnp => "CNP",
        ControlPacket::ReadRequest => "Read request",
    }
}

fn done(action: Action) -> String {
    match action {
        Action::Drop(Copies::Original) => "dropped".into(),
        Action::Drop(Copies::All) => "dropped with its copies".into(),
        Action::Drop(Copies::One(copy)) => format!("deprived of its copy {copy}"),
        Action::Ecn => "marked with ECN".into(),
        Action::Corrupt => "corrupted, so that the ICRC is wrong".into(),
        Action::Delay { ns } => format!("delayed by {}", Nanos(ns)),
        Action::Hold { ns } => format!("held for {}, with all behind it on its connection", Nanos(ns)),
        Action::Reorder { by } => {
            format!("held back until overtaken by {}", plural(by.into(), "later packet"))
        }
        Action::Duplicate { copies } => format!("sent {}", times(copies.saturating_add(1))),
        Action::SetField(SetField { field: HeaderField::Payload, value }) => {
            format!("cut to {} of payload", plural(value, "byte"))
        }
        Action::SetField(SetField { field, value }) if field.is_added() => {
            format!("given {} + {value}", word_of(field))
        }
        Action::SetField(SetField { field, value }) => format!("given {} = {value}", word_of(field)),
    }
}

/// A header field as maintainers write it.
const fn word_of(field: HeaderField) -> &'static str {
    match field {
        HeaderField::MigReq => "MigReq",
        HeaderField::Opcode => "opcode",
        HeaderField::Psn => "PSN",
        HeaderField::DestQpn => "destination QPN",
        HeaderField::AckReq => "AckReq",
        HeaderField::PartitionKey => "P_Key",
        HeaderField::PadCount => "pad count",
        HeaderField::UdpLength => "UDP length",
        HeaderField::IpLength => "IP length",
        HeaderField::RethAddress => "RETH address",
        HeaderField::RethKey => "RETH key",
        HeaderField::RethLength => "RETH length",
        HeaderField::AethSyndrome => "AETH syndrome",
        HeaderField::Msn => "MSN",
        HeaderField::Payload => "payload",
    }
}

/// Name of evidence for people: `uninvolved mct max` for `innocent-mct-max`.
pub(super) fn of_evidence(name: &str) -> String {
    name.replace('-', " ").replace("innocent", "uninvolved").replace("suffering", "stalled")
}

/// Causes of time-outs, and how many each has: `2 tail-lost, 1 ack-lost`.
pub(super) fn causes(causes: &BTreeMap<ExpiryCause, usize>) -> String {
    let each: Vec<String> =
        causes.iter().map(|(cause, number)| format!("{number} {}", cause.name())).collect();
    if each.is_empty() { "none".into() } else { each.join(", ") }
}

fn ordinal(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// Fields that no sentence says, as in a file, of which host where it is a host's.
fn unusual(config: &TestConfig) -> Vec<String> {
    let mut unusual = Vec::new();
    for section in brief::sections(config).iter().filter(|section| section.header != "[[event]]") {
        let host =
            section.header.trim_matches(['[', ']']).split('.').next().filter(|name| *name != "traffic");
        let is_network = section.header.trim_start_matches('[').starts_with("network");
        for line in &section.lines {
            // Of losses and paths the sentences say all but the seed.
            if is_network && !line.starts_with("seed =") {
                continue;
            }
            if !SAID.iter().any(|key| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(" ="))) {
                unusual.push(host.map_or_else(|| line.clone(), |host| format!("{line} of the {host}")));
            }
        }
    }
    unusual
}

/// A sentence with a capital letter at its start.
pub fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
