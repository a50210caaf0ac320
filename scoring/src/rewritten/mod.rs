//! Packets that the injector rewrote: rules of a test that they excuse, and rules that nothing excuses.
//!
//! The receiver of a rewritten packet has seen another one than the trace shows, and its ICRC was right. It
//! may drop it, NAK it or end the QP (IBA vol. 1, 9.7.4 and 9.9), so later packets on the connection are not
//! held to the rules of its packets. It must not crash, hang, or report success for data that is not there,
//! unless the rewritten packets were a valid lie.

pub(crate) mod accepted;

use corpus::{Action, ConnectionSet, ControlPacket, Event, HeaderField, SetField, Target, TestConfig, Verb};

use crate::known::RnrRetries;

/// False beliefs that a conforming receiver may have of a message, as packets were rewritten into other valid
/// ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Deception {
    /// That its data is the sender's, and as long: it may be other data, and more or less of it.
    pub(crate) of_data: bool,
    /// That it has arrived, though it has not, or not all of it.
    pub(crate) of_arrival: bool,
}

/// The fields that the test rewrites, and by which events. MigReq means nothing to the transport.
fn fields(config: &TestConfig) -> impl Iterator<Item = (HeaderField, &Event)> {
    config.events.iter().filter_map(|event| match event.action {
        Action::SetField(SetField { field, .. }) if field != HeaderField::MigReq => Some((field, event)),
        _ => None,
    })
}

/// Returns true if a test rewrites packets so that other connections than their own receive them.
pub(crate) fn misdirects(config: &TestConfig) -> bool {
    let all = ConnectionSet::First(config.traffic.load.connections());
    fields(config).any(|(field, event)| field == HeaderField::DestQpn && event.connections.meets(&all))
}

/// Returns true if a test rewrites the address of a Write. The memory of all connections has one key, so the
/// data may be written over that of another connection, which is then lost.
fn overwrites(config: &TestConfig) -> bool {
    let traffic = &config.traffic;
    let writes = |connection| traffic.load.carries(connection, traffic.num_msgs_per_qp, Verb::Write);
    fields(config).any(|(field, event)| {
        field == HeaderField::RethAddress
            && matches!(event.target, Target::Data { .. })
            && (1..=traffic.load.connections())
                .any(|connection| event.connections.contains(connection) && writes(connection))
    })
}

/// Syndromes of RNR NAKs: their upper three bits are these (IBA vol. 1, table of AETH syndromes).
const RNR: u64 = 1;

/// Returns true if a test turns acknowledgements into RNR NAKs, of requests of any kind, to requesters that
/// retry after an RNR NAK without limit.
pub(crate) fn feigns_rnr_for_ever(config: &TestConfig) -> bool {
    let said = |set: SetField| set.field == HeaderField::AethSyndrome && set.apply(0) >> 5 == RNR;
    RnrRetries::from_attribute(config.traffic.rnr_retry) == RnrRetries::Unlimited
        && config.events.iter().any(|event| matches!(event.action, Action::SetField(set) if said(set)))
}

/// The field that a test rewrites on a connection, if it is one field with one value.
pub(crate) fn only_field(config: &TestConfig, connection: u32) -> Option<SetField> {
    let mut sets =
        config.events.iter().filter(|event| event.connections.contains(connection)).filter_map(|event| {
            match event.action {
                Action::SetField(set) if set.field != HeaderField::MigReq => Some(set),
                _ => None,
            }
        });
    let first = sets.next()?;
    sets.all(|set| set == first).then_some(first)
}

/// Whether a test rewrites anything that matters to the transport.
pub(crate) fn rewrites(config: &TestConfig) -> bool {
    fields(config).next().is_some()
}

/// False beliefs that a conforming receiver may have of a message of this verb, as no packet shows that they
/// are false.
pub(crate) fn deception(config: &TestConfig, connection: u32, verb: Verb) -> Deception {
    if misdirects(config) || overwrites(config) {
        return Deception { of_data: true, of_arrival: true };
    }
    let mut deception = Deception::default();
    for (field, event) in fields(config).filter(|(_, event)| event.connections.contains(connection)) {
        match event.target {
            Target::Data { .. } => deception.of_data |= in_data(field, verb),
            // A request for other data, of which the responses say nothing; or no request for data at all:
            // its RETH can be the payload of a Send, and later packets are then in another message's buffer.
            Target::Control { packet: ControlPacket::ReadRequest, .. } => {
                deception.of_data |=
                    field == HeaderField::Opcode || (verb == Verb::Read && is_other_request(field));
            }
            // Of a message of its own an ACK says only that it has arrived. Only its data completes a Read: no
            // acknowledgement stands for that.
            Target::Control { packet: ControlPacket::Ack | ControlPacket::Nak, .. } => {
                deception.of_arrival |= verb != Verb::Read && is_other_acknowledgement(field);
            }
            Target::Control { packet: ControlPacket::Cnp, .. } => {}
        }
    }
    deception.of_arrival |= deception.of_data;
    deception
}

