//! The simulated testbed: two hosts, two cables, the injector's switch, as a deterministic discrete-event simulation.
//!
//! Every component is a pure machine that is given the time; one loop asks all of them for their next event.
//! The same test, profiles and seed give the same observation, bit for bit.

mod agenda;
mod counters;
mod network;
mod nic;
mod packet;
mod random;
mod rewrite;
mod traffic;
mod truth;
mod world;

pub use truth::Truth;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use corpus::{Capabilities, Role, TestConfig};
use dumper::{Connection, Endpoint, Nanos, Observation, Psn};
use p4::{Dumper, Pipeline, Ports};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::profile::{self, NicProfile};
use crate::{Testbed, TestbedError};
use network::{Cable, Network, Route};
use nic::{Attributes, Nic, QpSetup};
use random::{Component, stream};
use traffic::TrafficGenerators;
use world::World;

/// Ports of the switch: the hosts', and two dumpers of equal weight.
const HOST_PORTS: [u32; 2] = [1, 2];
const DUMPERS: [Dumper; 2] = [Dumper { port: 3, weight: 1 }, Dumper { port: 4, weight: 1 }];

/// Smallest QPN that is given out: 0 and 1 are special (IBA vol. 1, 3.9), and drivers keep some more.
const FIRST_QPN: u32 = 0x40;

/// DSCP of traffic class c is 8 c, its class selector (RFC 2474).
const CLASS_TO_DSCP_SHIFT: u32 = 3;

/// ECN-capable transport, ECT(0) (RFC 3168): the value that RoCEv2 senders set for DCQCN.
const ECT0: u8 = 0b10;

/// The simulated testbed.
#[derive(Clone, Debug)]
pub struct Sim {
    folder: PathBuf,
    known: BTreeMap<String, NicProfile>,
}

impl Sim {
    /// A testbed that looks for profiles, where a test names a path, relative to a folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.into(), known: BTreeMap::new() }
    }

    /// With a profile that tests call by this name, whatever a file of that name says.
    #[must_use]
    pub fn with_profile(mut self, name: &str, profile: NicProfile) -> Self {
        self.known.insert(name.to_owned(), profile);
        self
    }
}

impl Testbed for Sim {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        let load = |host: &corpus::Host| match self.known.get(&host.nic) {
            Some(profile) => Ok(profile.clone()),
            None => profile::load(&host.nic, &self.folder),
        };
        let profiles = [load(&config.requester)?, load(&config.responder)?];
        run(config, profiles)
    }
}

/// Runs a test on NICs with these profiles (requester's and responder's), whatever the test calls them.
///
/// # Errors
/// The configuration contradicts itself, or the test makes packets without end.
pub fn run(config: &TestConfig, profiles: [NicProfile; 2]) -> Result<Observation, TestbedError> {
    run_and_watch(config, profiles, |_| ())
}

/// The same, and shows the true state of each QP that sends a packet, in the order of sending.
///
/// # Errors
/// The same.
pub fn run_and_watch(
    config: &TestConfig,
    profiles: [NicProfile; 2],
    mut watch: impl FnMut(Truth),
) -> Result<Observation, TestbedError> {
    if let Some(violation) = config.violations().into_iter().next() {
        return Err(TestbedError::Config(violation.to_string()));
    }
    let traffic = &config.traffic;
    let mut metadata = stream(traffic.seed, Component::Metadata);
    let connections = connections_of(config, &mut metadata);
    let tables =
        p4::translate(config, &connections).map_err(|error| TestbedError::Config(error.to_string()))?;
    let ports =
        Ports::new(HOST_PORTS[0], HOST_PORTS[1], &DUMPERS).expect("four different ports with weights");
    let pipeline = Pipeline::new(tables, ports);

    let cables = Role::ALL.map(|role| {
        let profile = &profiles[role as usize];
        let rng = stream(traffic.seed, Component::Receive(role as usize));
        Cable::new(profile.link, profile.receive.latency_ns, rng)
    });
    let software = [profiles[0].host, profiles[1].host];
    let rngs = Role::ALL.map(|role| stream(traffic.seed, Component::Host(role as usize)));
    let [requester, responder] = profiles;
    let nics = [
        nic_of(config, Role::Requester, requester, &connections),
        nic_of(config, Role::Responder, responder, &connections),
    ];
    let pipeline_ps = nics.each_ref().map(|nic| {
        let profile = nic.profile();
        profile.transmit.pipeline_bytes * 8_000 / u64::from(profile.link.rate_gbps)
    });
    let mut world = World {
        nics,
        network: Network::new(cables, connections.iter().map(routes_of).collect(), pipeline),
        generators: TrafficGenerators::new(traffic, software, rngs),
        cable_free: [0; 2],
        scheduler_free: [Nanos::ZERO; 2],
        pipeline_ps,
        now: Nanos::ZERO,
        events: Vec::new(),
    };
    world.run(&mut watch)?;
    Ok(world.finish(config, connections))
}

