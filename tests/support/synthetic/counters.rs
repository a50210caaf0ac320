//! Counters that hosts would show after a world.

use dumper::{Counters, HostCounters};

use super::world::Tally;

/// Counters of an NVIDIA host that counted `tally`, under their vendor's names.
pub fn nvidia(tally: &Tally) -> HostCounters {
    of(&[
        ("port_xmit_packets", tally.sent),
        ("port_rcv_packets", tally.received),
        ("packet_seq_err", tally.sequence_naks),
        ("out_of_sequence", tally.out_of_sequence),
        ("implied_nak_seq_err", tally.implied_naks),
        ("local_ack_timeout_err", tally.timeouts),
        ("rnr_nak_retry_err", tally.rnr_naks),
        ("np_ecn_marked_roce_packets", tally.marked),
        ("np_cnp_sent", tally.cnps_sent),
        ("rp_cnp_handled", tally.cnps_handled),
        ("rx_icrc_encapsulated", tally.corrupt),
        ("duplicate_request", tally.duplicates),
        ("rx_discards_phy", tally.discarded),
    ])
}

/// Counters that moved by these numbers, from 100 each.
pub fn of(moved: &[(&str, u64)]) -> HostCounters {
    let counters = |start: u64, moves: u64| Counters {
        hw_counters: moved.iter().map(|(name, by)| ((*name).to_owned(), start + by * moves)).collect(),
        ..Counters::default()
    };
    HostCounters { start: counters(100, 0), finish: counters(100, 1) }
}
