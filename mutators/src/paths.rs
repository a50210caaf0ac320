//! Paths of the network, as targets vary them: a number of paths with one rate, whose delays go up in even steps.

use corpus::{Network, Path, Spray};

/// Gives the paths delays in even steps: the last one has this, the first of several none.
pub(crate) fn set_delay(network: &mut Network, delay_ns: u64) {
    let steps = (network.paths.len() as u64).saturating_sub(1);
    for (step, path) in (0..).zip(&mut network.paths) {
        path.delay_ns = (delay_ns * step).checked_div(steps).unwrap_or(delay_ns);
    }
}

/// Rate of the paths.
pub(crate) fn rate(network: &Network) -> u64 {
    network.paths.first().map_or(0, |path| path.rate_gbps.into())
}

/// Gives all paths a rate.
pub(crate) fn set_rate(network: &mut Network, gbps: u64) {
    network.paths.iter_mut().for_each(|path| path.rate_gbps = gbps as u16);
}

/// Has so many paths, with the delay and rate of those before.
pub(crate) fn set_number(network: &mut Network, paths: u64) {
    let (delay, rate) = (network.longest_delay_ns(), rate(network));
    network.paths = vec![Path::default(); paths as usize];
    set_delay(network, delay);
    set_rate(network, rate);
}

/// Paths as targets vary them, and no setting that needs more of them.
pub(crate) fn fit(network: &mut Network) {
    set_number(network, network.paths.len() as u64);
    let default = Network::default();
    if !are_spread(network) {
        network.spray = default.spray;
        network.spray_packets = default.spray_packets;
    }
    if network.spray != Spray::Flowlet {
        network.flowlet_gap_ns = default.flowlet_gap_ns;
    }
}

/// Returns true if settings of how packets are spread count.
pub(crate) fn are_spread(network: &Network) -> bool {
    network.paths.len() > 1
}
