//! Requests that a responder has to refuse or drop, and accepts.

use crate::judge::Judge;

#[test]
fn a_write_of_another_length() {
    let write = |reth: u32, middle: u32, answer: &str| {
        format!(
            "0    > WRITE_FIRST 1 reth={reth}
             +300 > WRITE_MIDDLE 2 bytes={middle}
             +300 > WRITE_LAST 3 ackreq
             5000 < {answer}"
        )
    };
    let judge = Judge::new();
    let remark = "protocol-violation/responder/wrong-length-accepted/in-order c1 @4";
    judge.silent(&write(3_072, 1_024, "ACK 3 msn=1"));
    for (reth, middle) in [(3_071, 1_024), (3_073, 1_024), (4_096, 1_024), (1_024, 1_024), (2_560, 512)] {
        judge.gives(&write(reth, middle, "ACK 3 msn=1"), &[remark]);
        judge.silent(&write(reth, middle, "FATAL 3"));
        judge.silent(&write(reth, middle, "FATAL 1"));
    }
    // The packets before the last one may be acknowledged.
    judge.silent(&write(4_096, 1_024, "ACK 2"));
    judge.gives("0 > WRITE_ONLY 1 ackreq reth=2048\n5000 < ACK 1 msn=1", &[&remark.replace("@4", "@2")]);
    // A Send that goes on after a short packet.
    judge.gives(
        "0    > SEND_FIRST 1 bytes=100
         +300 > SEND_LAST 2 ackreq
         5000 < ACK 2 msn=1",
        &[&remark.replace("@4", "@3")],
    );
    // Sent as it should be before it was acknowledged.
    judge.silent(
        "0    > WRITE_FIRST 1 reth=2048
         +300 > WRITE_MIDDLE 2 drop
         +300 > WRITE_LAST 3 ackreq
         5000 < NAK 2
         9000 > WRITE_MIDDLE 2 bytes=1024
         +300 > WRITE_LAST 3 ackreq drop",
    );
}

/// A test that rewrites a field of the first packets, or of Read requests.
fn rewriting(field: &str, value: u64, target: &str) -> Judge {
    let verb = if target == DATA { "write" } else { "read" };
    let text = format!(
        "event = [{{ qpn = 1, {target}, type = \"set-field\", field = \"{field}\", value = {value} }}]\n\
         traffic = {{ rdma-verb = \"{verb}\" }}"
    );
    let mut judge = Judge::new();
    judge.config.events = corpus::from_toml("test.toml", &text).expect("an event").events;
    judge
}

const DATA: &str = "psn = 1";
const READ_REQUEST: &str = "packet = \"read-request\", nth = 1";

/// The first packet of a Write is rewritten, and `then` comes what the responder says.
fn write(then: &str) -> String {
    format!("0 > WRITE_FIRST 1 rewritten\n+300 > WRITE_LAST 2 ackreq\n{then}")
}

/// The whole Write is sent again before anything is said.
const REPEATED: &str = "80000000 > WRITE_FIRST 1
     +300 > WRITE_LAST 2 ackreq
     +5000 < ACK 2 msn=1";

#[test]
fn a_wrong_partition_key() {
    let judge = rewriting("p-key", 0x1234, DATA);
    let remark = "protocol-violation/responder/wrong-partition-accepted c1 @3";
    judge.gives(&write("5000 < ACK 2 msn=1"), &[remark]).silent(&write(REPEATED));
    judge.gives(&write("5000 < ACK 1"), &[remark]);
    judge.silent(&write("5000 < NAK 1")).silent(&write("5000 < FATAL 1"));
    // Only who is a full member differs.
    rewriting("p-key", 0x7fff, DATA).silent(&write("5000 < ACK 2 msn=1"));
    // Nobody knows which field it was.
    let mut two = rewriting("p-key", 0x1234, DATA);
    two.config.events.extend(rewriting("ack-req", 1, DATA).config.events);
    two.silent(&write("5000 < ACK 2 msn=1"));
}

#[test]
fn a_wrong_r_key() {
    let judge = rewriting("reth-key", 1, DATA);
    let remark = "protocol-violation/responder/wrong-key-accepted c1 @3";
    judge.gives(&write("5000 < ACK 2 msn=1"), &[remark]).silent(&write(REPEATED));
    judge.silent(&write("5000 < FATAL 1"));
    // No key is checked of no bytes, and a LAST has none.
    judge.silent("0 > WRITE_ONLY 1 ackreq bytes=0 rewritten\n5000 < ACK 1 msn=1");
    judge.silent("0 > WRITE_FIRST 1\n+300 > WRITE_LAST 2 ackreq rewritten\n5000 < ACK 2 msn=1");
    rewriting("reth-key", 1, READ_REQUEST).gives(
        "0 > READ 1 bytes=1024 rewritten\n5000 < READ_RESPONSE_ONLY 1 msn=1",
        &[&remark.replace("@3", "@2")],
    );
}

#[test]
fn a_rewritten_length() {
    let remark = "protocol-violation/responder/wrong-length-accepted c1 @3";
    let judge = rewriting("reth-length", 999, DATA);
    judge.gives(&write("5000 < ACK 2 msn=1"), &[remark]).silent(&write(REPEATED));
    judge.silent(&write("5000 < ACK 1")).silent(&write("5000 < FATAL 2"));
    rewriting("reth-length", 2_048, DATA).silent(&write("5000 < ACK 2 msn=1"));
    // Of a Read it asks for more or less.
    rewriting("reth-length", 999, READ_REQUEST)
        .silent("0 > READ 1 bytes=1024 rewritten\n5000 < READ_RESPONSE_ONLY 1 bytes=999 msn=1");
    // A LAST that comes early.
    let early = rewriting("opcode", 0x08, DATA);
    let ends =
        "0 > WRITE_FIRST 1\n+300 > WRITE_MIDDLE 2 rewritten\n+300 > WRITE_LAST 3 ackreq\n5000 < ACK 2 msn=1";
    early.gives(ends, &["protocol-violation/responder/wrong-length-accepted c1 @4"]);
    early.silent(&ends.replace("ACK 2 msn=1", "FATAL 2"));
    early.silent(&ends.replace("WRITE", "SEND"));
}
