//! Slow Reads: a requester that takes 83 ms to ask for one again, longer than its ACK timer, a responder that
//! takes long to answer one again. What that makes of other rules.

use std::path::Path;

use executor::profile;

use super::{judged, nic, signatures, test};

/// Findings on a requester with slow Reads, e810's, and a responder with another NIC.
fn found(text: &str) -> Vec<String> {
    let nics = ["e810", "cx5"].map(|nic| profile::load(nic, Path::new(".")).unwrap());
    let config = test(&format!("requester.nic = \"e810\"\nresponder.nic = \"cx5\"\n{text}"));
    signatures(&judged(&config, &nics).1)
}

#[test]
fn a_nak_does_not_wait_for_a_read_that_is_asked_for_again() {
    let found = found(
        "[traffic]\nnum-connections = 1\nrdma-verb = \"send_read\"\nnum-msgs-per-qp = 9\nmtu = 2048\n\
         message-size = 4097\ntx-depth = 3\niter-mode = \"per-message\"\n\
         [[event]]\nqpn = 1\npsn = 1\nevery = 8\ncount = 4\ntype = \"drop\"\n",
    );
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn an_expiry_among_responses_beyond_a_gap_may_spend_two_retries() {
    let found = found(
        "[traffic]\nnum-connections = { send = 4, read = 12 }\nrdma-verb = \"send_read\"\nnum-msgs-per-qp = 1\n\
         mtu = 256\nmessage-size = 354305\nmin-retransmit-timeout = 6\nmax-retransmit-retry = 2\n\
         [[event]]\nqpn = 5\npsn = 1\ntype = \"drop\"\n",
    );
    assert!(found.is_empty(), "{found:?}");
}

/// A responder that takes 300 µs to answer a Read that is asked for again: a NAK for what came behind that
/// waits for the answer, and says nothing of how long NAKs take.
#[test]
fn a_nak_waits_for_the_answer_of_a_read_that_came_late() {
    let slow = nic("[retransmission.nack-reaction-ns]\nread = 300_000\n");
    let config = test(
        "[traffic]\nrdma-verb = \"read\"\nnum-msgs-per-qp = 5\nmessage-size = 0\ntx-depth = 5\n\
         [[event]]\nqpn = 1\npacket = \"read-request\"\nnth = 1\nevery = 3\ntype = \"reorder\"\nby = 8\n",
    );
    let found = signatures(&judged(&config, &[slow.clone(), slow]).1);
    assert!(found.iter().all(|signature| signature.ends_with("/reaction-read")), "{found:?}");
}
