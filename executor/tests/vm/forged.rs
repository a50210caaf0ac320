//! Violations that are forged, as `rdma_rxe` does not commit them: each is found, and the test says nothing of it.

use corpus::{HeaderField, Role, SetField};
use dumper::wire::Opcode;
use p4::Actions;

use super::forger::{Forger, Forgery};
use super::pair::{PAIRS, Ran, alone, run, test};

const WRITES: &str =
    "rdma-verb = \"write\"\nnum-msgs-per-qp = 2\nmessage-size = 4096\nmax-retransmit-retry = 1";
const READS: &str =
    "rdma-verb = \"read\"\nnum-msgs-per-qp = 2\nmessage-size = 4096\nmax-retransmit-retry = 1";

/// An AETH that acknowledges, with credits that mean nothing; one that says that a PSN is missing (IBA vol.
/// 1, 9.7.5.2).
const ACK: u64 = 0x1f;
const NAK: u64 = 0x60;

/// A header field of a packet is another one, and its ICRC is right.
fn set(field: HeaderField, value: u64) -> Actions {
    Actions { set_field: Some(SetField { field, value }), ..Actions::default() }
}

/// The first packet of an opcode.
fn first(opcode: Opcode, actions: Actions) -> Forgery {
    Forgery { opcode, alters: false, actions }
}

/// Runs a test while what a host sends is forged.
fn forged(role: Role, forgery: Forgery, traffic: &str, events: &str) -> Ran {
    // A pair that is known to run, and to have nothing to say.
    run(traffic, "").whole().completes().conforms();
    let _alone = alone();
    let forger = Forger::between(role, forgery);
    let ran = Ran::of(&PAIRS, test(traffic, events));
    assert!(forger.has_forged(), "nothing was forged");
    ran.whole()
}

#[test]
fn an_altered_payload_is_found() {
    // A bit of the payload is inverted, and then the ICRC made right by a field that becomes what it was.
    let altered = Forgery { alters: true, ..first(Opcode::WriteMiddle, set(HeaderField::AckReq, 0)) };
    forged(Role::Requester, altered, WRITES, "").breaks_at_least("delivered-wrong");
}

#[test]
fn a_forged_ack_is_found() {
    let lost = "[[event]]\nqpn = 1\npsn = 2\ntype = \"drop\"";
    let acks = set(HeaderField::AethSyndrome, ACK);
    forged(Role::Responder, first(Opcode::Acknowledge, acks), WRITES, lost)
        .breaks_at_least("ack-beyond-data");
}

#[test]
fn a_forged_nak_is_found() {
    let naks = set(HeaderField::AethSyndrome, NAK);
    let ran = forged(Role::Responder, first(Opcode::Acknowledge, naks), WRITES, "");
    // The host counts every packet that left the switch as received, and no NAK.
    ran.breaks_at_least("nak-without-cause");
    ran.breaks_at_least("counter-differs");
}

#[test]
fn a_shortened_response_is_found() {
    let short = set(HeaderField::Payload, 512);
    forged(Role::Responder, first(Opcode::ReadResponseLast, short), READS, "")
        .breaks_at_least("response-length");
}

#[test]
fn a_swallowed_completion_is_found() {
    let mut ran = run(WRITES, "").whole().completes().conforms();
    // The host that saw it does not tell.
    ran.observation.completions.as_mut().unwrap().remove(0);
    ran.breaks_at_least("completion-missing");
}

impl Ran {
    /// It breaks a rule, and maybe others.
    fn breaks_at_least(&self, rule: &str) {
        let said = self.said();
        assert!(said.iter().any(|(broken, _)| *broken == rule), "{rule} is not among {said:?}");
    }
}
