//! Numbers of connections in the hosts' log.

use std::collections::BTreeMap;

use dumper::Observation;

use crate::Analysis;
use crate::see::connections::key_of;

/// The number in the hosts' log of each connection that the analyzers follow, who number only those that sent
/// something.
pub(crate) fn numbers(observation: &Observation, analysis: &Analysis) -> Vec<u32> {
    let logged: BTreeMap<_, u32> = observation.connections.iter().map(key_of).zip(1..).collect();
    let of = |(pair, number): (&crate::Pair, u32)| {
        logged.get(&key_of(&pair.connection)).copied().unwrap_or(number)
    };
    analysis.pairs.iter().zip(1..).map(of).collect()
}
