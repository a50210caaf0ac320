//! Rules on the network: losses and copies that can happen, and no setting without them.

use std::fmt;

use super::events::{LOAD, cnps_exist, members_exist};
use super::{Check, plural};
use crate::config::{
    Action, ConnectionSet, ControlPacket, Copies, LossModel, Network, Path, Repeat, Role, Spray, Target,
    TestConfig, Verb,
    fields::{self, CORRUPTED_LINKS_PERCENT, LINKS, LOSS_PPB},
};

pub(super) fn check(config: &TestConfig, check: &mut Check) {
    let network = &config.network;
    for number in Network::NUMBERS {
        if let Some(value) = (number.get)(network) {
            check.bounds(path(number.field.key), value, number.field);
        }
    }
    repeat(config, check);
    paths(network, check);
    // A number out of bounds has been reported; going through its connections could take for ever.
    let count = config.traffic.load.connections();
    if !fields::NUM_CONNECTIONS.allows(count.into()) {
        return;
    }
    let exist = members_exist(&network.loss_qpn, count, format_args!("network.loss-qpn"), check);
    if !network.loses() {
        return nothing_is_lost(network, check);
    }
    for (field, value) in
        [(&LINKS, network.links), (&CORRUPTED_LINKS_PERCENT, network.corrupted_links_percent)]
    {
        if value == 0 {
            let message =
                format!("nothing can be lost where {} is 0, and loss-ppb is {}", field.key, network.loss_ppb);
            fail(field.key, message, "raise it, or set loss-ppb to 0", LOSS_PPB.key, check);
        }
    }
    if network.loss_model == LossModel::PerPacket && network.loss_bytes.is_some() {
        let message = "means nothing with loss-model \"per-packet\", which loses packets of any size alike";
        let help = "remove it, or set loss-model to \"per-bit\"";
        fail(fields::LOSS_BYTES.key, message, help, "loss-model", check);
    }
    if exist {
        kinds(config, check);
    }
}

fn path(key: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "network.{key}"))
}

/// A setting that contradicts another one, or means nothing because of it.
fn fail(key: &str, message: impl Into<String>, help: &str, rests_on: &str, check: &mut Check) {
    check.fail(path(key), message, help, &[&path(rests_on).to_string()]);
}

/// Paths, and settings that need them.
fn paths(network: &Network, check: &mut Check) {
    let default = Network::default();
    if network.paths.len() > Path::MOST {
        let message = format!("there are {} paths", network.paths.len());
        return check.fail(path("path"), message, format!("at most {} are allowed", Path::MOST), &[]);
    }
    for (number, one) in (1..).zip(&network.paths) {
        let field = |key| fmt::from_fn(move |f| write!(f, "network.path[{number}].{key}"));
        for number in Path::NUMBERS {
            check.bounds(field(number.field.key), (number.get)(one), number.field);
        }
        if one.rate_gbps == 0 && one.queue_packets != Path::default().queue_packets {
            let message = "means nothing on a path without a rate, at which nothing waits";
            let [queue, rate] =
                [fields::QUEUE_PACKETS, fields::RATE_GBPS].map(|of| format!("path[{number}].{}", of.key));
            fail(&queue, message, "set rate-gbps, or remove it", &rate, check);
        }
    }
    let given = [
        ("spray", network.spray != default.spray, network.spray.name()),
        ("spray-packets", network.spray_packets != default.spray_packets, network.spray_packets.name()),
    ];
    for (key, _, name) in given.into_iter().filter(|(_, given, _)| *given && network.paths.len() < 2) {
        let message = format!("\"{name}\" needs two paths, and there are {}", network.paths.len());
        fail(key, message, "add [[network.path]], or remove it", "path", check);
    }
    check.bounds(path(fields::FLOWLET_GAP_NS.key), network.flowlet_gap_ns, &fields::FLOWLET_GAP_NS);
    if network.flowlet_gap_ns != default.flowlet_gap_ns && network.spray != Spray::Flowlet {
        let message = format!("means nothing with spray \"{}\"", network.spray.name());
        let help = "set spray to \"flowlet\", or remove it";
        fail(fields::FLOWLET_GAP_NS.key, message, help, "spray", check);
    }
}

/// Copies, and events that name them.
fn repeat(config: &TestConfig, check: &mut Check) {
    let repeat = &config.network.repeat;
    for number in Repeat::NUMBERS {
        check.bounds(repeat_path(number.field.key), (number.get)(repeat), number.field);
    }
    if repeat.matching != Repeat::default().matching && repeat.retransmissions <= 1 {
        let message = "means nothing where no retransmission is copied: retransmissions is 1";
        let help = "raise retransmissions, or remove it";
        fail("repeat.match", message, help, &format!("repeat.{}", fields::RETRANSMISSIONS.key), check);
    }
    for (number, event) in (1..).zip(&config.events) {
        let Action::Drop(copies @ (Copies::All | Copies::One(_))) = event.action else { continue };
        let path = format!("event[{number}].{}", Copies::KEY);
        let kind = match event.target {
            Target::Data { .. } => None,
            Target::Control { packet, .. } => Some(packet),
        };
        let most = repeat.copies_of(kind);
        let named = match copies {
            Copies::One(copy) if !check.bounds(&path, copy, &fields::COPY) => continue,
            Copies::One(copy) => copy,
            Copies::All | Copies::Original => 1,
        };
        if named > most {
            let name = kind.map_or("data", ControlPacket::name);
            let message = match most {
                0 => format!("the network makes no copy of {name} packets"),
                most => {
                    format!("there is no copy {named}: the network makes {most} of a packet of kind {name}")
                }
            };
            let help = match kind {
                None => "raise retransmissions or tails of [network.repeat], or remove it",
                Some(ControlPacket::Nak) => "raise naks of [network.repeat], or remove it",
                Some(_) => "remove it; only sequence NAKs and data packets have copies",
            };
            let rests_on = Repeat::NUMBERS.iter().map(|number| repeat_path(number.field.key).to_string());
            let rests_on: Vec<String> = rests_on.collect();
            let rests_on: Vec<&str> = rests_on.iter().map(String::as_str).collect();
            check.fail(path, message, help, &rests_on);
        }
    }
}

