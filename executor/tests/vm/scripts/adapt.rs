//! Packet scripts for a simulated NIC, adapted to a real stack in an emulated host.

use dumper::script::{Expected, Placed, Scope, Script, Setting, Step, Window};

/// The ACK timer of scripts that have a shorter one: 0.5 s, far above the slowest reaction of an emulated host.
const TIMEOUT: u8 = 17;

/// The counters of `rdma_rxe` for those of NVIDIA, which scripts name. It has none for expiries of the ACK
/// timer, for implied NAKs, and for bad ICRCs; of the sequence NAKs that it receives it does not count all
/// (scoring/data/counters.toml).
const COUNTERS: [(&str, &str); 3] = [
    ("out_of_sequence", "out_of_seq_request"),
    ("duplicate_request", "duplicate_request"),
    ("rnr_nak_retry_err", "rcvd_rnr_err"),
];

/// The script with an ACK timer that does not expire on its own, times only where they are counted in T, and
/// the counters that `rdma_rxe` has. A NIC's profile is left out: scripts that need one are listed with the
/// reason.
pub(super) fn adapt(mut script: Script) -> Script {
    script.settings.retain(|setting| setting.key.value != "nic");
    let timeout = script.settings.iter_mut().find(|setting| setting.key.value == "min-retransmit-timeout");
    match timeout {
        Some(setting) => {
            if setting.value.value.parse().is_ok_and(|exponent| (1..TIMEOUT).contains(&exponent)) {
                setting.value.value = TIMEOUT.to_string();
            }
        }
        None => {
            let at = script.post.at;
            let placed = |value: String| Placed { at, value };
            script.settings.push(Setting {
                at,
                scope: Scope::Traffic,
                key: placed("min-retransmit-timeout".into()),
                value: placed(TIMEOUT.to_string()),
            });
        }
    }
    for step in &mut script.steps {
        let packets = match step {
            Step::Packet(packet) => std::slice::from_mut(packet),
            Step::Group(packets) => packets,
            Step::Skip(_) => &mut [],
        };
        for packet in packets {
            if !packet.time.ends().any(dumper::script::Span::counts_timeouts) {
                packet.time = Window::ANY;
            }
        }
    }
    script.expectations.retain_mut(|expectation| match &mut expectation.expected {
        Expected::Counter { name, .. } => match COUNTERS.iter().find(|(known, _)| known == name) {
            Some((_, has)) => {
                *name = (*has).to_owned();
                true
            }
            None => false,
        },
        _ => true,
    });
    script
}
