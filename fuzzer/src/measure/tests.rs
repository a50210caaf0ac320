//! NICs with drawn numbers: the measurement behind a finding is the number in their profile.

use std::path::Path;

use corpus::{FindingRecord, Minimized};
use executor::profile::{self, CnpScope, NicProfile, Span};
use executor::sim::Sim;

use super::{Measured, Value, lines, measure};
use crate::judge::{InMemory, Verdict, judge};
use crate::policy::Policy;

/// Measurements behind the first finding of a kind in a test on two such NICs.
fn measured(nic: &NicProfile, kind: &str, test: &str) -> Vec<Measured> {
    measured_of(nic, kind, ["", ""], test)
}

/// The same of hosts with such keys.
fn measured_of(nic: &NicProfile, kind: &str, hosts: [&str; 2], test: &str) -> Vec<Measured> {
    measured_on([nic, nic], kind, hosts, test)
}

/// The same of a requester's and a responder's NIC.
fn measured_on(
    [a, b]: [&NicProfile; 2],
    kind: &str,
    [requester, responder]: [&str; 2],
    test: &str,
) -> Vec<Measured> {
    let names = if a == b { ["odd"; 2] } else { ["odd", "other"] };
    let [first, second] = names;
    let text = format!(
        "[requester]\nnic = \"{first}\"\n{requester}[responder]\nnic = \"{second}\"\n{responder}{test}"
    );
    let config = corpus::from_toml("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut testbed = Sim::new(Path::new(".")).with_profile(first, a.clone()).with_profile(second, b.clone());
    let Verdict::Judged(judged) = judge(&mut testbed, &config, &InMemory::new(Policy::OneRun)).unwrap()
    else {
        panic!("invalid");
    };
    let found = judged.assessment.findings().find(|anomaly| anomaly.kind().name() == kind);
    let Some(anomaly) = found else { panic!("{:?}", judged.signatures()) };
    let finding = FindingRecord {
        id: String::new(),
        kind: kind.into(),
        signature: anomaly.signature(),
        title: String::new(),
        first_seen_execution: 1,
        sightings: 1,
        config: config.clone(),
        reproducer: config,
        minimized: Minimized::Full,
        minimizer_executions: 0,
        evidence: String::new(),
    };
    let first = measure(&finding, &judged, &mut testbed).unwrap();
    assert_eq!(measure(&finding, &judged, &mut testbed).unwrap(), first, "always the same");
    first.measured
}

fn reference() -> NicProfile {
    profile::load("reference", Path::new(".")).unwrap()
}

fn number(measured: &[Measured], what: &str) -> f64 {
    let found = measured.iter().find(|one| one.what.starts_with(what));
    match found.map(|one| &one.value) {
        Some(Value::Number(number)) => *number,
        _ => panic!("{what}: {measured:#?}"),
    }
}

fn assert_near(value: f64, target: f64) {
    assert!((value - target).abs() <= target * 0.1, "{value}, where {target} is right");
}

/// QPs to two addresses that take turns, so that no other scope explains the answered marks.
const MARKED: &str = "[traffic]\nnum-connections = 4\nmulti-gid = true\nnum-msgs-per-qp = 400\nmessage-size = 4096\n\
                      [[event]]\nqpn = \"all\"\npsn = 1\nevery = 1\ntype = \"ecn\"\n";
const TWO_ADDRESSES: [&str; 2] = [
    "ip-list = [\"10.0.0.1/24\", \"10.0.0.11/24\"]\nroce-parameters = { dcqcn-rp-enable = false }\n",
    "ip-list = [\"10.0.0.2/24\", \"10.0.0.12/24\"]\n",
];

#[test]
fn interval_and_scope_of_cnps() {
    for (us, scope, words) in [
        (37, CnpScope::Port, "per NIC port"),
        (91, CnpScope::DestinationIp, "per destination IP"),
        (220, CnpScope::Qp, "per QP"),
    ] {
        let mut nic = reference();
        nic.notification.hidden_interval_us = us;
        nic.notification.configurable = false;
        nic.notification.scope = scope;
        let measured = measured_of(&nic, "cnp-generation", TWO_ADDRESSES, MARKED);
        assert_near(number(&measured, "shortest interval"), us as f64);
        assert_eq!(measured[1].value, Value::Words(words.into()));
    }
}

const TAIL: &str = "[traffic]\nnum-msgs-per-qp = 1\nmessage-size = 10240\nmax-retransmit-retry = 5\n\
                    [[event]]\nqpn = 1\npsn = 10\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 10\niter = 2\ntype = \"drop\"\n";

#[test]
fn schedule_of_the_timer_and_retries() {
    let mut nic = reference();
    (nic.timeout.first, nic.timeout.further) = (Span::exactly(0.3), Span::exactly(0.6));
    let measured = measured(&nic, "unexpected-timeout", TAIL);
    // All messages alike.
    assert_eq!(measured[0].what, "waits of the ACK timer, messages 1 to 5");
    let Some(Value::Numbers(in_t)) = &measured[0].in_t else { panic!("{measured:#?}") };
    assert_eq!(in_t.len(), 5);
    assert_near(in_t[0], 0.3);
    in_t[1..].iter().for_each(|wait| assert_near(*wait, 0.6));
    assert_eq!(measured[1].value, Value::counts([5; 5]));
    let text: Vec<_> = lines(&measured).map(|(what, value)| format!("{what}: {value}")).collect();
    assert!(text[0].starts_with("waits of the ACK timer, messages 1 to 5: 20.1, 40.3,"), "{text:?}");
    assert!(text[0].ends_with(" T)"), "{text:?}");
    assert_eq!(text[1], "retries where 5 are configured, messages 1 to 5: 5, 5, 5, 5, 5");
}

#[test]
fn latency_of_the_slow_phase() {
    let mut nic = reference();
    nic.retransmission.nack_generation_ns.write = Span::exactly(310_000);
    let test = "[traffic]\nnum-msgs-per-qp = 1\n[[event]]\nqpn = 1\npsn = 3\ntype = \"drop\"\n";
    let measured = measured(&nic, "slow-retransmission", test);
    assert_near(number(&measured, "NACK generation, smallest of 19"), 310.0);
    assert_near(number(&measured, "NACK generation, median"), 310.0);
    assert_near(number(&measured, "NACK generation, largest"), 310.0);
}

#[test]
fn latency_of_the_nak_of_a_read_request() {
    let mut nic = reference();
    nic.retransmission.nack_generation_ns.write = Span::exactly(310_000);
    let test = "[traffic]\nrdma-verb = \"read\"\nnum-msgs-per-qp = 10\nmessage-size = 1024\ntx-depth = 2\n\
                [[event]]\nqpn = 1\npacket = \"read-request\"\nnth = 3\ntype = \"drop\"\n";
    let measured = measured(&nic, "slow-retransmission", test);
    assert_near(number(&measured, "NACK generation, median"), 310.0);
}

#[test]
fn ceiling_of_a_class() {
    let host = "traffic-class = [0, 1]\nets = { weights = [10, 90] }\n";
    for ceiling in [120, 190, 300, 700] {
        let mut nic = reference();
        nic.ets.ceiling_percent = ceiling;
        for verb in ["write", "read"] {
            let test = format!(
                "[traffic]\nrdma-verb = \"{verb}\"\nnum-connections = 2\nnum-msgs-per-qp = 20\nmessage-size = 102400\n\
                 tx-depth = 4\n[[event]]\nqpn = 2\npsn = 1\nevery = 50\ntype = \"ecn\"\n"
            );
            let measured = measured_of(&nic, "non-work-conserving", [host, host], &test);
            assert_near(number(&measured, "the same, of the share"), f64::from(ceiling));
        }
    }
}

/// More connections are guilty in the test than it takes, and a packet is lost on each at another time.
#[test]
fn threshold_of_a_noisy_neighbour() {
    for (contexts, verb) in [(4, "read"), (9, "write"), (13, "send")] {
        let mut nic = reference();
        nic.receive.buffer_bytes = 100_000;
        nic.slow_path.contexts = contexts;
        (nic.slow_path.verbs, nic.retransmission.nack_generation_ns) = {
            let fields = format!(
                "slow-path.verbs = [\"{verb}\"]\nretransmission.nack-generation-ns.{verb} = 200_000\n"
            );
            let of_verb: NicProfile = fields.parse().unwrap();
            (of_verb.slow_path.verbs, of_verb.retransmission.nack_generation_ns)
        };
        let test = format!(
            "[traffic]\nrdma-verb = \"{verb}\"\nnum-connections = 48\nnum-msgs-per-qp = 4\nmessage-size = 20480\n\
             [[event]]\nqpn = {{ first = 24 }}\npsn = 5\ntype = \"drop\"\n"
        );
        let measured = measured(&nic, "noisy-neighbor", &test);
        assert_eq!(measured[0].value, Value::count(u64::from(contexts) + 1), "{verb}");
    }
}

#[test]
fn threshold_of_a_pair_that_discards() {
    let mut nic = reference();
    nic.receive.buffer_bytes = 80_000;
    (nic.apm.contexts, nic.apm.resolve_ns) = (7, Span::exactly(300_000));
    let mut other = reference();
    other.transmit.mig_req = false;
    let test = "[traffic]\nnum-connections = 30\nnum-msgs-per-qp = 4\nmessage-size = 102400\n";
    let measured = measured_on([&other, &nic], "interop-discard", ["", ""], test);
    assert_eq!(measured[0].value, Value::count(8));
}

/// Sends that find no Receive, which is posted after 20 ms.
const REFUSED: &str =
    "[traffic]\nrdma-verb = \"send\"\ntx-depth = 2\nrecv-depth = 1\nmin-rnr-timer = 14\nrnr-retry = 3\n";

#[test]
fn how_short_an_rnr_wait_is() {
    for short in [20, 55, 90] {
        let mut nic = reference();
        nic.quirks.rnr_wait_short_percent = short;
        nic.host.repost_ns = Span::exactly(2_000_000);
        let measured = measured(&nic, "protocol-violation", REFUSED);
        assert_near(number(&measured, "the same, of the required wait"), f64::from(100 - short));
    }
}

#[test]
fn how_many_rnr_retries_are_made() {
    for extra in [1, 4] {
        let mut nic = reference();
        nic.quirks.rnr_retry_offset = extra;
        nic.host.repost_ns = Span::exactly(50_000_000);
        let measured = measured(&nic, "retry-count", REFUSED);
        assert_eq!(number(&measured, "RNR retries where 3 are configured"), f64::from(3 + extra));
    }
}

#[test]
fn what_a_counter_does() {
    let mut nic = reference();
    nic.quirks.stuck_counters = vec!["packet_seq_err".into()];
    let test = "[traffic]\nnum-msgs-per-qp = 1\n[[event]]\nqpn = 1\npsn = 3\ntype = \"drop\"\n";
    let measured = measured(&nic, "counter-mismatch", test);
    assert_eq!(measured[0].what, "packet_seq_err for each time in the trace");
    assert_eq!(measured[0].value, Value::Number(0.0));
}

/// Five connections whose Writes fill the link, over two paths, of which one is longer.
const SPRAYED: &str = "[traffic]\nnum-connections = 5\nnum-msgs-per-qp = 8\nmessage-size = 1_048_576\ntx-depth = 8\n\
                       [network]\nspray = \"packet\"\nspray-packets = \"data\"\nseed = 1\npfc = true\n\
                       [[network.path]]\n[[network.path]]\ndelay-ns = 200_000\n";
const SELECTIVE: &str = "roce-parameters = { loss-recovery = \"selective-repeat\" }\n";

/// Engines of other numbers: the delay that they take is where the closed form has half of the link, as far as a burst after a
/// pause lets it (docs/multipath.md); shorter ones they take, and longer ones not.
#[test]
fn a_reorder_engine_collapses_where_its_pool_is_too_slow() {
    for (block_bits, next_block_ns) in [(8, 5), (16, 9), (32, 12)] {
        let mut nic = profile::load("melo", Path::new(".")).unwrap();
        (nic.reorder.block_bits, nic.reorder.next_block_ns) = (block_bits, next_block_ns);
        nic.reorder.blocks = 8_192;
        let measured = measured_of(&nic, "reorder-collapse", [SELECTIVE; 2], SPRAYED);
        let delay = number(&measured, "largest delay of the slowest path that it takes");
        let packet = 44.24;
        let (next, bits) = (next_block_ns as f64, f64::from(block_bits));
        let base = nic.reorder.first_block_ns as f64 - next * (bits - 1.0) / (4.0 * bits);
        // s = 2 packets of s = (b + sqrt(b^2 + 4 A)) / 2 with A = t D / (2 B c).
        let slope = (2.0 * packet) * (2.0 * packet - base);
        let formula = slope * 2.0 * bits * 5.0 / next / 1e3;
        assert!(
            (0.5..1.5).contains(&(delay / formula)),
            "{delay} µs, by formula {formula} µs: {measured:#?}"
        );
        let takes = |micros: f64| {
            let text = SPRAYED.replace("200_000", &format!("{}", (micros * 1e3) as u64));
            let text = format!("[requester]\n{SELECTIVE}[responder]\n{SELECTIVE}{text}");
            let config = corpus::from_toml("test.toml", &text).unwrap();
            let observation = executor::sim::run(&config, [nic.clone(), nic.clone()]).unwrap();
            let alone = config.over_slowest_path();
            let one_path = executor::sim::run(&alone, [nic.clone(), nic.clone()]).unwrap();
            let [sprayed, alone] =
                [&observation, &one_path].map(|seen| scoring::goodput_bps(seen.completions()));
            sprayed >= alone / 2.0
        };
        assert!(takes(delay * 0.9) && !takes(delay * 1.1), "{delay} µs");
        assert!(number(&measured, "largest extent of reordering that it takes") > 0.0);
    }
}
