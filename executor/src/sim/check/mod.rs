//! Invariants of the simulated testbed, checked after every step where [`super::run_checked`] runs a test: one file for
//! each part that they hold in. A violation is a fault of the simulator, never of a test or a NIC, and panics.

mod buffer;
mod cables;
mod sequence;
mod timer;
mod turns;
mod window;
mod work;

use super::host::Host;
use super::host_id::HostId;
use super::network::Network;
use sequence::Sequence;
use window::Window;

/// What is known of the steps so far.
pub(super) struct Checks {
    /// By host.
    windows: Vec<Window>,
    /// By host.
    sequences: Vec<Sequence>,
    /// Steps that touched each host.
    steps: Vec<usize>,
}

impl Checks {
    /// Checks of a world before its first step.
    pub(super) fn new(hosts: &[Host]) -> Self {
        Self {
            windows: hosts.iter().map(|_| Window::default()).collect(),
            sequences: hosts.iter().map(|_| Sequence::default()).collect(),
            steps: vec![0; hosts.len()],
        }
    }

    /// Checks a world after a step, which has touched one host, or the network alone.
    pub(super) fn after(&mut self, hosts: &[Host], network: &Network, touched: Option<HostId>) {
        cables::check(hosts, network);
        let Some(host) = touched else { return };
        let nic = &hosts[host.index()].nic;
        buffer::check(nic);
        turns::check(nic);
        self.steps[host.index()] += 1;
        work::check(nic, self.steps[host.index()]);
        timer::check(nic);
        self.windows[host.index()].check(nic);
        self.sequences[host.index()].check(nic);
    }
}
