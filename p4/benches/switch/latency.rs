//! Latency that the switch adds.

use std::time::{Duration, Instant};

use crate::packets;
use crate::rig::{Host, Kind, Rig};

/// Round trips of a measurement.
const ROUNDS: usize = 5_000;

pub(crate) fn measure(kind: Kind) {
    let without = match kind {
        // There is nothing to compare with: a socket is the switch's or none.
        Kind::Unix => Vec::new(),
        Kind::Packet | Kind::Xdp => rounds(&mut [Host::at("a"), Host::at("b")]),
    };
    let mut rig = Rig::start(kind);
    rig.program(&packets::tables(10));
    let with = rounds(&mut rig.hosts);
    let added = |quantile: usize| {
        let at = |rounds: &[Duration]| rounds.get(rounds.len() * quantile / 100).copied().unwrap_or_default();
        (at(&with).saturating_sub(at(&without))) / 2
    };
    println!("  {:<14} p50 {:?}, p99 {:?}", kind.name(), added(50), added(99));
}

/// Times of round trips, ascending.
fn rounds([first, second]: &mut [Host; 2]) -> Vec<Duration> {
    let [there, back] = [1, 2].map(|host| [packets::frame(host, 7)]);
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            first.out.send(&there);
            assert_eq!(second.into.receive(1_000).0, 1, "a packet is lost");
            second.out.send(&back);
            assert_eq!(first.into.receive(1_000).0, 1, "a packet is lost");
            begun.elapsed()
        })
        .collect();
    times.sort();
    times
}
