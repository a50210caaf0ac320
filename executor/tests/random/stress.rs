//! Edits that make often what a random test has rarely: little room, close races, wraps, and many faults at once.

use corpus::config::Files;
use corpus::{
    Action, ActionKind, ConnectionSet, ControlPacket, Event, Load, LossDirection, LossEffect, LossModel,
    Network, PacketKinds, Path, Pattern, Repeat, RepeatMatch, Spray, SprayPackets, Target, TestConfig,
    TrafficField, Verb,
};
use dumper::Psn;
use executor::NicProfile;
use executor::profile::{PerVerb, Span};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// PSNs before the wrap at which a connection may start.
const BEFORE_WRAP: u32 = 64;

/// Control packets of each kind that events name: those after them are as likely as not never sent.
const CONTROL_PACKETS: u32 = 6;

/// Edits a test and its NICs, each way as often as not. What would not be valid stays as it was.
pub(crate) fn apply(config: &mut TestConfig, profiles: &mut [NicProfile; 2], rng: &mut ChaCha8Rng) {
    let mut edit = |edit: &dyn Fn(&mut TestConfig, &mut ChaCha8Rng)| {
        if rng.random_bool(0.5) {
            let mut edited = config.clone();
            edit(&mut edited, rng);
            if edited.is_valid() {
                *config = edited;
            }
        }
    };
    edit(&receives_run_short);
    edit(&|config, rng| config.traffic.tx_depth = config.traffic.num_msgs_per_qp + rng.random_range(1..8));
    edit(&|config, rng| {
        let psn = Psn::new(0).sub(rng.random_range(1..=BEFORE_WRAP));
        config.traffic.initial_psn = Some(psn.value());
    });
    edit(&|config, rng| config.traffic.min_retransmit_timeout = rng.random_range(4..=10));
    edit(&delays_come_close);
    for _ in 0..4 {
        edit(&|config, rng| config.events.push(control_event(rng)));
    }
    if rng.random_bool(0.25) {
        profiles.iter_mut().for_each(without_latency);
    }
}

/// Few Receives, and short waits for them.
fn receives_run_short(config: &mut TestConfig, rng: &mut ChaCha8Rng) {
    config.traffic.recv_depth = rng.random_range(1..=2);
    config.traffic.min_rnr_timer = rng.random_range(1..=12);
}

/// Delays of 100 ns to 1 ms, short ones as often as long ones.
fn delays_come_close(config: &mut TestConfig, rng: &mut ChaCha8Rng) {
    for event in &mut config.events {
        if let Action::Delay { ns } = &mut event.action {
            *ns = near(rng);
        }
    }
}

/// A delay in nanoseconds that the round trips of the simulated testbed compare with.
fn near(rng: &mut ChaCha8Rng) -> u64 {
    10f64.powf(rng.random_range(2.0..6.0)) as u64
}

/// Something happens to an ACK, a NAK, a CNP or a Read request.
fn control_event(rng: &mut ChaCha8Rng) -> Event {
    let (_, packet) = ControlPacket::NAMES[rng.random_range(0..ControlPacket::NAMES.len())];
    let action = match rng.random_range(0..5) {
        0 => Action::DROP,
        1 => Action::Corrupt,
        2 => Action::Duplicate { copies: rng.random_range(1..=3) },
        3 => Action::Reorder { by: rng.random_range(1..=3) },
        _ => Action::Delay { ns: near(rng) },
    };
    let target = Target::Control { packet, nth: rng.random_range(1..=CONTROL_PACKETS) };
    Event { connections: ConnectionSet::All, target, progression: None, action }
}

/// Gives a few events any action with a near operand, where that is valid.
pub(crate) fn change_actions(config: &mut TestConfig, rng: &mut ChaCha8Rng) {
    for at in 0..config.events.len() {
        let kind = ActionKind::ALL[rng.random_range(0..ActionKind::ALL.len())];
        let most = Action::operand_of(kind).map_or(0, |operand| operand.field.max);
        let Some(action) = Action::with_operand(kind, near(rng).min(most)) else { continue };
        if rng.random_bool(0.1) {
            let before = std::mem::replace(&mut config.events[at].action, action);
            if !config.is_valid() {
                config.events[at].action = before;
            }
        }
    }
}

/// Gives a few tests a value of a field that tests have not had from the first, where that is valid.
pub(crate) fn change_traffic(config: &mut TestConfig, rng: &mut ChaCha8Rng) {
    for field in TrafficField::ALL.iter().filter(|field| field.files == Files::Later) {
        let Some(number) = field.number() else { continue };
        // Any order of magnitude alike, up to a millisecond.
        let value = 10f64.powf(rng.random_range(0.0..6.0)) as u64;
        let value = value.clamp(number.min, number.max);
        if rng.random_bool(0.1) {
            let before = config.traffic.clone();
            (field.set)(&mut config.traffic, value);
            if !config.is_valid() {
                config.traffic = before;
            }
        }
    }
}

