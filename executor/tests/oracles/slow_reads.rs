//! A requester that takes 83 ms to ask for a Read again, longer than its ACK timer: what that makes of other rules.

use std::path::Path;

use executor::profile;

use super::{judged, signatures, test};

/// What is found on a requester with slow Reads, e810's, and a responder with another NIC.
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
