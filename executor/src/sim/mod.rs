//! The simulated testbed: hosts, their links, the injector's switch, as a deterministic discrete-event simulation.
//!
//! Every component is a pure machine that is given the time; one loop asks all of them for their next event.
//! The same test, profiles and seed give the same observation, bit for bit.

mod agenda;
mod check;
mod counters;
mod host;
mod host_id;
mod network;
mod next;
mod nic;
mod ovs;
mod packet;
mod random;
mod setup;
mod step;
mod traffic;
mod truth;
mod world;

pub use network::least_buffer;
pub use truth::Truth;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use corpus::{Capabilities, LossRecovery, Mtu, RoceSetting, Role, Room, TestConfig};
use dumper::Observation;

use crate::profile::{self, NicProfile, OnExhausted, OnFailure};
use crate::{Testbed, TestbedError};
use check::Checks;

/// The simulated testbed.
#[derive(Clone, Debug)]
pub struct Sim {
    folder: PathBuf,
    known: BTreeMap<String, NicProfile>,
    checked: bool,
}

impl Sim {
    /// A testbed that looks for profiles, where a test names a path, relative to a folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.into(), known: BTreeMap::new(), checked: false }
    }

    /// With a profile that tests call by this name, whatever a file of that name says.
    #[must_use]
    pub fn with_profile(mut self, name: &str, profile: NicProfile) -> Self {
        self.known.insert(name.to_owned(), profile);
        self
    }

    /// With the invariants of the simulation checked after every step, as by [`run_checked`].
    #[must_use]
    pub const fn checked(mut self) -> Self {
        self.checked = true;
        self
    }
}

impl Testbed for Sim {
    fn capabilities(&self) -> Capabilities {
        let mut all = Capabilities::all();
        let mut engines = self.known.values().map(|profile| profile.reorder.keeps_packets());
        if let Some(has_engine) = engines.next().filter(|first| engines.all(|other| other == *first)) {
            // These NICs do nothing else.
            all.settings.remove(&RoceSetting::LossRecovery);
            if has_engine {
                all.fixed.loss_recovery = LossRecovery::SelectiveRepeat;
            }
        }
        all.room = self.known.values().fold(Room::ALL, |room, profile| room.and(room_of(profile)));
        all
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        self.run_within(usize::MAX, config)
    }

    fn run_within(&mut self, packets: usize, config: &TestConfig) -> Result<Observation, TestbedError> {
        let load = |host: &corpus::Host| match self.known.get(&host.nic) {
            Some(profile) => Ok(profile.clone()),
            None => profile::load(&host.nic, &self.folder),
        };
        let profiles = [load(&config.requester)?, load(&config.responder)?];
        if self.checked { run_checked(config, profiles) } else { run_within(packets, config, profiles) }
    }
}

/// Room of a NIC. Where it does not survive an entry too many, that is what a search looks for.
fn room_of(profile: &NicProfile) -> Room {
    let eswitch = &profile.eswitch;
    let bound = |limit: u32, is_refused: bool| if is_refused && limit > 0 { limit } else { u32::MAX };
    Room {
        pauses: profile.receive.buffer_bytes >= least_buffer(profile, Mtu::B4096),
        masks: bound(eswitch.masks, eswitch.on_failure == OnFailure::Software),
        entries: bound(eswitch.table_entries, true),
        tunnels: bound(eswitch.contexts, eswitch.on_exhausted == OnExhausted::Software),
    }
}

/// Runs a test on NICs with these profiles (requester's and responder's), whatever the test calls them.
///
/// # Errors
/// The configuration contradicts itself, or the test makes packets without end.
pub fn run(config: &TestConfig, profiles: [NicProfile; 2]) -> Result<Observation, TestbedError> {
    run_within(usize::MAX, config, profiles)
}

/// The same, and stops the test after so many packets ([`Testbed::run_within`]).
fn run_within(
    packets: usize,
    config: &TestConfig,
    profiles: [NicProfile; 2],
) -> Result<Observation, TestbedError> {
    let (mut world, connections) = setup::world(config, profiles)?;
    let is_sooner = world.stop_after(packets);
    world.run(|_, _, _, _| ()).map_err(|error| match error {
        TestbedError::TooManyPackets { packets } if is_sooner => TestbedError::Stopped { packets },
        error => error,
    })?;
    Ok(world.finish(config, connections))
}

/// Runs a test as [`run`] does, and shows the true state of each QP that sends a packet, in the order of sending: for tests of
/// judges, who see the packets alone.
///
/// # Errors
/// As [`run`].
pub fn run_and_watch(
    config: &TestConfig,
    profiles: [NicProfile; 2],
    mut watch: impl FnMut(Truth),
) -> Result<Observation, TestbedError> {
    let (mut world, connections) = setup::world(config, profiles)?;
    world.run(|hosts, _, touched, sent| {
        if let Some((host, sent)) = touched.zip(sent) {
            let requests = config.traffic.end_at(host.role(), sent.qp + 1) == Role::Requester;
            watch(Truth::of(&hosts[host.index()].nic, requests, sent));
        }
    })?;
    Ok(world.finish(config, connections))
}

/// Runs a test as [`run`] does, but for the network, which takes one step at a time, and checks the invariants of the simulation after every step: for
/// tests and fuzzing, as that takes many times as long. The observation is the same.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// If an invariant does not hold.
pub fn run_checked(config: &TestConfig, profiles: [NicProfile; 2]) -> Result<Observation, TestbedError> {
    let (mut world, connections) = setup::world(config, profiles)?;
    world.keep_in_step();
    let mut checks = Checks::new(world.hosts());
    world.run(|hosts, network, touched, _| checks.after(hosts, network, touched))?;
    Ok(world.finish(config, connections))
}
