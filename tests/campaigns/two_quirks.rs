//! Two quirks at once: both found in one campaign, each under one name.

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};

/// A profile with two quirks, and the beginnings of the signatures that they have.
struct Pair {
    profile: &'static str,
    signatures: [&'static str; 2],
}

const PAIRS: [Pair; 8] = [
    Pair {
        profile: "[quirks]\nstuck-counters = [\"packet_seq_err\", \"out_of_sequence\"]\n",
        signatures: [
            "counter-mismatch/requester/counter-differs/packet_seq_err",
            "counter-mismatch/responder/counter-differs/out_of_sequence",
        ],
    },
    Pair {
        profile: "[quirks]\ndoubled-counters = [\"np_cnp_sent\"]\nstuck-counters = [\"rp_cnp_handled\"]\n",
        signatures: [
            "counter-mismatch/notification-point/counter-differs/np_cnp_sent",
            "counter-mismatch/reaction-point/counter-differs/rp_cnp_handled",
        ],
    },
    Pair {
        profile: "[retransmission.nack-generation-ns]\nread = 400_000\nsend = 300_000\n",
        signatures: ["slow-retransmission/requester/", "slow-retransmission/responder/"],
    },
    Pair {
        profile: "[retransmission]\nnack-generation-ns.send = 300_000\nnack-reaction-ns.read = 300_000\n",
        signatures: [
            "slow-retransmission/responder/slow-nack/generation-send",
            "slow-retransmission/responder/slow-nack/reaction-read",
        ],
    },
    Pair {
        profile: "[quirks]\nnak-repeats = 1\nresume-offset = 1\n",
        signatures: ["gbn-violation/responder/nak-again", "gbn-violation/requester/resume-late"],
    },
    Pair {
        profile: "[quirks]\nmsn-offset = 1\nstuck-counters = [\"local_ack_timeout_err\"]\n",
        signatures: [
            "protocol-violation/responder/msn-wrong",
            "counter-mismatch/requester/counter-differs/local_ack_timeout_err",
        ],
    },
    Pair {
        profile: "[quirks]\ncnp-suppressed = true\nnak-psn-offset = 1\n",
        signatures: [
            "cnp-generation/notification-point/ecn-without-cnp",
            "gbn-violation/responder/nak-wrong-psn",
        ],
    },
    Pair {
        profile: "[quirks]\nreack-missing = true\ntimer-ignores-progress = true\n",
        signatures: [
            "gbn-violation/responder/reack-missing",
            "unexpected-timeout/requester/rto-below-minimum",
        ],
    },
];

#[test]
fn both_are_found_and_each_is_reported_once() {
    for Pair { profile, signatures } in PAIRS {
        let folder = folder(&[("nic.toml", profile)]);
        // Broad tests also show what follows from two faults together (docs/search.md).
        let args = ["general", "--nic", "./nic.toml", "--strategy", "genetic", "--seed", "1"];
        let args = [&args[..], &["--executions", "1200", "--out", "c"]].concat();
        let summary = campaign(folder.path(), &args);
        let found = findings(&summary);
        assert_eq!(found.len(), 2, "{profile}{summary:#}");
        for signature in signatures {
            let finding = found
                .iter()
                .find(|finding| finding["signature"].as_str().unwrap().starts_with(signature))
                .unwrap_or_else(|| panic!("{profile}{signature} is not in {summary:#}"));
            assert!(finding["sightings"].as_u64().unwrap() >= 3, "{profile}{finding:#}");
        }
        assert_eq!(in_folder(folder.path(), &["replay", "c"]).code, 0, "{profile}");
    }
}
