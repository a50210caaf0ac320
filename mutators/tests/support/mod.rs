//! Shared parts of the tests of targets.

use std::path::Path;

use corpus::config::default_address;
use corpus::{Host, Role};
use mutators::{Target, Vocabulary};

/// Words of the other rooms, as far as shipped targets name them, and one more of each.
pub(crate) const VOCABULARY: Vocabulary<'_> = Vocabulary {
    objectives: &[
        "noisy-neighbor",
        "discards",
        "latency",
        "timeouts",
        "fsm",
        "counters",
        "cnp",
        "goodput",
        "sharing",
        "stall",
        "integrity",
        "tail",
        "reorder",
        "offload",
    ],
    kinds: &[
        "noisy-neighbor",
        "gbn-violation",
        "protocol-violation",
        "slow-retransmission",
        "unexpected-timeout",
        "retry-count",
        "stall",
        "data-corruption",
        "counter-mismatch",
        "cnp-generation",
        "interop-discard",
        "non-work-conserving",
        "mitigation-harm",
        "reorder-collapse",
        "slow-flow",
        "performance-cliff",
        "no-recovery",
        "offload-instability",
        "offload-inconsistent",
        "slow-control",
        "link-down",
        "crash",
    ],
    named_only: &["reorder-collapse"],
};

/// Two hosts as a campaign makes them.
pub(crate) fn hosts() -> [Host; 2] {
    Role::ALL.map(|role| {
        let nic = match role {
            Role::Requester => "cx4-lx",
            Role::Responder => "reference",
        };
        Host::new(nic, default_address(role))
    })
}

pub(crate) fn shipped(name: &str) -> Target {
    Target::load(name, Path::new(""), VOCABULARY).unwrap()
}

/// A target from a text that is right.
pub(crate) fn target(text: &str) -> Target {
    Target::from_toml("target.toml", text, VOCABULARY).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
