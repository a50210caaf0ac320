//! One QP, one message in flight, one packet dropped (Lumina §6.1, Lumina (preprint) §6.2).

use dumper::Nanos;
use scoring::Trigger;

use super::measure::{analyze, config, run};

/// Both phases of a retransmission, in µs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latencies {
    pub(crate) generation: f64,
    pub(crate) reaction: f64,
}

impl Latencies {
    pub(crate) fn total(self) -> f64 {
        self.generation + self.reaction
    }
}

/// A message of so many KB, of which this packet is dropped.
pub(crate) fn latencies(nic: &str, verb: &str, kilobytes: u32, psn: u32) -> Latencies {
    let config = config(
        nic,
        &format!(
            "[traffic]\nrdma-verb = \"{verb}\"\nnum-msgs-per-qp = 1\nmessage-size = {}\n\
             [[event]]\nqpn = 1\npsn = {psn}\ntype = \"drop\"\n",
            kilobytes * 1024
        ),
    );
    let analysis = analyze(&config, &run(&config));
    let [retransmission] = &analysis.retransmissions[..] else { panic!("{:?}", analysis.retransmissions) };
    assert_eq!(retransmission.trigger, Trigger::Fast);
    let micros = |time: Option<Nanos>| time.unwrap().0 as f64 / 1_000.0;
    Latencies {
        generation: micros(retransmission.generation_ns),
        reaction: micros(retransmission.reaction_ns),
    }
}

/// The same for every packet of a 100 KB message but the tail, whose loss no later packet shows.
pub(crate) fn by_position(nic: &str, verb: &str) -> Vec<Latencies> {
    (1..100).map(|psn| latencies(nic, verb, 100, psn)).collect()
}
