//! Causes of the time-outs of `rdma_rxe` under random losses, against a second count from the same packets.

use std::collections::BTreeMap;

use dumper::{ActionKind, Event, Nanos};
use scoring::ExpiryCause;

use super::pair::run;
use super::recount;

/// Losses that are looked at.
const LOSSES: usize = 1_000;
/// Nine tenths of the shortest time-out of a test ([`super::pair::test`]).
const SHORTEST: Nanos = Nanos(480_000_000);

/// A test with losses of one in forty packets, with any of the verbs that have NAKs and messages of 1 to 12 packets.
fn losing(seed: u64) -> (String, String) {
    let verb = if seed.is_multiple_of(2) { "write" } else { "send" };
    let (size, dummies) = (1_024 * (1 + seed * 5 % 12), seed % 3);
    let traffic = format!(
        "rdma-verb = \"{verb}\"\nnum-msgs-per-qp = {}\nmessage-size = {size}\ntx-depth = 1\nseed = {seed}\n\
         dummy-headers = {dummies}",
        1_200 / (size / 1_024 + dummies)
    );
    (traffic, "[network]\nloss-ppb = 25_000_000".to_owned())
}

#[test]
fn causes_are_those_of_a_second_count() {
    let (mut losses, mut counted) = (0, BTreeMap::<_, usize>::new());
    for seed in 1.. {
        let (traffic, network) = losing(seed);
        let ran = run(&traffic, &network).whole();
        let lost = |record: &&dumper::Record| record.event() == Event::Action(ActionKind::Drop);
        losses += ran.observation.trace.records().iter().filter(lost).count();
        let analysis = ran.analysis();
        let causes = analysis.retransmissions.iter().filter_map(|entry| entry.cause);
        let causes: Vec<_> = causes.map(ExpiryCause::name).collect();
        let again = recount::causes(&ran.observation, SHORTEST);
        assert_eq!(causes, again, "seed {seed}: {traffic}");
        causes.into_iter().for_each(|cause| *counted.entry(cause).or_default() += 1);
        if losses >= LOSSES {
            break;
        }
    }
    println!("{losses} losses, time-outs {counted:?}");
    assert!(counted.len() >= 3, "{counted:?}");
}
