//! CNP limiters of simulated NICs, inferred from what passes the switch: what is said of them is true, and
//! where every packet is marked it is exact.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

#[path = "support/environment.rs"]
mod environment;
#[path = "random/profiles.rs"]
mod profiles;

use corpus::TestConfig;
use dumper::Nanos;
use executor::NicProfile;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use scoring::{Analysis, CnpLimiter, CnpScope, Options, Rule};

use environment::number;

const INTERVALS_US: [u64; 7] = [0, 4, 7, 20, 50, 130, 1_000];
const SCOPES: [(&str, CnpScope); 3] =
    [("qp", CnpScope::Qp), ("destination-ip", CnpScope::DestinationIp), ("port", CnpScope::Port)];

/// A NIC with such a limiter, whatever is configured.
fn limited(interval_us: u64, scope: &str, link: &str) -> NicProfile {
    let text = format!(
        "{link}\n[notification]\nconfigurable = false\nhidden-interval-us = {interval_us}\nscope = \"{scope}\"\n"
    );
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn analyze(config: &TestConfig, profiles: [NicProfile; 2]) -> Analysis {
    let observation = executor::sim::run(config, profiles).unwrap();
    scoring::analyze(&observation, Options { config: Some(config) })
}

/// The only limiter there is: that of the host that receives the data.
fn limiter(analysis: &Analysis) -> Option<CnpLimiter> {
    analysis.limiters[0].or(analysis.limiters[1])
}

/// Four QPs on two addresses of each host, data marked on every so many packets.
fn test(verb: &str, message_size: u32, messages: u32, every: u32, configured_us: u32) -> TestConfig {
    let addresses = |first: u32| format!("[\"10.0.0.{first}/24\", \"10.0.0.{}/24\"]", first + 2);
    let (asks, answers) = (addresses(1), addresses(2));
    let text = format!(
        "[requester]\nip-list = {asks}\n[responder]\nip-list = {answers}\n\
         [traffic]\nrdma-verb = \"{verb}\"\nnum-connections = 4\nmulti-gid = true\nmtu = 1024\n\
         message-size = {message_size}\nnum-msgs-per-qp = {messages}\ntx-depth = 4\n\
         [requester.roce-parameters]\ndcqcn-rp-enable = false\nmin-time-between-cnps = {configured_us}\n\
         [responder.roce-parameters]\ndcqcn-rp-enable = false\nmin-time-between-cnps = {configured_us}\n\
         [[event]]\nqpn = \"all\"\npsn = 1\nevery = {every}\ntype = \"ecn\"\n"
    );
    corpus::from_toml("test.toml", &text).unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

/// Every packet is marked, of messages of ten packets that follow each other without a break.
fn dense(interval_us: u64, configured_us: u32) -> TestConfig {
    // As long as it takes for a few intervals at 100 Gb/s.
    let messages = if interval_us < 1_000 { 150 } else { 1_000 };
    test("write", 10_240, messages, 1, configured_us)
}

#[test]
fn where_every_packet_is_marked_the_limiter_is_exact() {
    for (name, scope) in SCOPES {
        for interval in INTERVALS_US {
            let nic = || limited(interval, name, "");
            let analysis = analyze(&dense(interval, 0), [nic(), nic()]);
            let seen = limiter(&analysis).unwrap();
            let case = format!("{interval} µs, {name}: {seen:?}");
            let (least, most) = (seen.longer_than_ns, seen.at_most_ns.unwrap());
            if interval == 0 {
                // No limiter has no scope.
                assert!(!seen.scope_certain, "{case}");
                assert!(least == Nanos::ZERO && most < Nanos(200), "{case}");
                continue;
            }
            let interval = Nanos::from_micros(interval);
            assert_eq!((seen.scope, seen.scope_certain), (Some(scope), true), "{case}");
            assert!(least <= interval && interval <= most, "{case}");
            assert!(least.times(10) >= interval.times(9) && most.times(10) <= interval.times(11), "{case}");
        }
    }
}

#[test]
fn what_is_said_of_a_limiter_is_true() {
    let (mut certain, mut bounded, mut wrong) = (0, 0, Vec::new());
    for seed in 0..number("LUMINA_CASES", 1_000) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut pick = |from: &[u64]| from[rng.random_range(0..from.len())];
        let interval = pick(&INTERVALS_US);
        let (name, scope) = SCOPES[pick(&[0, 1, 2]) as usize];
        let mut link = || {
            let (rate, delay) = (pick(&[10, 25, 40, 100, 200]), pick(&[0, 50, 700, 5_000]));
            format!("[link]\nrate-gbps = {rate}\npropagation-ns = {delay}\n")
        };
        let nics = [(), ()].map(|()| limited(interval, name, &link()));
        let verb = ["write", "send", "read"][pick(&[0, 1, 2]) as usize];
        let size = pick(&[1, 1_024, 5_000, 10_240, 102_400]) as u32;
        let every = pick(&[1, 2, 7, 40, 300]) as u32;
        let messages = (4_000_000 / (size + 1_000)).min(300);
        let analysis = analyze(&test(verb, size, messages, every, 0), nics);
        let Some(seen) = limiter(&analysis) else { continue };
        let span = Nanos::from_micros(interval);
        let true_scope = seen.scope.is_some() && (!seen.scope_certain || seen.scope == Some(scope));
        let true_span = seen.longer_than_ns <= span && seen.at_most_ns.is_none_or(|most| most >= span);
        if !(true_scope && true_span) {
            let test = format!("{verb} of {size}, every {every}");
            wrong.push(format!("seed {seed}, {interval} µs, {name}, {test}: {seen:?}"));
        }
        certain += u32::from(seen.scope_certain);
        bounded += u32::from(seen.longer_than_ns > Nanos::ZERO && seen.at_most_ns.is_some());
    }
    assert!(wrong.is_empty(), "{} of {certain} and {bounded}: {wrong:#?}", wrong.len());
    assert!(certain > 300 && bounded > 300, "{certain} scopes certain, {bounded} intervals bounded");
}

/// A NIC that keeps another interval or another scope than it should says so under one name, whatever the interval.
#[test]
fn what_is_withheld_is_named_by_its_scope() {
    for (name, state) in [("qp", "interval"), ("destination-ip", "per-destination-ip"), ("port", "per-port")]
    {
        for interval in [20, 50, 130, 1_000] {
            let nic = || limited(interval, name, "");
            let analysis = analyze(&dense(interval, 4), [nic(), nic()]);
            let found: Vec<&String> = analysis.anomalies.sightings().keys().collect();
            let expected = format!("cnp-generation/notification-point/cnp-withheld/{state}");
            assert_eq!(found, [&expected], "{interval} µs, {name}");
            let times = &analysis.anomalies.kept()[0].evidence.times_ns;
            let (interval, of) = (Nanos::from_micros(interval), |name: &str| times[name]);
            assert_eq!(of("configured"), Nanos::from_micros(4));
            assert!(of("longer-than") <= interval && interval <= of("at-most"), "{times:?}");
            assert!(of("longer-than").times(10) >= interval.times(9), "{times:?}");
            assert!(of("at-most").times(10) <= interval.times(11), "{times:?}");
        }
    }
}

/// Conforming NICs answer each mark that they are to answer.
#[test]
fn conforming_nics_withhold_nothing() {
    let mut wrong = Vec::new();
    for seed in 0..number("LUMINA_CASES", 1_000) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let nics = ["requester", "responder"].map(|host| profiles::draw(seed, host));
        let mut pick = |from: &[u64]| from[rng.random_range(0..from.len())];
        let verb = ["write", "send", "read"][pick(&[0, 1, 2]) as usize];
        let size = pick(&[1, 1_024, 5_000, 10_240, 102_400]) as u32;
        let messages = (1_000_000 / (size + 1_000)).min(100);
        let (every, configured) = (pick(&[1, 2, 7, 40, 300]) as u32, pick(&[0, 4, 50, 1_000]) as u32);
        let mut config = test(verb, size, messages, every, configured);
        for host in [&mut config.requester, &mut config.responder] {
            host.roce.dcqcn_rp_enable = pick(&[0, 1]) == 1;
        }
        let analysis = analyze(&config, nics);
        let withheld = analysis.anomalies.kept().iter().find(|anomaly| anomaly.rule == Rule::CnpWithheld);
        if let Some(anomaly) = withheld {
            wrong.push(format!("seed {seed}, {verb} of {size}, every {every}: {}", anomaly.what));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The shortest way is that of a packet over both cables and through the NIC, to some bytes of an ACK.
#[test]
fn half_of_a_round_trip() {
    let nic = || limited(0, "qp", "[link]\nrate-gbps = 100\npropagation-ns = 1000\n");
    for (verb, host) in [("write", 1), ("send", 1), ("read", 0)] {
        let analysis = analyze(&test(verb, 1_024, 20, 40, 0), [nic(), nic()]);
        // 1,000 ns there and back, 300 ns each in the switch and the receiver, some 1,200 bytes on the cable at 80 ps.
        let half_rtt = analysis.half_rtt[host].unwrap();
        assert!((2_685..2_705).contains(&half_rtt.0), "{verb}: {half_rtt}");
    }
}
