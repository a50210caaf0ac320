//! The captures of a real stack as scripts.

use std::path::Path;

use corpus::{TestConfig, from_toml};
use dumper::capture::{self, ReadOptions};
use dumper::script::{Found, parse};
use dumper::{Connection, Endpoint, Observation, Psn};
use executor::script::{compare, record, to_config};

/// Verb and events of each capture, as `tests/data/README.md` has them.
const CAPTURES: [(&str, &str, &str); 9] = [
    ("rxe_write_mid", "write", "psn = 16\ntype = \"drop\""),
    ("rxe_write_tail", "write", "psn = 100\ntype = \"drop\""),
    (
        "rxe_write_rep2",
        "write",
        "psn = 16\ntype = \"drop\"\n[[event]]\nqpn = 1\npsn = 16\niter = 2\ntype = \"drop\"",
    ),
    ("rxe_write_ecn", "write", "psn = 1\nevery = 1\ntype = \"ecn\""),
    ("rxe_send_mid", "send", "psn = 16\ntype = \"drop\""),
    ("rxe_send_corrupt", "send", "psn = 16\ntype = \"corrupt\""),
    ("rxe_read_reqdrop_mid", "read", "packet = \"read-request\"\nnth = 5\ntype = \"drop\""),
    ("rxe_read_resp_first", "read", "psn = 41\ntype = \"drop\""),
    ("rxe_write_last_full", "write", "psn = 20\ntype = \"drop\""),
];

fn observation(name: &str) -> Observation {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name).with_extension("pcap");
    let captured = capture::read(&[path], ReadOptions::default(), &mut |_| ()).unwrap();
    let trace = captured.traced.trace;
    // One connection: the flow to an end names its QPN.
    let end = |ip: &str| {
        let ip = ip.parse().unwrap();
        let flow = trace.flows().iter().find(|flow| flow.destination == ip).unwrap();
        Endpoint { ip, qpn: Some(flow.dest_qpn), initial_psn: Some(Psn::new(1000)) }
    };
    let connection = Connection { requester: end("10.0.0.1"), responder: end("10.0.0.2") };
    Observation::of_trace(trace, vec![connection])
}

fn config(verb: &str, event: &str) -> TestConfig {
    let text = format!("traffic.rdma-verb = \"{verb}\"\n[[event]]\nqpn = 1\n{event}\n");
    from_toml("capture.toml", &text).unwrap()
}

#[test]
fn a_recorded_capture_is_a_script_that_it_fits() {
    for (name, verb, event) in CAPTURES {
        let (observation, config) = (observation(name), config(verb, event));
        let text = record(&config, &observation).to_string();
        let script = parse("recorded.rds", &text).unwrap_or_else(|errors| panic!("{name}: {errors}\n{text}"));
        assert_eq!(to_config(&script).unwrap(), config, "{name}\n{text}");
        let mismatches = compare(&script, &config, &observation, &Found::default());
        assert!(mismatches.is_empty(), "{name}: {}\n{text}", mismatches[0]);
        assert_eq!(script.packets().count(), observation.trace.records().len(), "{name}");
        // The event stands beside its packet, unless it names many.
        assert_eq!(script.injections.len(), usize::from(name == "rxe_write_ecn"), "{name}");
    }
}

/// A script of one capture does not hold for another.
#[test]
fn captures_do_not_fit_each_others_scripts() {
    let recorded = CAPTURES.map(|(name, verb, event)| {
        let config = config(verb, event);
        (name, record(&config, &observation(name)), config)
    });
    for (name, script, config) in &recorded {
        let fitting = recorded
            .iter()
            .filter(|(other, ..)| compare(script, config, &observation(other), &Found::default()).is_empty());
        assert_eq!(fitting.map(|(other, ..)| *other).collect::<Vec<_>>(), [*name]);
    }
}

#[test]
fn a_recorded_capture_reads_well() {
    let (name, verb, event) = CAPTURES[6];
    insta::assert_snapshot!(record(&config(verb, event), &observation(name)));
}
