//! Quirks under conditions: each condition lets a quirk show where it holds, and nowhere else.

use std::collections::BTreeSet;

use executor::profile::conditional_fields;
use scoring::Options;

/// A condition with a value that holds in the test and one that does not, the quirk and the rule that it breaks, and the test.
struct Case {
    condition: &'static str,
    holds: &'static str,
    fails: &'static str,
    quirk: (&'static str, &'static str),
    test: &'static str,
}

const NAK_MISSING: (&str, &str) = ("nak-suppressed = true", "nak-missing");
const RESUME_LATE: (&str, &str) = ("resume-offset = 1", "resume-late");
const RESPONSE_GAP: (&str, &str) = ("response-gap-every = 3", "response-gap");
const MSN_WRONG: (&str, &str) = ("msn-offset = 1", "msn-wrong");

/// Three QPs of four Writes of ten packets; the fifth packet of the second message of the first one is lost, and arrivals
/// after it are in the middle of that message.
const LOSS: &str = "[traffic]\nrdma-verb = \"write\"\nnum-connections = 3\nnum-msgs-per-qp = 4\ntx-depth = 1\n\
    [[event]]\nqpn = 1\npsn = 15\ntype = \"drop\"\n";
/// The same packet of all three.
const THREE_LOSSES: &str = "[traffic]\nrdma-verb = \"write\"\nnum-connections = 3\nnum-msgs-per-qp = 4\ntx-depth = 1\n\
    [[event]]\nqpn = \"all\"\npsn = 15\ntype = \"drop\"\n";
/// QPs in two classes; the loss is in class 1.
const CLASSES: &str = "[traffic]\nrdma-verb = \"write\"\nnum-connections = 2\n\
    [requester]\ntraffic-class = [1, 0]\nets = { weights = [50, 50] }\n\
    [responder]\ntraffic-class = [1, 0]\nets = { weights = [50, 50] }\n\
    [[event]]\nqpn = 1\npsn = 15\ntype = \"drop\"\n";
const READ: &str = "[traffic]\nrdma-verb = \"read\"\n";
/// A packet is lost twice, and then NAKed for the packet before the one that repeats it: two retries without progress.
const TWICE: &str = "[traffic]\nrdma-verb = \"write\"\nnum-msgs-per-qp = 2\ntx-depth = 2\nmin-retransmit-timeout = 8\n\
    [[event]]\nqpn = 1\npsn = 20\niter = 1\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 20\niter = 2\ntype = \"drop\"\n\
    [[event]]\nqpn = 1\npsn = 20\niter = 3\ntype = \"drop\"\n";

const fn case(
    condition: &'static str,
    holds: &'static str,
    fails: &'static str,
    quirk: (&'static str, &'static str),
    test: &'static str,
) -> Case {
    Case { condition, holds, fails, quirk, test }
}

const CASES: &[Case] = &[
    case("verb", "[\"write\"]", "[\"read\", \"send\"]", NAK_MISSING, LOSS),
    case("verb", "[\"read\"]", "[\"write\", \"send\"]", ("msn-offset = 1", "response-msn"), READ),
    case("position", "[\"middle\"]", "[\"first\", \"last\", \"only\"]", NAK_MISSING, LOSS),
    case("position", "[\"middle\"]", "[\"only\"]", RESPONSE_GAP, READ),
    case("message", "2", "[3, 9]", NAK_MISSING, LOSS),
    case("message", "[2, 9]", "1", RESUME_LATE, LOSS),
    case("message", "3", "[100, 200]", RESPONSE_GAP, READ),
    case("message-size", "[10_000, 10_240]", "[1, 9_999]", NAK_MISSING, LOSS),
    case("mtu", "[256, 1024]", "[512, 2048, 4096]", NAK_MISSING, LOSS),
    case("class", "[1]", "[0, 2]", NAK_MISSING, CLASSES),
    case("class", "[1]", "[0, 2]", RESUME_LATE, CLASSES),
    case("connections", "[3, 100]", "[4, 100]", NAK_MISSING, LOSS),
    // The QP whose loss is handled counts itself from its first retry on.
    case("recovering", "2", "[3, 100]", RESUME_LATE, THREE_LOSSES),
    case("recovering", "[1, 100]", "[2, 100]", MSN_WRONG, LOSS),
    case("retries", "0", "[1, 7]", RESUME_LATE, LOSS),
    case("retries", "[2, 7]", "[3, 7]", ("retry-offset = -9", "retries-below-budget"), TWICE),
    case("counters", "[\"out_of_sequence\"]", "[\"rp_cnp_handled\"]", MSN_WRONG, LOSS),
    case("counted", "1", "2", MSN_WRONG, LOSS),
];

/// The rules that are broken on NICs with a condition.
fn rules(case: &Case, value: &str) -> BTreeSet<&'static str> {
    let counters = if case.condition == "counted" { ", counters = [\"out_of_sequence\"]" } else { "" };
    let (quirk, _) = case.quirk;
    let text = format!("[[quirk]]\nwhen = {{ {} = {value}{counters} }}\n{quirk}\n", case.condition);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("nic.toml"), text).unwrap();
    let nic = executor::profile::load("nic.toml", folder.path()).unwrap();
    let config = corpus::from_toml("test.toml", case.test).unwrap_or_else(|errors| panic!("{errors}"));
    let observation = executor::sim::run(&config, [nic.clone(), nic]).unwrap();
    let analysis = scoring::analyze(&observation, Options { config: Some(&config) });
    analysis.anomalies.kept().iter().map(|anomaly| anomaly.rule.name()).collect()
}

#[test]
fn a_quirk_shows_where_its_condition_holds_and_nowhere_else() {
    for case in CASES {
        let (quirk, rule) = case.quirk;
        let found = rules(case, case.holds);
        assert!(found.contains(rule), "{quirk} where {} = {}: {found:?}", case.condition, case.holds);
        let found = rules(case, case.fails);
        assert!(found.is_empty(), "{quirk} where {} = {}: {found:?}", case.condition, case.fails);
    }
}

#[test]
fn every_condition_has_a_case() {
    for field in conditional_fields() {
        let Some(condition) = field.path.strip_prefix("quirk.when.") else { continue };
        assert!(CASES.iter().any(|case| case.condition == condition), "{condition}");
    }
}

/// All conditions of one have to hold; of two whose conditions hold, each has its quirks.
#[test]
fn conditions_add_up() {
    let broken = |text: &str| {
        let nic: executor::NicProfile = text.parse().unwrap();
        let config = corpus::from_toml("test.toml", LOSS).unwrap();
        let observation = executor::sim::run(&config, [nic.clone(), nic]).unwrap();
        let analysis = scoring::analyze(&observation, Options { config: Some(&config) });
        analysis.anomalies.kept().iter().map(|anomaly| anomaly.rule.name()).collect::<BTreeSet<_>>()
    };
    let when = |message: u32, verb: &str| {
        format!("[[quirk]]\nwhen = {{ message = {message}, verb = [\"{verb}\"] }}\nnak-psn-offset = 1\n")
    };
    assert!(broken(&when(2, "write")).contains("nak-wrong-psn"));
    assert!(broken(&when(2, "read")).is_empty());
    assert!(broken(&when(3, "write")).is_empty());
    let both = broken(&format!(
        "{}{}msn-offset = 1\n",
        when(2, "write"),
        when(2, "write").replace("nak-psn-offset = 1\n", "")
    ));
    assert!(both.contains("nak-wrong-psn") && both.contains("msn-wrong"), "{both:?}");
}
