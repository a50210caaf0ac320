//! Traffic without events.

use dumper::{ActionKind, Event};

use super::pair::run;

#[test]
fn writes_pass() {
    run("rdma-verb = \"write\"\nnum-msgs-per-qp = 10\nmessage-size = 10240", "")
        .whole()
        .completes()
        .conforms();
}

#[test]
fn sends_pass() {
    run("rdma-verb = \"send\"\nnum-msgs-per-qp = 10\nmessage-size = 10240", "")
        .whole()
        .completes()
        .conforms();
}

#[test]
fn reads_pass() {
    run("rdma-verb = \"read\"\nnum-msgs-per-qp = 10\nmessage-size = 10240", "")
        .whole()
        .completes()
        .conforms();
}

#[test]
fn many_connections_of_one_byte_pass() {
    run(
        "rdma-verb = \"write\"\nnum-connections = 16\nnum-msgs-per-qp = 4\nmessage-size = 1\ntx-depth = 4",
        "",
    )
    .whole()
    .completes()
    .conforms();
}

#[test]
fn hosts_post_in_turn() {
    for verb in ["write", "send"] {
        let ran = run(
            &format!(
                "rdma-verb = \"{verb}\"\npattern = \"ping-pong\"\nnum-connections = 4\nnum-msgs-per-qp = 20\nmessage-size = 1500"
            ),
            "",
        );
        let ran = ran.whole().completes().conforms();
        let sources: Vec<_> =
            ran.observation.connections.iter().map(|connection| connection.requester.ip).collect();
        assert_eq!((sources[0], sources[1]), (sources[2], sources[3]));
        assert_ne!(sources[0], sources[1]);
        let iterations = &ran.analysis().iterations;
        assert_eq!(
            iterations.iter().map(|pair| (pair.connection, pair.known)).collect::<Vec<_>>(),
            [(1, 19), (3, 19)]
        );
    }
}

#[test]
fn psns_wrap() {
    run("rdma-verb = \"send\"\ninitial-psn = 16777213\nnum-msgs-per-qp = 3\nmessage-size = 3000", "")
        .whole()
        .completes()
        .conforms();
}

#[test]
fn connections_over_ipv6_pass() {
    let hosts = "[requester]\nip-list = [\"fd00::1/64\"]\n[responder]\nip-list = [\"fd00::2/64\"]";
    for verb in ["write", "send", "read"] {
        let traffic =
            format!("rdma-verb = \"{verb}\"\nnum-connections = 2\nnum-msgs-per-qp = 3\nmessage-size = 4096");
        let ran = run(&traffic, hosts).whole().completes().conforms();
        assert!(ran.observation.trace.flows().iter().all(|flow| flow.source.is_ipv6()));
        let event = format!("{hosts}\n[[event]]\nqpn = 2\npsn = 1\ntype = \"drop\"");
        // A Read whose first response is lost waits for its timer (docs/findings-rxe.md).
        let known: &[&str] = if verb == "read" { &["implied-nak-missing"] } else { &[] };
        run(&traffic, &event).whole().completes().hits(Event::Action(ActionKind::Drop), 1).breaks(known);
    }
}