fn repeat_path(key: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "network.repeat.{key}"))
}

/// Without losses their settings mean nothing.
fn nothing_is_lost(network: &Network, check: &mut Check) {
    let Network {
        loss_ppb: _,
        loss_model,
        loss_bytes,
        links,
        corrupted_links_percent,
        loss_packets,
        loss_direction,
        loss_qpn,
        loss_effect,
        seed,
        repeat: _,
        paths: _,
        spray: _,
        flowlet_gap_ns: _,
        spray_packets: _,
        pfc: _,
    } = network;
    let default = Network::default();
    let given = [
        ("loss-model", *loss_model != default.loss_model),
        (fields::LOSS_BYTES.key, loss_bytes.is_some()),
        (LINKS.key, *links != default.links),
        (CORRUPTED_LINKS_PERCENT.key, *corrupted_links_percent != default.corrupted_links_percent),
        ("loss-packets", *loss_packets != default.loss_packets),
        ("loss-direction", *loss_direction != default.loss_direction),
        ("loss-qpn", *loss_qpn != default.loss_qpn),
        ("loss-effect", *loss_effect != default.loss_effect),
        // Paths may be drawn.
        (fields::SEED.key, seed.is_some() && !network.sprays()),
    ];
    for (key, _) in given.into_iter().filter(|(_, given)| *given) {
        let message = "means nothing where nothing is lost: loss-ppb is 0";
        fail(key, message, "set loss-ppb, or remove it", LOSS_PPB.key, check);
    }
}

/// The test must have packets of some kind that can be lost.
fn kinds(config: &TestConfig, check: &mut Check) {
    let (network, load) = (&config.network, config.traffic.load);
    let messages = config.traffic.num_msgs_per_qp;
    let some = |may: &dyn Fn(u32) -> bool| network.loss_qpn.members(load.connections()).any(may);
    let carries = |verbs: &[Verb]| some(&|qpn| verbs.iter().any(|verb| load.carries(qpn, messages, *verb)));
    let travels = |kind: Option<ControlPacket>, towards: Role| match (kind, towards) {
        (None, towards) => some(&|qpn| load.sends_data(qpn, messages, towards.peer())),
        (Some(ControlPacket::Ack), Role::Requester) => carries(&[Verb::Write, Verb::Send]),
        (Some(ControlPacket::Nak), Role::Requester) => true,
        (Some(ControlPacket::ReadRequest), Role::Responder) => carries(&[Verb::Read]),
        // A notification point sends CNPs to the source of the data.
        (Some(ControlPacket::Cnp), towards) => cnps_exist(config, &network.loss_qpn, towards.peer()),
        (Some(ControlPacket::Ack | ControlPacket::Nak), Role::Responder)
        | (Some(ControlPacket::ReadRequest), Role::Requester) => false,
    };
    let exists = network.loss_packets.named().any(|(_, kind)| {
        Role::ALL.into_iter().any(|towards| network.loss_direction.has(towards) && travels(kind, towards))
    });
    if !exists {
        let names: Vec<&str> = network.loss_packets.named().map(|(name, _)| name).collect();
        let message = match names[..] {
            [] => "names no kind of packet".to_owned(),
            _ => format!(
                "packets that never exist: {} with loss-direction \"{}\" on {}",
                names.join(", "),
                network.loss_direction.name(),
                connections_named(&network.loss_qpn, load.connections()),
            ),
        };
        let help = "add a kind that the test has, as \"data\", or change loss-direction or loss-qpn";
        let rests_on = ["loss-direction", "loss-qpn"].map(|key| path(key).to_string());
        let mut rests_on: Vec<&str> = rests_on.iter().map(String::as_str).collect();
        rests_on.extend(LOAD);
        // Without marks there are no CNPs.
        rests_on.push("events");
        check.fail(path("loss-packets"), message, help, &rests_on);
    }
}

fn connections_named(set: &ConnectionSet, all: u32) -> String {
    match set {
        ConnectionSet::All => plural(all.into(), "connection"),
        ConnectionSet::One(qpn) => format!("connection {qpn}"),
        ConnectionSet::First(n) => format!("the first {}", plural((*n).into(), "connection")),
        ConnectionSet::List(list) => format!("{} of {}", list.len(), plural(all.into(), "connection")),
    }
}
