//! Interoperability (Lumina §6.2.3): two NICs that accept what NICs like themselves send, but not what the
//! other sends.

use corpus::TestConfig;
use executor::NicProfile;
use scoring::score::References;

use crate::{judged, nic, signatures, test};

const PAIR: &str = "interop-discard/port/pair-discards";
const UNEXPLAINED: &str = "unexplained-discard/port/discards-unexplained";

/// It sends MigReq clear, which means nothing to it.
const CLEARS_MIG_REQ: &str = "[transmit]\nmig-req = false\n";
/// It sends MigReq set, and takes its time for packets with MigReq clear.
const RESOLVES: &str = "[apm]\ncontexts = 4\nresolve-ns = 200_000\n[receive]\nbuffer-bytes = 65_536\n";

/// Five Sends of 100 KB on so many QPs.
fn sends(qps: u32, more: &str) -> TestConfig {
    let mut config = test(&format!(
        "[traffic]\nnum-connections = {qps}\nrdma-verb = \"send\"\nnum-msgs-per-qp = 5\nmessage-size = 102_400\n\
         mtu = 1024\n{more}"
    ));
    config.requester.nic = "one".into();
    config.responder.nic = "other".into();
    config
}

fn pair() -> [NicProfile; 2] {
    [nic(CLEARS_MIG_REQ), nic(RESOLVES)]
}

#[test]
fn a_pair_that_discards_is_found() {
    for qps in [8, 16, 24] {
        let (_, assessment) = judged(&sends(qps, ""), &pair());
        assert_eq!(signatures(&assessment), [PAIR], "{qps}");
        let finding = assessment.findings().next().unwrap();
        assert_eq!(finding.evidence.numbers["connections"], u64::from(qps));
        assert_eq!(finding.evidence.counters[0].name, "rx_discards_phy");
        assert_eq!(finding.who.address, Some("10.0.0.2".parse().unwrap()));
    }
}

#[test]
fn what_no_pair_is_to_blame_for_is_not() {
    let config = sends(16, "");
    // As many QPs as there are contexts; the other way round; each with its own kind.
    assert_eq!(signatures(&judged(&sends(4, ""), &pair()).1), [""; 0]);
    let [one, other] = pair();
    for nics in [[other.clone(), one.clone()], [one.clone(), one.clone()], [other.clone(), other]] {
        assert_eq!(signatures(&judged(&config, &nics).1), [""; 0]);
    }
    // It discards its own kind's packets too.
    let always = nic(&format!("{RESOLVES}{CLEARS_MIG_REQ}"));
    assert_eq!(signatures(&judged(&config, &[one, always]).1), [""; 0]);
}

/// The same NIC under two names is not a pair of different ones, and the same name says that nothing differs.
#[test]
fn names_say_only_whether_nics_differ() {
    let mut config = sends(16, "");
    config.responder.nic.clone_from(&config.requester.nic);
    assert_eq!(signatures(&judged(&config, &pair()).1), [""; 0]);
    (config.requester.nic, config.responder.nic) = ("zebra".into(), "aardvark".into());
    assert_eq!(signatures(&judged(&config, &pair()).1), [PAIR]);
}

/// In a test with events, discards that come without them are the pair's, and explain the connections that
/// suffer.
#[test]
fn events_hide_no_pair_and_make_none() {
    let drop = "[[event]]\nqpn = 1\npsn = 30\ntype = \"drop\"\n";
    assert_eq!(signatures(&judged(&sends(16, drop), &pair()).1), [PAIR]);
    assert_eq!(signatures(&judged(&sends(4, drop), &pair()).1), [""; 0]);
}

/// A testbed without pairs of each kind cannot say whose the discards are.
#[test]
fn without_pairs_discards_are_unexplained() {
    let config = sends(16, "");
    let observation = executor::sim::run(&config, pair()).unwrap();
    let options = scoring::Options { config: Some(&config) };
    let analysis = scoring::analyze(&observation, options);
    let assessment = scoring::score::score(&config, &observation, &analysis, &References::default());
    assert_eq!(signatures(&assessment), [UNEXPLAINED]);
}
