//! Flow control of links in the simulation: a receiver that is slower than its link loses nothing, and gets what it can take.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::path::Path;

use corpus::{Load, Role, TestConfig, Verb};
use dumper::observation::CompletionStatus;
use dumper::{HostCounters, Observation};
use executor::{NicProfile, TestbedError, profile, sim};

const MESSAGES: u32 = 500;
const MESSAGE_BYTES: u32 = 10_240;

/// Much data at once: 10 MB of two connections.
fn much(verb: Verb) -> TestConfig {
    let mut config = TestConfig::default();
    config.traffic.load = Load::Same { verb, connections: 2 };
    config.traffic.num_msgs_per_qp = MESSAGES;
    config.traffic.message_size = MESSAGE_BYTES;
    config.traffic.tx_depth = MESSAGES;
    config.traffic.max_rd_atomic = 16;
    config.traffic.recv_depth = MESSAGES;
    config.traffic.min_retransmit_timeout = 20;
    config.network.pfc = true;
    config
}

/// A NIC that conforms, at a link of so many Gb/s, and takes so long for each packet.
fn nic(rate_gbps: u32, packet_ns: u64) -> NicProfile {
    let mut nic = profile::load("reference", Path::new(".")).unwrap();
    nic.link.rate_gbps = rate_gbps;
    (nic.receive.packet_ns, nic.receive.buffer_bytes) = (packet_ns, 1 << 17);
    nic
}

fn counted(host: Option<&HostCounters>, name: &str) -> u64 {
    host.and_then(|host| host.moved(name)).unwrap_or_else(|| panic!("{name} is not there"))
}

/// Host that the data goes to.
fn receiver(verb: Verb, observation: &Observation) -> Option<&HostCounters> {
    match verb.data_sender().peer() {
        Role::Requester => observation.requester.as_ref(),
        Role::Responder => observation.responder.as_ref(),
    }
}

/// Nanoseconds for a packet, from the first completion to the last; every message has succeeded.
fn packet_ns(observation: &Observation) -> f64 {
    let completions = observation.completions();
    assert_eq!(completions.len(), 2 * MESSAGES as usize);
    assert!(completions.iter().all(|completion| completion.status == CompletionStatus::Success));
    let times = completions.iter().map(|completion| completion.completed_ns);
    let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
    // The connections take turns: their first messages end one packet after the other.
    let packets = 2 * (MESSAGES - 1) * MESSAGE_BYTES / 1_024;
    (last - first).0 as f64 / f64::from(packets)
}

#[test]
fn a_slow_receiver_loses_nothing_and_is_never_idle() {
    for verb in [Verb::Write, Verb::Send, Verb::Read] {
        for rate_gbps in [25, 100, 400] {
            // 1 024 bytes of payload, headers, preamble and gap are 1 106 on the cable.
            let cable_ns = 1_106.0 * 8.0 / f64::from(rate_gbps);
            for takes_ns in
                [60_u32, 100, 500, 1_000, 4_000].into_iter().filter(|ns| f64::from(*ns) > cable_ns)
            {
                let profiles = [(); 2].map(|()| nic(rate_gbps, u64::from(takes_ns)));
                let observation = sim::run(&much(verb), profiles).unwrap();
                let receiver = receiver(verb, &observation);
                let place = format!("{verb:?} at {rate_gbps} Gb/s, {takes_ns} ns for a packet");
                assert_eq!(counted(receiver, "rx_discards_phy"), 0, "{place}");
                let part = packet_ns(&observation) / f64::from(takes_ns);
                assert!((0.99..1.01).contains(&part), "{place}: {part} of the time that the receiver needs");
                assert!(counted(receiver, "tx_prio0_pause") > 1, "{place}");
            }
        }
    }
}

/// After a pause nothing comes for the delay of the path: what waits at the switch's port lasts.
#[test]
fn a_slow_receiver_is_not_idle_behind_a_long_path() {
    for verb in [Verb::Write, Verb::Send] {
        for delay_ns in [5_000, 10_000, 20_000] {
            let mut config = much(verb);
            config.network.paths = vec![corpus::Path { delay_ns, ..corpus::Path::default() }];
            let observation = sim::run(&config, [nic(100, 120), nic(100, 120)]).unwrap();
            let place = format!("{verb:?} over {delay_ns} ns");
            assert!(
                counted(observation.requester.as_ref(), "rx_prio0_pause") > 1,
                "{place}: no second pause of the sender"
            );
            let part = packet_ns(&observation) / 120.0;
            assert!((0.99..1.01).contains(&part), "{place}: {part} of the time that the receiver needs");
        }
    }
}

/// Packets leave and arrive as they do without flow control.
#[test]
fn a_receiver_that_is_fast_enough_sees_no_difference() {
    for (verb, takes_ns) in [(Verb::Write, 0), (Verb::Read, 0), (Verb::Send, 80)] {
        let [with, without] = [true, false].map(|pfc| {
            let mut config = much(verb);
            config.network.pfc = pfc;
            sim::run(&config, [nic(100, takes_ns), nic(100, takes_ns)]).unwrap()
        });
        assert_eq!(counted(receiver(verb, &with), "tx_prio0_pause"), 0);
        assert_eq!(with.trace.records(), without.trace.records());
        assert_eq!(with.completions, without.completions);
    }
}

/// The pauses go on to the sender, and each packet is where it should be after each step.
#[test]
fn the_sender_is_paused() {
    let observation = sim::run_checked(&much(Verb::Write), [nic(100, 0), nic(100, 400)]).unwrap();
    let (requester, responder) = (observation.requester.as_ref(), observation.responder.as_ref());
    assert!(counted(responder, "tx_prio0_pause") > 1);
    assert!(counted(requester, "rx_prio0_pause") > 1);
    assert_eq!((counted(requester, "tx_prio0_pause"), counted(responder, "rx_prio0_pause")), (0, 0));
}

/// Without flow control the same receiver discards, and its NIC counts no pauses.
#[test]
fn without_it_the_buffer_runs_over() {
    let mut config = much(Verb::Write);
    config.network.pfc = false;
    let observation = sim::run(&config, [nic(100, 0), nic(100, 400)]).unwrap();
    let responder = observation.responder.as_ref().unwrap();
    assert!(counted(Some(responder), "rx_discards_phy") > 0);
    assert_eq!(responder.moved("tx_prio0_pause"), None);
}

#[test]
fn a_buffer_that_is_too_small_is_refused() {
    let mut small = nic(100, 400);
    small.receive.buffer_bytes = 16_384;
    let refused = sim::run(&much(Verb::Write), [nic(100, 0), small]);
    let Err(TestbedError::Config(message)) = refused else { panic!("{refused:?}") };
    assert!(message.contains("the responder's NIC") && message.contains("receive.buffer-bytes"), "{message}");
    let least = message.split("at least ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let mut enough = nic(100, 400);
    enough.receive.buffer_bytes = least.parse().unwrap();
    let observation = sim::run(&much(Verb::Write), [nic(100, 0), enough]).unwrap();
    assert_eq!(counted(observation.responder.as_ref(), "rx_discards_phy"), 0);
}
