//! `[network]`.

use super::{HOMES, event};
use crate::{
    config::{
        LossDirection, LossEffect, LossModel, Network, PacketKinds, Path, Repeat, RepeatMatch, Spray,
        SprayPackets, fields,
    },
    source::{Reader, Section, Value},
};

pub(super) fn read(mut section: Section<'_>, r: &mut Reader<'_>) -> Network {
    let default = Network::default();
    let network = Network {
        loss_ppb: section.int(r, &fields::LOSS_PPB),
        loss_model: section.opt_choice(r, "loss-model", LossModel::NAMES).unwrap_or(default.loss_model),
        loss_bytes: section.opt_int(r, &fields::LOSS_BYTES),
        links: section.int(r, &fields::LINKS),
        corrupted_links_percent: section.int(r, &fields::CORRUPTED_LINKS_PERCENT),
        loss_packets: kinds(&mut section, r).unwrap_or(default.loss_packets),
        loss_direction: section
            .opt_choice(r, "loss-direction", LossDirection::NAMES)
            .unwrap_or(default.loss_direction),
        loss_qpn: event::connections(&mut section, "loss-qpn", r).unwrap_or(default.loss_qpn),
        loss_effect: section.opt_choice(r, "loss-effect", LossEffect::NAMES).unwrap_or(default.loss_effect),
        seed: section.opt_int(r, &fields::SEED),
        repeat: section.opt_section(r, "repeat").map(|section| repeat(section, r)).unwrap_or_default(),
        paths: paths(&mut section, r),
        spray: section.opt_choice(r, "spray", Spray::NAMES).unwrap_or(default.spray),
        flowlet_gap_ns: section.int(r, &fields::FLOWLET_GAP_NS),
        spray_packets: section
            .opt_choice(r, "spray-packets", SprayPackets::NAMES)
            .unwrap_or(default.spray_packets),
        pfc: section.bool(r, "pfc", default.pfc),
    };
    section.finish(r, &HOMES);
    network
}

fn repeat(mut section: Section<'_>, r: &mut Reader<'_>) -> Repeat {
    let repeat = Repeat {
        naks: section.int(r, &fields::NAKS),
        retransmissions: section.int(r, &fields::RETRANSMISSIONS),
        tails: section.int(r, &fields::TAILS),
        matching: section.opt_choice(r, "match", RepeatMatch::NAMES).unwrap_or(Repeat::default().matching),
    };
    section.finish(r, &HOMES);
    repeat
}

fn paths(section: &mut Section<'_>, r: &mut Reader<'_>) -> Vec<Path> {
    const KEY: &str = "path";
    let list = section.path_of(KEY);
    let Some(node) = section.node(r, KEY) else { return Vec::new() };
    let Value::List(items) = &node.value else {
        let message = format!("expected a list of tables, found {}", r.describe(node));
        r.refuse(&node.span, &list, message, "write [[network.path]], with two brackets, for each path");
        return Vec::new();
    };
    if let Some(beyond) = items.get(Path::MOST) {
        let help = format!("at most {} are allowed", Path::MOST);
        r.refuse(&beyond.span, &list, format!("there are {} paths", items.len()), help);
        return Vec::new();
    }
    let mut paths = Vec::new();
    for (item, path) in r.items(items, &list) {
        let mut read = Path::default();
        if let Some(mut section) = r.section(item, &path, &item.span) {
            for number in Path::NUMBERS {
                (number.set)(&mut read, section.int(r, number.field));
            }
            section.finish(r, &HOMES);
        }
        paths.push(read);
    }
    paths
}

/// The list of kinds of packets, each once.
fn kinds(section: &mut Section<'_>, r: &mut Reader<'_>) -> Option<PacketKinds> {
    const KEY: &str = "loss-packets";
    let path = section.path_of(KEY);
    let node = section.node(r, KEY)?;
    let items = r.list(node, &path, "kinds of packets")?;
    let mut kinds = PacketKinds::NONE;
    for (item, path) in r.items(items, &path) {
        let Some(kind) = r.choice(item, &path, PacketKinds::NAMES) else { continue };
        if kinds.contains(kind) {
            let message = format!("names {} twice", r.written(item));
            r.refuse(&item.span, &path, message, "list each kind once");
        }
        kinds = kinds.with(kind);
    }
    Some(kinds)
}
