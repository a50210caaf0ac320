//! NAKs that end the QP, against the request that they refuse.

use dumper::wire::{Class, Verb};

use super::ledger::Ledger;
use super::packet::Packet;
use super::requester::Requester;
use super::responder::Responder;
use crate::anomaly::{Evidence, Role};
use crate::rules::Rule;

/// Rules of the requester: a responder may refuse for good what breaks one.
const CAUSES: [Rule; 4] =
    [Rule::RequestPosition, Rule::PsnSkipped, Rule::ReissueAddress, Rule::RetransmissionDiffers];

/// A NAK that ends the QP enters the switch.
///
/// A test gives its Writes and Reads memory that they may access, and requests that all left the switch as they came
/// show whether one is malformed. Receives may be too short for a Send: Sends are not judged, nor atomics.
#[cold]
pub(super) fn judge(requester: &Requester, responder: &Responder, packet: &Packet, ledger: &mut Ledger<'_>) {
    // Without a configuration nobody knows which memory the application may access.
    if ledger.known.retries.is_none() || responder.has_failed() || responder.took_misfits() {
        return;
    }
    let is_granted = |class| matches!(class, Class::Request(Verb::Write, _) | Class::ReadRequest);
    let well_formed = match requester.unacknowledged(packet.psn) {
        Some(opcode) => is_granted(opcode.class()),
        None => !requester.has_sent(packet.psn),
    };
    let connection = Some(ledger.connection());
    let broken = |rule| ledger.anomalies.first().contains_key(&(rule, connection));
    if !well_formed || CAUSES.into_iter().any(broken) {
        return;
    }
    let relative = ledger.relative(packet.psn);
    let what = format!("ends the QP with a NAK of PSN {relative}, and nothing is wrong with that request");
    let evidence = Evidence::packets([packet.sequence]);
    ledger.broken(Role::Responder, Rule::FatalNakWithoutCause, responder.state_name(), what, evidence);
}
