//! bmv2 with the P4 program between the guests, in the place of the software switch: tests show the same. Run by `ci/p4`.

use std::collections::BTreeSet;

use executor::guests::Pairs;
use executor::vm::{P4Switch, Site};
use scoring::score::{self, References};

use super::environment::number;
use super::pair::{PAIRS, Ran, alone, test};
use super::site::KERNELS;

/// Traffic of two connections, of four messages of four packets each.
const TRAFFIC: &str =
    "num-connections = 2\nnum-msgs-per-qp = 4\nmessage-size = 4096\nmax-retransmit-retry = 5";

const VERBS: [&str; 3] = ["write", "read", "send"];

/// Events, and what else a test has. `CONTROL` is the control packet that each message has one of.
const TESTS: [(&[&str], &str); 17] = [
    (&[], ""),
    (&["qpn = 1; psn = 1; type = 'drop'"], ""),
    (&["qpn = 1; psn = 2; type = 'drop'"], ""),
    (&["qpn = 1; psn = 4; type = 'drop'"], ""),
    (&["qpn = 1; psn = 16; type = 'drop'"], ""),
    (&["qpn = 1; psn = 6; type = 'drop'", "qpn = 1; psn = 6; iter = 2; type = 'drop'"], ""),
    (&["qpn = 1; psn = 7; type = 'drop'", "qpn = 1; psn = 8; type = 'drop'"], ""),
    (&["qpn = 1; psn = 5; every = 5; type = 'drop'"], ""),
    (&["qpn = 'all'; psn = 3; type = 'drop'"], ""),
    (&["qpn = 1; psn = 2; type = 'ecn'"], ""),
    (&["qpn = 'all'; psn = 1; every = 1; type = 'ecn'"], ""),
    (&["qpn = 2; psn = 3; type = 'corrupt'"], ""),
    (&["qpn = 1; psn = 9; type = 'duplicate'; copies = 2"], ""),
    (&["qpn = 1; packet = 'CONTROL'; nth = 1; type = 'drop'"], ""),
    (&["qpn = 1; packet = 'CONTROL'; nth = 2; every = 2; count = 2; type = 'duplicate'; copies = 1"], ""),
    (&["qpn = 1; psn = 2; type = 'drop'"], "[network.repeat]\nretransmissions = 2"),
    (
        &["qpn = 1; psn = 2; type = 'drop'", "qpn = 1; packet = 'nak'; nth = 1; type = 'drop'"],
        "[network.repeat]\nnaks = 2",
    ),
];

/// Rules that a test breaks, as a campaign would report them.
fn signatures(ran: &Ran) -> BTreeSet<String> {
    let assessment = score::score(&ran.config, &ran.observation, &ran.analysis(), &References::default());
    assessment.anomalies.iter().map(scoring::Anomaly::signature).collect()
}

/// `LUMINA_RUNS` says how often each test is run on either switch: three times, if it does not.
#[test]
#[ignore = "needs p4c and bmv2: ci/p4 runs it"]
fn tests_show_the_same_behind_a_p4_switch() {
    let program: Pairs<Site<P4Switch>> = Pairs::new(KERNELS);
    let runs = number("LUMINA_RUNS", 3);
    let (mut tests, mut wrong, mut all) = (0, Vec::new(), BTreeSet::new());
    for verb in VERBS {
        for (events, network) in TESTS {
            let control = if verb == "read" { "read-request" } else { "ack" };
            let sections = events.iter().map(|event| format!("[[event]]\n{}\n", event.replace("; ", "\n")));
            let events = sections.collect::<String>().replace("CONTROL", control);
            let config = test(&format!("rdma-verb = '{verb}'\n{TRAFFIC}"), &format!("{events}{network}"));
            tests += 1;
            for run in 1..=runs {
                let _alone = alone();
                let [ours, theirs] = [Ran::of(&PAIRS, config.clone()), Ran::of(&program, config.clone())];
                let [ours, theirs] = [ours, theirs].map(|ran| signatures(&ran.whole()));
                if ours != theirs {
                    wrong.push(format!(
                        "run {run}, {verb}, {events}{network}: {ours:?}, behind bmv2 {theirs:?}"
                    ));
                }
                all.extend(ours);
            }
        }
    }
    println!("bmv2 in --testbed vm-p4: {tests} tests, {runs} times; {} signatures: {all:?}", all.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), tests * runs, wrong.join("\n"));
}
