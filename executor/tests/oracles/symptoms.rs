//! Symptoms of a slow NACK or of a stalled receiver, which are no findings of their own.

use crate::{judged, nic, signatures, test};

/// Findings of a test with the same NIC at both hosts.
fn found(fields: &str, text: &str) -> Vec<String> {
    let nics = [nic(fields), nic(fields)];
    signatures(&judged(&test(text), &nics).1)
}

const SLOW_NAK: &str = "retransmission.nack-generation-ns.write = 900_000\n";
const SLOW_RESPONSE: &str = "retransmission.nack-reaction-ns.read = 900_000\n";

/// The NAK of a Read request is named after the Read: there are no Writes in the test.
#[test]
fn a_test_of_reads_has_findings_about_reads() {
    let text = "[traffic]\nrdma-verb = \"read\"\nnum-msgs-per-qp = 10\nmessage-size = 1024\ntx-depth = 2\n\
                [[event]]\nqpn = 1\npacket = \"read-request\"\nnth = 3\ntype = \"drop\"\n";
    assert_eq!(found(SLOW_NAK, text), ["slow-retransmission/responder/slow-nack/generation-read"]);
}

/// Reads that are issued again by the ACK timer while the responder is slow to NAK their loss: it answers them in order, behind
/// the NAK.
#[test]
fn a_response_behind_a_slow_nak_is_not_slow() {
    let text = "[traffic]\nrdma-verb = \"read\"\nnum-connections = 16\nnum-msgs-per-qp = 28\nmessage-size = 681\n\
                tx-depth = 11\nbarrier-sync = true\nmin-retransmit-timeout = 4\nmax-retransmit-retry = 4\n\
                [[event]]\nqpn = 1\npacket = \"read-request\"\nnth = 1\ntype = \"drop\"\n";
    let found = found(SLOW_NAK, text);
    assert!(!found.iter().any(|one| one.contains("reaction-read")), "{found:?}");
}

/// A response that is slow by itself still is.
#[test]
fn a_response_behind_nothing_is_slow() {
    let text = "[traffic]\nrdma-verb = \"read\"\nnum-msgs-per-qp = 10\ntx-depth = 4\n\
                [[event]]\nqpn = 1\npsn = 5\ntype = \"drop\"\n";
    assert_eq!(found(SLOW_RESPONSE, text), ["slow-retransmission/responder/slow-nack/reaction-read"]);
}

/// A receiver that looks for another path holds whatever comes behind: nothing of that is a slow NACK.
#[test]
fn a_receiver_that_stalls_over_mig_req_is_not_slow() {
    let stalls = "apm.contexts = 8\napm.resolve-ns = 300_000\n";
    let text = "[traffic]\nnum-connections = { send = 9, read = 1 }\nrdma-verb = \"send_read\"\nnum-msgs-per-qp = 1\n\
                message-size = 0\nmin-retransmit-timeout = 5\n\
                [[event]]\nqpn = { first = 9 }\npsn = 1\ntype = \"set-field\"\nfield = \"mig-req\"\nvalue = 0\n";
    assert_eq!(found(stalls, text), [""; 0]);
}

/// The injector holds a Read request that is issued again for 30 ms: the responder reacts to what leaves the switch.
#[test]
fn time_in_the_injector_is_no_time_of_a_host() {
    let text = "[traffic]\nrdma-verb = \"read\"\nnum-msgs-per-qp = 2\n\
                [[event]]\nqpn = 1\npsn = 5\ntype = \"drop\"\n\
                [[event]]\nqpn = 1\npacket = \"read-request\"\nnth = 2\ntype = \"delay\"\ndelay-us = 30_000\n";
    let (analysis, assessment) = judged(&test(text), &[nic(""), nic("")]);
    assert_eq!(signatures(&assessment), [""; 0]);
    let reactions: Vec<_> = analysis.retransmissions.iter().filter_map(|entry| entry.reaction_ns).collect();
    assert!(!reactions.is_empty() && reactions.iter().all(|took| took.0 < 1_000_000), "{reactions:?}");
}
