//! Packets with rewritten headers (IBA vol. 1, 9.6, 9.7.4, 9.9): a conforming receiver drops them, NAKs them
//! or ends the QP, and nothing of that is an anomaly.

use corpus::{HeaderField, TestConfig};
use dumper::observation::CompletionStatus::{
    self, Error, RemoteError, RetryExceeded, RnrRetryExceeded, Success,
};

use crate::{judged, nic, signatures, test};

/// Three messages of four packets, one of them rewritten.
fn rewritten(verb: &str, event: &str, field: &str, value: u64) -> TestConfig {
    test(&format!(
        "event = [{{ qpn = 1, {event}, type = \"set-field\", field = \"{field}\", value = {value} }}]\n\
         [traffic]\nrdma-verb = \"{verb}\"\nnum-connections = 2\nnum-msgs-per-qp = 3\nmessage-size = 1_000\nmtu = 256\n\
         min-retransmit-timeout = 8\nmax-retransmit-retry = 2\nrnr-retry = 3\n"
    ))
}

/// Status of the messages of the first connection.
fn ends(config: &TestConfig) -> Vec<CompletionStatus> {
    let nics = [nic(""), nic("")];
    let observation = executor::sim::run(config, nics.clone()).unwrap();
    let (_, assessment) = judged(config, &nics);
    assert_eq!(signatures(&assessment), [""; 0], "{}", config.to_toml());
    let first = observation.completions().iter().filter(|one| one.connection == 1);
    first.map(|one| one.status).filter(|status| *status != CompletionStatus::Flushed).collect()
}

#[test]
fn receivers_do_what_the_specification_says() {
    let done = vec![Success; 3];
    let write = |event: &str, field: &str, value| ends(&rewritten("write", event, field, value));
    // Dropped, and repeated.
    assert_eq!(write("psn = 2", "p-key", 0x1234), done);
    assert_eq!(write("psn = 2", "udp-length", 9), done);
    assert_eq!(write("psn = 2", "ip-length", 9), done);
    assert_eq!(write("psn = 2", "dest-qpn", 5), done);
    assert_eq!(write("psn = 2", "psn", 1), done);
    // Acknowledged once more, or not.
    assert_eq!(write("psn = 2", "ack-req", 1), done);
    // NAKed for good.
    assert_eq!(write("psn = 2", "opcode", 0x01), [RemoteError], "a Send in the middle of a Write");
    assert_eq!(write("psn = 2", "payload", 100), [RemoteError], "shorter than the MTU");
    assert_eq!(write("psn = 5", "reth-key", 1), [Success, RemoteError]);
    assert_eq!(write("psn = 1", "reth-length", 999), [RemoteError]);
    assert_eq!(write("psn = 1", "reth-length", u64::from(u32::MAX)), [RemoteError]);
    assert_eq!(write("psn = 1", "reth-address", 1 << 40), [RemoteError]);
    // A NAK that the injector made of an ACK; changed fields of an ACK that conform.
    assert_eq!(write("packet = \"ack\", nth = 1", "aeth-syndrome", 0x61), [RemoteError]);
    assert_eq!(write("packet = \"ack\", nth = 1", "aeth-syndrome", 0x60), done);
    assert_eq!(write("packet = \"ack\", nth = 1", "msn", 3), done);
    // Always refused without a word: the requester gives up.
    let always = write("psn = 1, every = 1", "p-key", 1);
    assert!(always == [RetryExceeded] || always == done, "{always:?}: only its first round is rewritten");

    let read = |event: &str, field: &str, value| ends(&rewritten("read", event, field, value));
    assert_eq!(read("packet = \"read-request\", nth = 1", "reth-key", 1), [RemoteError]);
    assert_eq!(read("packet = \"read-request\", nth = 1", "reth-length", 0), [Error]);
    assert_eq!(read("psn = 2", "payload", 100), [Error], "a response shorter than was asked for");
    assert_eq!(read("psn = 2", "psn", 1), done);
}

/// Every field of every kind of packet, with small, large and middling operands: nothing is found, and everything ends.
#[test]
fn whatever_is_rewritten_nothing_is_found() {
    for verb in ["write", "read", "send", "send_read"] {
        for event in ["psn = 1", "psn = 2, every = 3", "psn = 12", "packet = \"ack\", nth = 1"] {
            if verb == "read" && event.contains("ack") {
                continue;
            }
            for (name, field) in HeaderField::NAMES {
                let largest = field.largest();
                for value in [0, 1, 4, 255, largest / 2, largest - 1, largest] {
                    ends(&rewritten(verb, event, name, value.min(largest)));
                }
            }
        }
    }
}

/// An ACK that is made an RNR NAK is answered with retries, of a Write as of a Send.
#[test]
fn retries_that_rewritten_acks_ask_for() {
    let refused = rewritten("write", "packet = \"ack\", nth = 1, every = 1", "aeth-syndrome", 0x2c);
    assert_eq!(ends(&refused), [RnrRetryExceeded]);
}
