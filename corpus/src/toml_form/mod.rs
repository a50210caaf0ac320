//! Our own file format: TOML in and out. `docs/test-config.md` is its description for users.

mod event;
mod host;
mod read;
mod traffic;
mod write;

pub use read::from_toml;
pub(crate) use {
    event::placeholder,
    host::{ip_list, small_numbers},
    traffic::{VERBS, VerbKey, mtu},
};

/// Keys and the section that they belong in, for keys that are found in another.
const HOMES: &[(&str, &str)] = &[
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
    ("num-connections", "[traffic]"),
    ("rdma-verb", "[traffic]"),
    ("num-msgs-per-qp", "[traffic]"),
    ("mtu", "[traffic]"),
    ("message-size", "[traffic]"),
    ("multi-gid", "[traffic]"),
    ("barrier-sync", "[traffic]"),
    ("tx-depth", "[traffic]"),
    ("min-retransmit-timeout", "[traffic]"),
    ("max-retransmit-retry", "[traffic]"),
    ("seed", "[traffic]"),
    ("initial-psn", "[traffic]"),
    ("psn", "[[event]]"),
    ("qpn", "[[event]]"),
    ("iter", "[[event]]"),
];