/// The run-time metadata that the hosts exchange: QPNs and initial PSNs, random unless the test gives them.
fn connections_of(config: &TestConfig, rng: &mut ChaCha8Rng) -> Vec<Connection> {
    let traffic = &config.traffic;
    let count = traffic.load.connections();
    // NICs number their QPs one after the other.
    let first_qpns = Role::ALL.map(|_| rng.random_range(FIRST_QPN..Psn::SPACE - count));
    (0..count)
        .map(|at| {
            let [requester, responder] = Role::ALL.map(|role| {
                let random = Psn::new(rng.random_range(0..Psn::SPACE));
                let given = traffic.initial_psn.filter(|_| role == Role::Requester);
                let host = config.host(role);
                let address = if traffic.multi_gid { at as usize % host.ip_list.len() } else { 0 };
                Endpoint {
                    ip: host.ip_list[address].addr,
                    qpn: Some(first_qpns[role as usize] + at),
                    initial_psn: Some(given.map_or(random, Psn::new)),
                }
            });
            Connection { requester, responder }
        })
        .collect()
}

/// The end of a connection at a host.
const fn end_of(connection: &Connection, role: Role) -> &Endpoint {
    match role {
        Role::Requester => &connection.requester,
        Role::Responder => &connection.responder,
    }
}

/// QPN and first PSN of an end.
fn numbers(end: &Endpoint) -> (u32, Psn) {
    (end.qpn.unwrap_or_default(), end.initial_psn.unwrap_or_default())
}

/// Ways of a connection's packets, by sender.
fn routes_of(connection: &Connection) -> [Route; 2] {
    Role::ALL.map(|from| {
        let (source, destination) = (end_of(connection, from), end_of(connection, from.peer()));
        let (qpn, _) = numbers(source);
        Route {
            source: source.ip,
            destination: destination.ip,
            dest_qpn: numbers(destination).0,
            // Annex A17.9.2: the UDP source port tells QPs apart, for load balancing.
            src_port: 0xc000 | (qpn & 0x3fff) as u16,
            flow: None,
            traced: None,
        }
    })
}

fn nic_of(config: &TestConfig, role: Role, profile: NicProfile, connections: &[Connection]) -> Nic {
    let (traffic, host) = (&config.traffic, config.host(role));
    let attributes = Attributes {
        mtu: traffic.mtu.bytes(),
        timeout: traffic.min_retransmit_timeout,
        retry_cnt: traffic.max_retransmit_retry,
        rnr_retry: traffic.rnr_retry,
        min_rnr_timer: traffic.min_rnr_timer,
        max_rd_atomic: traffic.max_rd_atomic,
        recv_depth: traffic.recv_depth,
        reacts: host.roce.dcqcn_rp_enable,
        notifies: host.roce.dcqcn_np_enable,
        cnp_interval: Nanos::from_micros(host.roce.min_time_between_cnps.into()),
        slow_restart: host.roce.slow_restart,
        adaptive: host.roce.adaptive_retrans,
    };
    let qps: Vec<QpSetup> = connections
        .iter()
        .zip(1..)
        .map(|(connection, number)| {
            let ((_, first_psn), (peer_qpn, peer_first_psn)) =
                (numbers(end_of(connection, role)), numbers(end_of(connection, role.peer())));
            let class = host.traffic_class.as_ref().and_then(|classes| classes.of(number)).unwrap_or(0);
            let traffic_class = (class << CLASS_TO_DSCP_SHIFT) << 2 | ECT0;
            let ipv6 = connection.requester.ip.is_ipv6();
            let (messages, message_size) = (traffic.num_msgs_per_qp, traffic.message_size);
            QpSetup {
                first_psn,
                peer_first_psn,
                peer_qpn,
                class,
                traffic_class,
                ipv6,
                messages,
                message_size,
            }
        })
        .collect();
    let first_qpn = connections.first().map_or(FIRST_QPN, |first| numbers(end_of(first, role)).0);
    let peer_addresses = if traffic.multi_gid { config.host(role.peer()).ip_list.len() } else { 1 };
    let rng = stream(traffic.seed, Component::Nic(role as usize));
    Nic::new(profile, attributes, host.ets.as_ref(), first_qpn, peer_addresses, &qps, rng)
}
