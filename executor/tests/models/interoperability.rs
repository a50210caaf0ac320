//! E810 sends to ConnectX-5: five 100 KB Sends on each QP, no events (Lumina §6.2.3). The paper does not give
//! the ACK timeout; 11 makes the published completion times.

use std::collections::{BTreeMap, BTreeSet};

use dumper::Observation;

use super::measure::{assert_within, data, mean, moved, pair, run};

/// Packets of a message.
const PACKETS: u32 = 100;

fn sends(requester: &str, responder: &str, qps: u32, events: &str) -> Observation {
    run(&pair(
        requester,
        responder,
        &format!(
            "[traffic]\nnum-connections = {qps}\nrdma-verb = \"send\"\nnum-msgs-per-qp = 5\n\
             message-size = 102_400\nmin-retransmit-timeout = 11\n{events}"
        ),
    ))
}

fn discards(observation: &Observation) -> u64 {
    moved(&observation.responder, "rx_discards_phy")
}

/// Messages of which a packet was sent more than once: no other part loses packets here.
fn with_drops(observation: &Observation) -> BTreeSet<(u32, u32)> {
    let mut sent = BTreeMap::<_, u32>::new();
    for (qp, psn, _) in data(observation) {
        *sent.entry((qp, psn)).or_default() += 1;
    }
    let repeated = sent.into_iter().filter(|(_, times)| *times > 1);
    repeated.map(|((qp, psn), _)| (qp, (psn - 1) / PACKETS + 1)).collect()
}

/// Mean completion times in µs of messages with drops and without.
fn completion_times(observation: &Observation) -> [f64; 2] {
    let hit = with_drops(observation);
    [true, false].map(|dropped| {
        let of = observation.completions().iter();
        let of = of.filter(|one| hit.contains(&(one.connection, one.message)) == dropped);
        mean(of.map(|one| (one.completed_ns - one.posted_ns).0 as f64 / 1e3))
    })
}

#[test]
fn sixteen_qps_are_too_many() {
    for qps in [1, 8, 15] {
        let observation = sends("e810", "cx5", qps, "");
        assert_eq!((discards(&observation), with_drops(&observation).len()), (0, 0), "{qps}");
    }
    let observation = sends("e810", "cx5", 16, "");
    assert_within(discards(&observation) as f64, 500.0, 15.0);
    let first = with_drops(&observation).iter().filter(|(_, message)| *message == 1).count();
    assert!(2 * first > with_drops(&observation).len(), "{first}");
    let [dropped, other] = completion_times(&observation);
    assert_within(dropped, 20_460.0, 15.0);
    assert_within(other, 156.0, 15.0);
}

#[test]
fn more_qps_are_worse() {
    let discards = [16, 20, 24, 32].map(|qps| discards(&sends("e810", "cx5", qps, "")));
    assert!(discards.is_sorted_by(|a, b| a < b), "{discards:?}");
}

#[test]
fn it_takes_both_and_mig_req_clear() {
    let set = "[[event]]\nqpn = \"all\"\npsn = 1\nevery = 1\ntype = \"set-field\"\nfield = \"mig-req\"\nvalue = 1\n";
    for (requester, responder, events) in
        [("cx5", "cx5", ""), ("cx6-dx", "cx5", ""), ("e810", "cx6-dx", ""), ("e810", "cx5", set)]
    {
        let observation = sends(requester, responder, 32, events);
        assert_eq!(discards(&observation), 0, "{requester} {responder}");
        assert!(with_drops(&observation).is_empty());
    }
    assert!(with_drops(&sends("e810", "e810", 32, "")).is_empty());
}