/// Has the hosts of one test in eight post in turn, where the rest of the test is valid with what that takes.
pub(crate) fn take_turns(config: &mut TestConfig, rng: &mut ChaCha8Rng) {
    if !rng.random_bool(0.125) {
        return;
    }
    let mut edited = config.clone();
    let traffic = &mut edited.traffic;
    let verb = if rng.random_bool(0.5) { Verb::Write } else { Verb::Send };
    let connections = traffic.load.connections().next_multiple_of(2);
    traffic.load = Load::Same { verb, connections };
    traffic.message_size = traffic.message_size.max(1);
    (traffic.tx_depth, traffic.gap_ns, traffic.barrier_sync) = (1, 0, false);
    traffic.pattern = Pattern::PingPong;
    if edited.is_valid() {
        *config = edited;
    }
}

/// Has the network lose packets of one test in four, where the test has such packets: up to one in ten, any order of magnitude alike.
/// In one of four it makes copies, and in one of ten there are several paths, or a slow one.
pub(crate) fn change_network(config: &mut TestConfig, rng: &mut ChaCha8Rng) {
    if rng.random_bool(0.25) {
        lose(config, rng);
    }
    if rng.random_bool(0.25) {
        let mut packets = || if rng.random_bool(0.5) { 1 } else { rng.random_range(2..=8) };
        let [naks, retransmissions, tails] = [packets(), packets(), packets()];
        let by_connection = retransmissions > 1 && rng.random_bool(0.5);
        let matching = if by_connection { RepeatMatch::Connection } else { RepeatMatch::Psn };
        config.network.repeat = Repeat { naks, retransmissions, tails, matching };
    }
    // NICs that take no reordering send a test many times over.
    if rng.random_bool(0.1) {
        spread(config, rng);
    }
}

/// Has links with flow control in one test of ten, to NICs that are slower than their links: any order of magnitude alike, up to ten
/// microseconds for each packet, with buffers that are just large enough or up to twice as large.
pub(crate) fn control_flow(config: &mut TestConfig, profiles: &mut [NicProfile; 2], rng: &mut ChaCha8Rng) {
    if !rng.random_bool(0.1) {
        return;
    }
    config.network.pfc = true;
    for profile in profiles {
        profile.receive.packet_ns = 10f64.powf(rng.random_range(1.0..4.0)) as u64;
        let least = executor::sim::least_buffer(profile, config.traffic.mtu);
        profile.receive.buffer_bytes = rng.random_range(least..=2 * least);
    }
}

/// Up to four paths of any delay and rate, up to a tenth of a millisecond.
fn spread(config: &mut TestConfig, rng: &mut ChaCha8Rng) {
    let path = |rng: &mut ChaCha8Rng| Path {
        delay_ns: if rng.random_bool(0.3) { 0 } else { 10f64.powf(rng.random_range(1.0..5.0)) as u64 },
        rate_gbps: if rng.random_bool(0.6) { 0 } else { rng.random_range(1..=100) },
        weight: rng.random_range(1..=4),
        ..Path::default()
    };
    let mut paths: Vec<Path> = (0..rng.random_range(1..=4)).map(|_| path(rng)).collect();
    for path in paths.iter_mut().filter(|path| path.rate_gbps > 0) {
        if rng.random_bool(0.5) {
            path.queue_packets = rng.random_range(1..64);
        }
    }
    let network = &mut config.network;
    if paths.len() > 1 {
        network.spray = Spray::NAMES[rng.random_range(0..Spray::NAMES.len())].1;
        network.spray_packets = SprayPackets::NAMES[rng.random_range(0..SprayPackets::NAMES.len())].1;
        if network.spray == Spray::Flowlet {
            network.flowlet_gap_ns = 10f64.powf(rng.random_range(1.0..6.0)) as u64;
        }
    }
    network.paths = paths;
}

fn lose(config: &mut TestConfig, rng: &mut ChaCha8Rng) {
    let pick = |from: usize, rng: &mut ChaCha8Rng| rng.random_range(0..from);
    let before = std::mem::take(&mut config.network);
    config.network = Network {
        loss_ppb: 10f64.powf(rng.random_range(5.0..8.0)) as u32,
        loss_model: LossModel::NAMES[pick(LossModel::NAMES.len(), rng)].1,
        links: rng.random_range(1..=3),
        corrupted_links_percent: [100, 50][pick(2, rng)],
        loss_packets: PacketKinds::from_bits(rng.random_range(1..=PacketKinds::ALL.bits()))
            .unwrap_or(PacketKinds::ALL),
        loss_direction: LossDirection::NAMES[pick(LossDirection::NAMES.len(), rng)].1,
        loss_qpn: [ConnectionSet::All, ConnectionSet::One(1)][pick(2, rng)].clone(),
        loss_effect: LossEffect::NAMES[pick(LossEffect::NAMES.len(), rng)].1,
        ..before.clone()
    };
    if !config.is_valid() {
        config.network = before;
    }
}

/// A NIC and a host that do everything at once.
fn without_latency(profile: &mut NicProfile) {
    let none = Span::exactly(0);
    let host = &mut profile.host;
    (host.post_ns, host.poll_ns, host.repost_ns) = (none, none, none);
    (profile.responder.ack_ns, profile.receive.latency_ns) = (none, none);
    let nacks = &mut profile.retransmission;
    (nacks.nack_generation_ns, nacks.nack_reaction_ns) = (PerVerb::all(none), PerVerb::all(none));
    profile.link.propagation_ns = 0;
}
