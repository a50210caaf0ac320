//! Packets that the injector rewrote: what of a test they excuse, and what nothing excuses.
//!
//! The receiver of a rewritten packet has seen another one than the trace shows, and its ICRC was right. It may drop it,
//! NAK it or end the QP (IBA vol. 1, 9.7.4 and 9.9), so what follows on the connection is not held to the rules of its
//! packets. It must not crash, hang, or report success for data that is not there, unless what it was told was a
//! valid lie.

use corpus::{Action, ConnectionSet, HeaderField, SetField, TestConfig, Verb};

/// The fields that the test rewrites, and on which connections. MigReq means nothing to the transport.
fn fields(config: &TestConfig) -> impl Iterator<Item = (HeaderField, &ConnectionSet)> {
    config.events.iter().filter_map(|event| match event.action {
        Action::SetField(SetField { field, .. }) if field != HeaderField::MigReq => {
            Some((field, &event.connections))
        }
        _ => None,
    })
}

/// Whether a test rewrites packets so that other connections than their own receive them.
pub(crate) fn misdirects(config: &TestConfig) -> bool {
    let all = ConnectionSet::First(config.traffic.load.connections());
    fields(config).any(|(field, connections)| field == HeaderField::DestQpn && connections.meets(&all))
}

/// Whether a test rewrites anything that matters to the transport.
pub(crate) fn rewrites(config: &TestConfig) -> bool {
    fields(config).next().is_some()
}

/// Whether a conforming receiver may report success of a message of this verb although its data is wrong or short: a
/// packet was made to say something else that is valid, and nothing in it tells.
pub(crate) fn may_deceive(config: &TestConfig, connection: u32, verb: Verb) -> bool {
    misdirects(config)
        || fields(config).filter(|(_, on)| on.contains(connection)).any(|(field, _)| match field {
            // Another valid operation, another place in the sequence, another address.
            HeaderField::Opcode | HeaderField::Psn | HeaderField::DestQpn | HeaderField::RethAddress => true,
            // An ACK out of a NAK says that a Send or Write has arrived. Only its data completes a Read: no syndrome
            // stands for that.
            HeaderField::AethSyndrome => verb != Verb::Read,
            // A Send is as long as its packets are; the length of Writes and Reads is in the RETH (9.7.4.1).
            HeaderField::PadCount | HeaderField::UdpLength | HeaderField::IpLength | HeaderField::Payload => {
                verb == Verb::Send
            }
            HeaderField::MigReq
            | HeaderField::AckReq
            | HeaderField::PartitionKey
            | HeaderField::RethKey
            | HeaderField::RethLength
            | HeaderField::Msn => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(field: &str, qpn: u32) -> TestConfig {
        let text = format!(
            "event = [{{ qpn = {qpn}, psn = 1, type = \"set-field\", field = \"{field}\", value = 1 }}]\n\
             traffic = {{ num-connections = 2 }}"
        );
        corpus::from_toml("rewritten.toml", &text).unwrap()
    }

    #[test]
    fn what_a_receiver_can_tell_is_no_excuse() {
        let length = test("payload", 1);
        assert!(!may_deceive(&length, 1, Verb::Write) && may_deceive(&length, 1, Verb::Send));
        assert!(!may_deceive(&length, 2, Verb::Send), "the other connection's packets are untouched");
        assert!(!may_deceive(&test("reth-key", 1), 1, Verb::Write));
        assert!(may_deceive(&test("reth-address", 1), 1, Verb::Write));
        assert!(may_deceive(&test("aeth-syndrome", 1), 1, Verb::Write));
        assert!(!may_deceive(&test("aeth-syndrome", 1), 1, Verb::Read));
        let elsewhere = test("dest-qpn", 1);
        assert!(misdirects(&elsewhere) && may_deceive(&elsewhere, 2, Verb::Read));
        assert!(rewrites(&elsewhere) && !rewrites(&test("mig-req", 1)));
    }
}