/// Returns true if a field can make a data packet carry other data. A Send is as long as its packets are; the
/// length of Writes and Reads is in the RETH (IBA vol. 1, 9.7.4.1).
const fn in_data(field: HeaderField, verb: Verb) -> bool {
    match field {
        HeaderField::Opcode | HeaderField::Psn | HeaderField::DestQpn => true,
        HeaderField::PadCount | HeaderField::UdpLength | HeaderField::IpLength | HeaderField::Payload => {
            matches!(verb, Verb::Send)
        }
        // Where the data of Writes goes is every connection's matter.
        HeaderField::RethAddress
        | HeaderField::AethSyndrome
        | HeaderField::MigReq
        | HeaderField::AckReq
        | HeaderField::PartitionKey
        | HeaderField::RethKey
        | HeaderField::RethLength
        | HeaderField::Msn => false,
    }
}

/// Returns true if a field can make a Read request ask for other data, or turn it into another request.
const fn is_other_request(field: HeaderField) -> bool {
    matches!(field, HeaderField::Opcode | HeaderField::Psn | HeaderField::DestQpn | HeaderField::RethAddress)
}

/// Returns true if a field can make an acknowledgement acknowledge other packets.
const fn is_other_acknowledgement(field: HeaderField) -> bool {
    matches!(field, HeaderField::Opcode | HeaderField::Psn | HeaderField::DestQpn | HeaderField::AethSyndrome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(field: &str, packet: &str, qpn: u32) -> TestConfig {
        let verb = if packet == READ_REQUEST { "read" } else { "write" };
        let text = format!(
            "event = [{{ qpn = {qpn}, {packet}, type = \"set-field\", field = \"{field}\", value = 1 }}]\n\
             traffic = {{ num-connections = 2, rdma-verb = \"{verb}\" }}"
        );
        corpus::from_toml("rewritten.toml", &text).unwrap()
    }

    const DATA: &str = "psn = 1";
    const ACK: &str = "packet = \"ack\", nth = 1";
    const READ_REQUEST: &str = "packet = \"read-request\", nth = 1";

    const ALL: Deception = Deception { of_data: true, of_arrival: true };
    const NONE: Deception = Deception { of_data: false, of_arrival: false };

    #[test]
    fn what_a_receiver_can_tell_is_no_excuse() {
        let length = test("payload", DATA, 1);
        assert_eq!([Verb::Write, Verb::Send].map(|verb| deception(&length, 1, verb)), [NONE, ALL]);
        assert_eq!(deception(&length, 2, Verb::Send), NONE, "the other connection's packets are untouched");
        assert_eq!(deception(&test("reth-key", DATA, 1), 1, Verb::Write), NONE);
        assert_eq!(deception(&test("reth-address", READ_REQUEST, 1), 1, Verb::Read), ALL);
        assert_eq!(deception(&test("reth-address", READ_REQUEST, 1), 2, Verb::Read), NONE);
        let elsewhere = test("dest-qpn", DATA, 1);
        assert!(misdirects(&elsewhere));
        assert_eq!(deception(&elsewhere, 2, Verb::Read), ALL);
        assert!(rewrites(&elsewhere) && !rewrites(&test("mig-req", DATA, 1)));
    }

    #[test]
    fn a_write_can_go_to_the_memory_of_any_connection() {
        let place = test("reth-address", DATA, 1);
        for (connection, verb) in [(1, Verb::Write), (2, Verb::Write), (2, Verb::Send), (2, Verb::Read)] {
            assert_eq!(deception(&place, connection, verb), ALL, "{connection}, {verb:?}");
        }
        // Sends have no address, and no connection writes.
        let mut sends = place;
        sends.traffic.load = corpus::Load::Same { verb: Verb::Send, connections: 2 };
        assert_eq!(deception(&sends, 1, Verb::Send), NONE);
    }

    #[test]
    fn a_read_request_can_become_a_send() {
        let opcode = test("opcode", READ_REQUEST, 1);
        assert_eq!(deception(&opcode, 1, Verb::Send), ALL);
        assert_eq!(deception(&test("psn", READ_REQUEST, 1), 1, Verb::Send), NONE);
        assert_eq!(deception(&opcode, 2, Verb::Send), NONE);
    }

    #[test]
    fn what_an_acknowledgement_is_made_to_say_of_readiness() {
        let feigned = |value: u64| {
            let text = format!(
                "event = [{{ qpn = 1, {ACK}, type = \"set-field\", field = \"aeth-syndrome\", value = {value} }}]"
            );
            let mut config = corpus::from_toml("rnr.toml", &text).unwrap();
            let unlimited = feigns_rnr_for_ever(&config);
            config.traffic.rnr_retry = 6;
            assert!(!feigns_rnr_for_ever(&config), "{value}");
            unlimited
        };
        assert_eq!([0x1f, 0x20, 0x3f, 0x40, 0x60].map(feigned), [false, true, true, false, false]);
    }

    #[test]
    fn an_acknowledgement_changes_no_data() {
        let arrived = Deception { of_data: false, of_arrival: true };
        for field in ["aeth-syndrome", "psn", "opcode"] {
            assert_eq!(deception(&test(field, ACK, 1), 1, Verb::Write), arrived, "{field}");
            assert_eq!(deception(&test(field, ACK, 1), 1, Verb::Read), NONE, "{field}");
        }
        assert_eq!(deception(&test("msn", ACK, 1), 1, Verb::Write), NONE);
    }
}
