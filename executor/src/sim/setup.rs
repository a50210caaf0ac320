//! A world as a test and the NICs' profiles describe it, before anything happens.

use corpus::{LossRecovery, Role, TestConfig, Traffic};
use dumper::{Connection, Endpoint, Nanos, Psn};
use p4::{Dumper, Pipeline, Ports};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::host::Host;
use super::host_id::HostId;
use super::network::{Edge, Link, Network, Route, Routes, least_buffer};
use super::nic::{Attributes, Dummies, Eswitch as Switch, Nic, QpSetup, Refusal};
use super::ovs::Ovs;
use super::packet::TUNNEL;
use super::random::stream;
use super::traffic::{Software, TrafficGenerators};
use super::world::{World, most_packets};
use crate::TestbedError;
use crate::profile::{Eswitch, NicProfile};

/// Ports of the switch: the hosts', and two dumpers of equal weight.
const HOST_PORTS: [u32; 2] = [1, 2];
const DUMPERS: [Dumper; 2] = [Dumper { port: 3, weight: 1 }, Dumper { port: 4, weight: 1 }];

/// Smallest QPN that is given out: 0 and 1 are special (IBA vol. 1, 3.9), and drivers keep some more.
const FIRST_QPN: u32 = 0x40;

/// DSCP of traffic class c is 8 c, its class selector (RFC 2474).
const CLASS_TO_DSCP_SHIFT: u32 = 3;

/// ECN-capable transport, ECT(0) (RFC 3168): the value that RoCEv2 senders set for DCQCN.
const ECT0: u8 = 0b10;

