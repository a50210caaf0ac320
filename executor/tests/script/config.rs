//! Tests that scripts describe.

use crate::hand::{config, script};

/// The events of a script, one a line.
fn events(text: &str) -> String {
    let config = config(&script(text));
    config
        .events
        .iter()
        .map(|event| format!("{:?} {:?} {:?}\n", event.connections, event.target, event.action))
        .collect()
}

#[test]
fn a_script_describes_a_test() {
    let text = "\
nic cx5
responder nic cx6-dx
traffic num-connections { send = 2, read = 1 }
traffic tx-depth 4
traffic iter-mode per-message
traffic initial-psn 0xfffff0
requester min-time-between-cnps 50
requester ip-list [\"10.0.0.1/24\", \"10.0.0.3/24\"]
responder adaptive-retrans true
responder traffic-class 3
responder ets { weights = [10, 20, 30, 40], strict = [] }
+0 post send-read 4096 mtu 512 x 7
inject qp first 2 psn 5 iter 2 drop
inject qp 1,3 psn 2 every 8 count 3 ecn delay 1.5us
inject qp all nak nth 1 reorder 3
...
";
    insta::assert_snapshot!(config(&script(text)).to_toml());
}

/// Inner tables are values, and each operation a line.
#[test]
fn a_script_describes_flow_tables_and_paths() {
    let text = "\
responder offload { flows = 40, egress-masks = 8, place = \"last\", rule = [{ match = \"ipv6\", forward-to = 2 }, \
{ forward-to = \"port\" }, { table = 2, forward-to = \"port\" }] }
responder loss-recovery selective-repeat
requester loss-recovery selective-repeat
network path [{ delay-ns = 3000 }, { delay-ns = 9000, weight = 2 }]
network spray packet
control { at-ms = 5, host = \"responder\", do = \"add-flows\", count = 500 }
control { at-ms = 6, host = \"responder\", do = \"remove-flows\", count = 500 }
+0 post write 4096
...
";
    insta::assert_snapshot!(config(&script(text)).to_toml());
}

#[test]
fn profiles_are_beside_the_script() {
    for (nic, expected) in
        [("./slow.toml", "tests/gbn/./slow.toml"), ("slow.toml", "tests/gbn/slow.toml"), ("cx5", "cx5")]
    {
        let text = format!("nic {nic}\n+0 post write 1\n...\n");
        let script = dumper::script::parse("tests/gbn/a.rds", &text).unwrap();
        assert_eq!(config(&script).responder.nic, expected);
    }
}

#[test]
fn rounds_and_occurrences_are_counted() {
    let text = "\
traffic num-connections 2
+0 post write 4096
+0 > WRITE_FIRST psn 1 drop
+0 > WRITE_MIDDLE psn 2 ecn delay 2T
+0 > WRITE_FIRST psn 1 qp 2 drop
+0 < NAK-SEQ psn 1 drop
+0 > WRITE_FIRST psn 1 drop
+0 < NAK-SEQ psn 1 drop
+0 > WRITE_FIRST psn 1
+0 > WRITE_MIDDLE psn 2 corrupt
{
+0 < ACK psn 2 drop
+0 < ACK psn 2 qp 2 set mig-req 0
}
+0 < ACK psn 3 duplicate 2
...
+0 > WRITE_LAST psn 4 iter 4 drop
+0 > WRITE_LAST psn 4 drop
";
    insta::assert_snapshot!(events(text));
}

/// The published switch counts a jump as a round, and begins again with a message.
#[test]
fn rounds_follow_the_iter_mode() {
    let text = "\
traffic iter-mode per-message
+0 post write 2048 x 2
+0 > WRITE_FIRST psn 1
+0 > WRITE_FIRST psn 1 drop
+0 > WRITE_LAST psn 2 drop
+0 > WRITE_FIRST psn 3 drop
";
    insta::assert_snapshot!(events(text), @"
    One(1) Data { psn: 1, iter: 2 } Drop(Original)
    One(1) Data { psn: 2, iter: 2 } Drop(Original)
    One(1) Data { psn: 3, iter: 1 } Drop(Original)
    ");
}
