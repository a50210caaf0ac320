//! Retransmissions join behind the packets in the transmit pipeline (Lumina (preprint) §6.2, figures 9 to
//! 11).

use corpus::TestConfig;
use dumper::wire::{Class, NakCode, Syndrome};
use dumper::{ActionKind, Event, Nanos, Record};

use super::{data, run};

/// The fifth packet of a Write of so many bytes is dropped (Lumina (preprint) figure 10).
fn config(bytes: u32) -> TestConfig {
    let text = format!(
        "[traffic]\nnum-msgs-per-qp = 1\nmessage-size = {bytes}\n[[event]]\nqpn = 1\npsn = 5\ntype = \"drop\"\n"
    );
    corpus::from_toml("test.toml", &text).unwrap()
}

/// From the NAK to the repeated packet, in µs.
fn reaction(bytes: u32, profile: &str) -> f64 {
    let observation = run(&config(bytes), profile);
    let first = observation.connections[0].requester.initial_psn.unwrap();
    let records = observation.trace.records();
    let is_nak = |record: &&Record| record.aeth().syndrome == Syndrome::Nak(NakCode::PsnSequenceError);
    let nak = records.iter().filter(|record| record.class() == Class::Acknowledge).find(is_nak).unwrap();
    let again =
        records.iter().filter(|record| record.class().is_data() && record.psn.relative_to(first) == 5).nth(1);
    (again.unwrap().time - nak.time).0 as f64 / 1_000.0
}

/// NACKs are answered 5 µs after the message began, with some 50 packets sent.
const PIPELINE: &str = "[transmit]\npipeline-bytes = 65_536\n[retransmission.nack-generation-ns]\nwrite = 1_000\n\
                        [retransmission.nack-reaction-ns]\nwrite = 1_500\n";

/// A short message has left the pipeline when the answer to its NAK is due; of a long one the pipeline is full.
#[test]
fn reactions_to_naks_of_long_messages_wait_for_the_pipeline() {
    let short: Vec<f64> = [10, 20, 30, 40, 50].map(|kb| reaction(kb * 1_024, PIPELINE)).to_vec();
    assert!(short.iter().all(|reaction| (reaction - short[0]).abs() < 0.1), "{short:?}");
    let growing: Vec<f64> = [60, 70, 80, 90, 100, 110].map(|kb| reaction(kb * 1_024, PIPELINE)).to_vec();
    assert!(growing.windows(2).all(|pair| pair[0] < pair[1]), "{growing:?}");
    let long: Vec<f64> = [140, 160, 200].map(|kb| reaction(kb * 1_024, PIPELINE)).to_vec();
    assert!(long.iter().all(|reaction| (reaction - long[0]).abs() < 0.1), "{long:?}");
    // 64 KiB of frames at 100 Gb/s.
    assert!((long[0] - short[0] - 5.2).abs() < 0.5, "{long:?} after {short:?}");
}

/// Without one the repeated packet is the next.
#[test]
fn without_a_pipeline_the_size_of_a_message_says_nothing() {
    let reactions = [10, 50, 100, 200].map(|kb| reaction(kb * 1_024, ""));
    assert!(reactions.iter().all(|reaction| (reaction - reactions[0]).abs() < 0.1), "{reactions:?}");
}

/// CNPs do not wait behind the data of a full pipeline: they keep their interval of 4 µs.
#[test]
fn cnps_pass_the_pipeline() {
    let text = "[traffic]\nrdma-verb = \"send_read\"\nnum-connections = { send = 1, read = 1 }\nnum-msgs-per-qp = 3\n\
                message-size = 204_800\n[[event]]\nqpn = 2\npsn = 1\nevery = 1\ntype = \"ecn\"\n";
    let mut config = corpus::from_toml("test.toml", text).unwrap();
    config.responder.roce.dcqcn_rp_enable = false;
    let observation = run(&config, PIPELINE);
    let records = observation.trace.records().iter();
    let cnps: Vec<Nanos> =
        records.filter(|record| record.class() == Class::Cnp).map(|record| record.time).collect();
    let marked = observation
        .trace
        .records()
        .iter()
        .find(|record| record.event() == Event::Action(ActionKind::Ecn))
        .unwrap()
        .time;
    // The switch and both cables, the NIC, and a packet that is on the cable.
    assert!((cnps[0] - marked).0 < 1_200, "{cnps:?} after {marked}");
    assert!(cnps.windows(2).all(|pair| (pair[1] - pair[0]).0 >= 3_900), "{cnps:?}");
}

/// A full pipeline delays nothing while nothing is lost: the cable was busy in any case.
#[test]
fn a_pipeline_changes_nothing_without_losses() {
    let mut config = config(102_400);
    config.events.clear();
    let [without, with] = ["", PIPELINE].map(|profile| data(&run(&config, profile), 0));
    assert_eq!(without.len(), 100);
    for ((without, with), before) in without.iter().zip(with).zip(0..) {
        // A cable that is waited for is looked at by the nanosecond, one that is filled ahead is not.
        assert!((0..=before).contains(&without.0.signed_since(with.0)), "{without:?}, {with:?}");
    }
}
