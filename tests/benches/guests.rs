//! What a test costs in processor time on the testbeds of guests: those in virtual time, for each kernel and mode, split by
//! what it goes to, and those under QEMU beside.
//!
//! Needs images (`testbed uml build`, `testbed vm build`); a kernel without one is left out, and that is said. A part is the
//! difference between two tests that differ in nothing else.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run says so")]

use std::time::{Duration, Instant};

use corpus::{Role, TestConfig};
use executor::guests::{Kernel, Options, Pairs};
use executor::uml::{self, Campaigns, Mode};
use executor::{History, vm};
use nix::sys::resource::{UsageWho, getrusage};

/// Tests of a measurement.
const TESTS: u64 = 24;

/// Processor time of this process and of those that it has ended.
fn used() -> Duration {
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
        .into_iter()
        .map(|who| {
            let usage = getrusage(who).unwrap();
            let of = |time: nix::sys::time::TimeVal| {
                Duration::from_micros((time.tv_sec() * 1_000_000 + time.tv_usec()).cast_unsigned())
            };
            of(usage.user_time()) + of(usage.system_time())
        })
        .sum()
}

fn test(connections: u32, messages: u32, size: u32, rest: &str) -> TestConfig {
    let text = format!(
        "[traffic]\nrdma-verb = \"write\"\nnum-connections = {connections}\nnum-msgs-per-qp = {messages}\nmessage-size = {size}\nmtu = 1024\n{rest}"
    );
    let mut config = corpus::from_toml("bench.toml", &text).unwrap();
    for role in Role::ALL {
        config.host_mut(role).roce = uml::capabilities().fixed;
    }
    config
}

/// Processor time of so many tests of one lane, with the boot of its guests and their end.
fn lane(kernel: &Kernel, mode: Mode, config: &TestConfig, tests: u64) -> Duration {
    let before = used();
    {
        let campaigns = Campaigns::new([kernel.clone(), kernel.clone()], mode);
        let mut testbed = campaigns.testbed();
        let test_of = |_| None;
        for turn in 0..tests {
            let history = History { number: 4 * turn, test_of: &test_of };
            testbed.run_after(&history, config).unwrap();
        }
    }
    // The guests are reaped by other threads.
    std::thread::sleep(Duration::from_millis(100));
    used() - before
}

/// Processor time of a test, in ms, and of a boot.
fn cost(kernel: &Kernel, mode: Mode, config: &TestConfig) -> (f64, f64) {
    let (few, many) = (lane(kernel, mode, config, 4), lane(kernel, mode, config, 4 + TESTS));
    let test = (many.saturating_sub(few)).as_secs_f64() * 1e3 / TESTS as f64;
    (test, few.as_secs_f64() * 1e3 - 4.0 * test)
}

fn main() {
    // `cargo test --benches` asks for a test; these are measurements.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let cache = uml::Cache::open(None).unwrap();
    let mut rates = Vec::new();
    for kernel in Kernel::ALL {
        if let Err(why) = cache.image(&kernel) {
            println!("{why}");
            continue;
        }
        for mode in [Mode::Exact, Mode::Fast] {
            let of = |connections, messages, size, rest| {
                cost(&kernel, mode, &test(connections, messages, size, rest))
            };
            let (whole, boot) = of(1, 10, 10_240, "");
            let counts = kernel.with(Options { coverage: true, ..Options::default() });
            let coverage = match cache.image(&counts) {
                Ok(_) => format!("{:+.1}", cost(&counts, mode, &test(1, 10, 10_240, "")).0 - whole),
                Err(_) => "not built,".to_owned(),
            };
            let (small, _) = of(1, 1, 64, "");
            let (two, _) = of(2, 1, 64, "");
            // 100 frames and their ACKs, less those of the small test.
            let frames = whole - small;
            let lost =
                of(1, 1, 64, "min-retransmit-timeout = 14\n[[event]]\nqpn = 1\npsn = 1\ntype = \"drop\"\n").0;
            let (qps, name) = (two - small, format!("{kernel} {mode:?}").to_lowercase());
            println!(
                "{name}: 10 x 10 KB {whole:.1} ms (frames {frames:.1}, QPs and 64 B {qps:.1}, control and counters {:.1}), \
                 64 B {small:.1} ms, a time-out {:+.2} ms, a boot of both {boot:.0} ms, \
                 coverage {coverage} ms",
                small - qps,
                lost - small
            );
            rates.push((name, 1e3 / whole));
        }
    }
    let kernel = Kernel::V6_1;
    let found = vm::Cache::open(None).and_then(|cache| cache.image(&kernel));
    if let Err(why) = found {
        println!("{why}");
        return;
    }
    let (pairs, config) = (Pairs::<vm::Site>::new([kernel.clone(), kernel]), test(1, 10, 10_240, ""));
    let mut testbed = pairs.lease();
    testbed.run(&config).unwrap();
    let began = Instant::now();
    for _ in 0..TESTS {
        testbed.run(&config).unwrap();
    }
    // A pair of emulated guests keeps two processors.
    let guests = TESTS as f64 / began.elapsed().as_secs_f64() / 2.0;
    println!("guests under QEMU: {guests:.1} tests/s and core");
    for (name, rate) in rates {
        println!("{name}: {rate:.1} tests/s and core, {:.1} times as many", rate / guests);
    }
}