/// The world of a test, on NICs with these profiles (requester's and responder's), and its connections.
pub(super) fn world(
    config: &TestConfig,
    profiles: [NicProfile; 2],
) -> Result<(World, Vec<Connection>), TestbedError> {
    if let Some(violation) = config.violations().into_iter().next() {
        return Err(TestbedError::Config(violation.to_string()));
    }
    let traffic = &config.traffic;
    let mut metadata = stream(traffic.seed, "metadata");
    let connections = connections_of(config, &mut metadata);
    let tables =
        p4::translate(config, &connections).map_err(|error| TestbedError::Config(error.to_string()))?;
    let ports =
        Ports::new(HOST_PORTS[0], HOST_PORTS[1], &DUMPERS).expect("four different ports with weights");
    let pipeline = Pipeline::new(tables, ports);

    recoveries_fit(config, &profiles)?;
    let pfc = config.network.pfc;
    let buffers = profiles.each_ref().map(|profile| profile.receive.buffer_bytes);
    if pfc {
        room_for_pauses(config, &profiles)?;
    }
    let (mut links, mut software, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
    for (role, profile) in Role::ALL.into_iter().zip(profiles) {
        let place = HostId::of(role).index();
        let edge = Edge::new(profile.link, profile.receive.latency_ns);
        // A packet keeps the headers of its sender's tunnel up to the other host.
        let tunnels = [role, role.peer()].map(|sender| tunnel(config, sender));
        links.push(Link::new(edge, tunnels, pfc, stream(traffic.seed, &format!("link/{place}"))));
        software.push(Software::new(profile.host, stream(traffic.seed, &format!("software/{place}"))));
        let eswitch = profile.eswitch;
        let mut nic = nic_of(config, role, profile, &connections);
        let ovs = nic.eswitch.as_mut().map(|switch| ovs_of(config, role, eswitch, switch)).transpose()?;
        hosts.push(Host::new(nic, ovs));
    }
    let routes = Routes::new(
        hosts.len(),
        connections.iter().zip(1..).flat_map(|(connection, number)| routes_of(connection, number, traffic)),
    );
    // Each data packet may have an ACK.
    let packets = traffic.total_packets().saturating_mul(2);
    let network = Network::new(links, routes, pipeline, pfc.then_some(&buffers), packets);
    let generators = TrafficGenerators::new(traffic, software);
    Ok((World::new(hosts, network, generators, most_packets(config)), connections))
}

/// Bytes of the tunnel that a host's packets go through.
fn tunnel(config: &TestConfig, host: Role) -> u32 {
    if config.host(host).offload.as_ref().is_some_and(|offload| offload.vxlan) { TUNNEL } else { 0 }
}

/// Selective repeat needs a NIC that keeps packets out of order, and such a NIC does nothing else.
fn recoveries_fit(config: &TestConfig, profiles: &[NicProfile; 2]) -> Result<(), TestbedError> {
    for (role, profile) in Role::ALL.into_iter().zip(profiles) {
        let host = config.host(role);
        let has_engine = profile.reorder.keeps_packets();
        let (message, help) = match (host.roce.loss_recovery, has_engine) {
            (LossRecovery::SelectiveRepeat, false) => (
                "has no reorder engine",
                "choose one with another reorder.engine than \"none\", or set it to \"go-back-n\"",
            ),
            (LossRecovery::GoBackN, true) => (
                "has a reorder engine",
                "set it to \"selective-repeat\" at both hosts, or choose one with reorder.engine \"none\"",
            ),
            _ => continue,
        };
        return Err(TestbedError::Config(format!(
            "{}.roce-parameters.loss-recovery is \"{}\", but the NIC \"{}\" {message}; {help}",
            role.name(),
            host.roce.loss_recovery.name(),
            host.nic,
        )));
    }
    Ok(())
}

/// Flow control needs receive buffers that hold what comes before a pause is heard.
fn room_for_pauses(config: &TestConfig, profiles: &[NicProfile; 2]) -> Result<(), TestbedError> {
    for (role, profile) in Role::ALL.into_iter().zip(profiles) {
        let (has, needs) = (profile.receive.buffer_bytes, least_buffer(profile, config.traffic.mtu));
        if has < needs {
            return Err(TestbedError::Config(format!(
                "network.pfc: the receive buffer of the {}'s NIC \"{}\" has {has} bytes, too few to pause in time; set its \
                 receive.buffer-bytes to at least {needs}, or remove pfc",
                role.name(),
                config.host(role).nic,
            )));
        }
    }
    Ok(())
}

/// The run-time metadata that the hosts exchange: QPNs and initial PSNs, random unless the test gives them.
fn connections_of(config: &TestConfig, rng: &mut ChaCha8Rng) -> Vec<Connection> {
    let traffic = &config.traffic;
    let count = traffic.load.connections();
    // NICs number their QPs one after the other.
    let first_qpns = Role::ALL.map(|_| rng.random_range(FIRST_QPN..Psn::SPACE - count));
    (0..count)
        .map(|at| {
            let mut end = |role| {
                let random = Psn::new(rng.random_range(0..Psn::SPACE));
                let given = traffic.initial_psn.filter(|_| role == Role::Requester);
                let host = traffic.end_at(role, at + 1);
                let addresses = &config.host(host).ip_list;
                let address = if traffic.multi_gid { at as usize % addresses.len() } else { 0 };
                Endpoint {
                    ip: addresses[address].addr,
                    qpn: Some(first_qpns[host as usize] + at),
                    initial_psn: Some(given.map_or(random, Psn::new)),
                }
            };
            let requester = end(Role::Requester);
            Connection { requester, responder: end(Role::Responder) }
        })
        .collect()
}

/// An end of a connection.
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

/// Routes of the packets that both ends of a connection (from 1) send.
fn routes_of(connection: &Connection, number: u32, traffic: &Traffic) -> [Route; 2] {
    Role::ALL.map(|from| {
        let (source, destination) = (end_of(connection, from), end_of(connection, from.peer()));
        let (qpn, _) = numbers(source);
        let host = traffic.end_at(from, number);
        Route {
            from: HostId::of(host),
            to: HostId::of(host.peer()),
            sender: host,
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

/// The software of a host for its NIC's flow table.
/// A table that the NIC has no room for from the start is an error of the test, unless the NIC or its host does not survive it.
fn ovs_of(
    config: &TestConfig,
    at: Role,
    profile: Eswitch,
    eswitch: &mut Switch,
) -> Result<Ovs, TestbedError> {
    let offload = config.host(at).offload.clone().unwrap_or_default();
    let controls = config.control.iter().copied().filter(|control| control.host == at).collect();
    let rng = stream(config.traffic.seed, &format!("ovs/{}", HostId::of(at).index()));
    let flows = offload.flows;
    let ovs = Ovs::new(profile, offload, controls, config.traffic.load.connections(), rng, eswitch);
    ovs.map_err(|(flow, refusal)| {
        let (room, fewer) = match refusal {
            Refusal::Masks => (format!("{} masks (eswitch.masks)", profile.masks), "masks"),
            Refusal::Contexts => {
                (format!("{} tunnels (eswitch.contexts)", profile.contexts), "flows, or none with vxlan")
            }
        };
        TestbedError::Config(format!(
            "{}.offload: of {flows} flows the NIC \"{}\" has no entry for number {flow}, as it has room for {room}; ask for fewer {fewer}, or \
             choose a NIC with more room",
            at.name(),
            config.host(at).nic,
        ))
    })
}

fn nic_of(config: &TestConfig, at: Role, profile: NicProfile, connections: &[Connection]) -> Nic {
    let (traffic, host) = (&config.traffic, config.host(at));
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
        selective_repeat: host.roce.loss_recovery == LossRecovery::SelectiveRepeat,
        adaptive: host.roce.adaptive_retrans,
        bounds_flight: profile.eswitch.in_flight_bytes > 0,
    };
    let qps: Vec<QpSetup> = connections
        .iter()
        .zip(1..)
        .map(|(connection, number)| {
            let end = traffic.end_at(at, number);
            let ((_, first_psn), (peer_qpn, peer_first_psn)) =
                (numbers(end_of(connection, end)), numbers(end_of(connection, end.peer())));
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
                dummies: match traffic.times_dummies() {
                    true => Dummies::Empty,
                    false => Dummies::Behind(traffic.dummy_headers.into()),
                },
            }
        })
        .collect();
    let operates = config.control.iter().any(|control| control.host == at);
    let first_qpn = connections.first().map_or(FIRST_QPN, |first| numbers(end_of(first, at)).0);
    let peer_addresses = if traffic.multi_gid { config.host(at.peer()).ip_list.len() } else { 1 };
    let rng = stream(traffic.seed, &format!("nic/{}", HostId::of(at).index()));
    Nic::new(
        profile,
        attributes,
        (host.ets.as_ref(), host.offload.as_ref(), operates),
        first_qpn,
        peer_addresses,
        &qps,
        rng,
    )
}
