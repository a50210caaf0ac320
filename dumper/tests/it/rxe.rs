//! The captures of a real stack (`tests/data`): read whole, and showing what was injected.

use std::collections::BTreeMap;

use dumper::capture::{self, ReadOptions};
use dumper::integrity::{self, Verdict};
use dumper::trace::{Origin, Traced};
use dumper::wire::{Class, NakCode, Syndrome};
use dumper::{Event, Psn};

use crate::support::data_file;

/// Initial PSN of the requester in all of them.
const INITIAL_PSN: Psn = Psn::new(1000);

fn read(name: &str) -> Traced {
    let captured = capture::read(&[data_file(name)], ReadOptions::default(), &mut |_| ()).unwrap();
    assert_eq!(captured.traced.damage, [], "{name}");
    assert_eq!(captured.traced.skipped, Default::default(), "{name}");
    captured.traced
}

/// Events by kind, with the relative PSNs that they hit, in order.
fn events(traced: &Traced) -> BTreeMap<String, Vec<u32>> {
    let mut events: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for record in traced.trace.records().iter().filter(|record| record.event() != Event::None) {
        let relative = record.psn.relative_to(INITIAL_PSN);
        events.entry(record.event().to_string()).or_default().push(relative);
    }
    events
}

fn naks(traced: &Traced) -> Vec<u32> {
    let records = traced.trace.records().iter().filter(|record| record.class() == Class::Acknowledge);
    records
        .filter(|record| record.aeth().syndrome == Syndrome::Nak(NakCode::PsnSequenceError))
        .map(|record| record.psn.relative_to(INITIAL_PSN))
        .collect()
}

#[test]
fn the_injected_events_and_the_naks_they_caused_are_there() {
    for (name, event, psns, nak) in [
        ("rxe_write_mid.pcap", "drop", vec![16], vec![16]),
        ("rxe_write_tail.pcap", "drop", vec![100], vec![]),
        ("rxe_write_rep2.pcap", "drop", vec![16, 16], vec![16]),
        ("rxe_write_ecn.pcap", "ecn", (1..=100).collect(), vec![]),
        ("rxe_send_mid.pcap", "drop", vec![16], vec![16]),
        ("rxe_send_corrupt.pcap", "corrupt", vec![16], vec![16]),
        ("rxe_read_reqdrop_mid.pcap", "drop", vec![41], vec![41]),
        ("rxe_read_resp_first.pcap", "drop", vec![41], vec![]),
        ("rxe_write_last_full.pcap", "drop", vec![20], vec![20]),
    ] {
        let traced = read(name);
        assert_eq!(traced.trace.origin(), Origin::Mirror, "{name}");
        assert_eq!(events(&traced), BTreeMap::from([(event.to_owned(), psns)]), "{name}");
        assert_eq!(naks(&traced), nak, "{name}");
        assert_eq!(traced.icrc.wrong, 0, "{name}");
        assert_eq!(traced.trace.flows().len(), 2, "{name}");
        let integrity = integrity::check(&traced.trace, None);
        let verdicts = integrity.conditions.each_ref().map(|condition| condition.verdict);
        assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Unknown, Verdict::Unknown], "{name}");
    }
}

/// Ten messages of 10 240 bytes: what the data packets carry adds up, retransmissions aside.
#[test]
fn payloads_of_trimmed_packets_are_right() {
    for name in ["rxe_write_ecn.pcap", "rxe_read_resp_first.pcap", "rxe_send_mid.pcap"] {
        let traced = read(name);
        let by_psn: BTreeMap<u32, u16> = traced
            .trace
            .records()
            .iter()
            .filter(|record| record.class().is_data())
            .map(|record| (record.psn.relative_to(INITIAL_PSN), record.payload_len))
            .collect();
        assert_eq!(by_psn.keys().copied().collect::<Vec<_>>(), (1..=100).collect::<Vec<_>>(), "{name}");
        assert_eq!(by_psn.values().map(|len| u32::from(*len)).sum::<u32>(), 102_400, "{name}");
    }
}
