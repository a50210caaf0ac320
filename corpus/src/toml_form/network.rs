//! `[network]`.

use super::{HOMES, event};
use crate::{
    config::{LossDirection, LossEffect, LossModel, Network, PacketKinds, Repeat, RepeatMatch, fields},
    source::{Reader, Section},
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
