//! Our own file format: TOML in and out. `docs/test-config.md` is its description for users.

mod control;
mod event;
mod host;
mod network;
mod read;
mod rule;
mod tables;
mod traffic;
mod write;

use std::sync::LazyLock;

use crate::config::{Repeat, TrafficField};

pub use read::{from_toml, from_toml_without_events};
pub(crate) use {
    event::placeholder,
    host::{ip_list, small_numbers},
    traffic::{VERBS, VerbKey, field},
};

/// Keys and the section that they belong in, for keys that are found in another.
static HOMES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let traffic = TrafficField::ALL.iter().map(|field| (field.key, "[traffic]"));
    OTHER_HOMES
        .iter()
        .copied()
        .chain(traffic)
        .chain(NETWORK_KEYS.iter().map(|key| (*key, "[network]")))
        .chain(Repeat::KEYS.iter().map(|key| (*key, "[network.repeat]")))
        .collect()
});

/// Keys of the network but its seed, which the traffic has too.
const NETWORK_KEYS: &[&str] = &[
    "loss-ppb",
    "loss-model",
    "loss-bytes",
    "links",
    "corrupted-links-percent",
    "loss-packets",
    "loss-direction",
    "loss-qpn",
    "loss-effect",
    "spray",
    "flowlet-gap-ns",
    "spray-packets",
    "pfc",
];

/// Those of keys that are in no table of fields.
const OTHER_HOMES: &[(&str, &str)] = &[
    ("nic", "[requester] or [responder]"),
    ("ip-list", "[requester] or [responder]"),
    ("if-name", "[requester] or [responder]"),
    ("traffic-class", "[requester] or [responder]"),
    ("ets", "[requester] or [responder]"),
    ("dcqcn-rp-enable", "[requester.roce-parameters] or [responder.roce-parameters]"),
    ("dcqcn-np-enable", "[requester.roce-parameters] or [responder.roce-parameters]"),
    ("min-time-between-cnps", "[requester.roce-parameters] or [responder.roce-parameters]"),
    ("adaptive-retrans", "[requester.roce-parameters] or [responder.roce-parameters]"),
    ("slow-restart", "[requester.roce-parameters] or [responder.roce-parameters]"),
    ("loss-recovery", "[requester.roce-parameters] or [responder.roce-parameters]"),
    ("num-connections", "[traffic]"),
    ("rdma-verb", "[traffic]"),
    ("psn", "[[event]]"),
    ("qpn", "[[event]]"),
    ("iter", "[[event]]"),
    ("do", "[[control]]"),
];
