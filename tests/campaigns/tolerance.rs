//! The loss that a NIC tolerates, by what a campaign has seen of it, against runs with more and more loss.

use std::ops::RangeInclusive;
use std::path::Path;

use corpus::{Load, Network, Repeat, TestConfig, Traffic, Verb};
use dumper::Nanos;
use executor::Testbed as _;
use executor::sim::Sim;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::campaign::campaign;
use crate::run::{Ran, folder, in_folder};
use crate::seeds::seeds;

/// Shorter than any time-out at `min-retransmit-timeout` 8, and longer than any repair.
const BOUND: Nanos = Nanos(500_000);
const TIMEOUT: u8 = 8;
/// Packets that a test may have.
const PACKETS: u32 = 4_000_000;
/// How far a forecast may be from what runs show.
const NEAR: f64 = 0.1;

/// A NIC that was made up, and messages that show what is odd about it.
#[derive(Debug)]
struct Made {
    profile: String,
    verb: Verb,
    packets: u32,
    dummies: u8,
    /// Percent of the messages that have to be in time.
    percent: f64,
    /// Messages that show how many are late.
    messages: u32,
}

type Make = fn(&mut ChaCha8Rng) -> Made;

/// NICs, each with what is drawn of it.
const NICS: [(&str, Make); 5] = [
    ("a NAK again for every k-th packet", |rng| Made {
        profile: format!("[quirks]\nnak-again-every = {}\n", rng.random_range(4..=10)),
        verb: Verb::Write,
        packets: rng.random_range(16..=40),
        dummies: 1,
        percent: 99.9,
        messages: 400_000,
    }),
    ("one ACK for what arrives together", |rng| Made {
        profile: format!("[responder]\nack-ns = {}\nmerge-acks = true\n", rng.random_range(3_000..=8_000)),
        verb: Verb::Send,
        packets: 1,
        dummies: rng.random_range(1..=3),
        percent: 99.7,
        messages: 400_000,
    }),
    ("no implied NAK", |rng| Made {
        profile: "[quirks]\nimplied-nak-ignored = true\n".into(),
        verb: Verb::Read,
        packets: rng.random_range(8..=32),
        dummies: 0,
        percent: 95.0,
        messages: 40_000,
    }),
    ("some NAKs are left out", |rng| Made {
        profile: format!("[quirks]\nnak-missing-percent = {}\n", rng.random_range(10..=60)),
        verb: Verb::Write,
        packets: rng.random_range(8..=32),
        dummies: rng.random_range(0..=1),
        percent: 95.0,
        messages: 40_000,
    }),
    ("a few more NAKs", |rng| Made {
        profile: format!("[quirks]\nnak-repeats = {}\n", rng.random_range(1..=3)),
        verb: Verb::Send,
        packets: rng.random_range(16..=40),
        dummies: 1,
        percent: 98.0,
        messages: 60_000,
    }),
];

impl Made {
    fn test(&self, loss: f64, seed: u64) -> TestConfig {
        let mut config = TestConfig {
            traffic: Traffic {
                load: Load::Same { verb: self.verb, connections: 1 },
                num_msgs_per_qp: self.messages / self.runs(),
                message_size: self.packets * 1024,
                min_retransmit_timeout: TIMEOUT,
                dummy_headers: self.dummies,
                seed,
                ..Traffic::default()
            },
            network: Network {
                loss_ppb: (loss * 1e9) as u32,
                repeat: Repeat::default(),
                ..Network::default()
            },
            ..TestConfig::default()
        };
        for host in [&mut config.requester, &mut config.responder] {
            host.nic = "./nic.toml".into();
        }
        config
    }

    /// Runs that the messages need.
    fn runs(&self) -> u32 {
        (self.messages * (self.packets + u32::from(self.dummies))).div_ceil(PACKETS)
    }

    /// Share of the messages that are late.
    fn late(&self, folder: &Path, loss: f64, seed: u64) -> f64 {
        let of_run = |run: u32| {
            // No two NICs have a seed in common.
            let observation = Sim::new(folder).run(&self.test(loss, seed + 1_000 * u64::from(run))).unwrap();
            let completions = observation.completions();
            let is_late = |one: &&dumper::Completion| one.completed_ns - one.posted_ns > BOUND;
            completions.iter().filter(is_late).count() as f64 / completions.len() as f64
        };
        (0..self.runs()).map(of_run).sum::<f64>() / f64::from(self.runs())
    }

    /// The loss with which as many are late as may be, by runs that lose more and more of the same packets.
    fn by_bisection(&self, folder: &Path, near: f64, seed: u64) -> f64 {
        let (mut low, mut high) = (near / 2.0, near * 2.0);
        for _ in 0..7 {
            let middle = (low * high).sqrt();
            let is_kept = self.late(folder, middle, seed) <= 1.0 - self.percent / 100.0;
            *if is_kept { &mut low } else { &mut high } = middle;
        }
        (low * high).sqrt()
    }

    /// The forecast from a campaign, which goes on for as many executions as it is said to need.
    fn predict(&self, folder: &Path) -> Value {
        let Self { verb, packets, dummies, percent, .. } = self;
        let args = [
            format!("--slo=p{percent}=500us"),
            format!("--verb={}", verb.name()),
            format!("--message-size={}", packets * 1024),
            format!("--dummies={dummies}"),
            format!("--timeout={TIMEOUT}"),
        ];
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let args = [&["predict", "corruption", "--nic-from", "c", "--format", "json"], &args[..]].concat();
        for _ in 0..MORE {
            let ran = in_folder(folder, &args);
            let Some(executions) = asked_for(&ran) else { return ran.json() };
            campaign(folder, &["--resume", "--executions", &executions, "--out", "c"]);
        }
        panic!("{self:?}: still too few losses")
    }
}

/// Times that a campaign goes on.
const MORE: usize = 3;

/// Executions that a forecast asks for, if it does.
fn asked_for(ran: &Ran) -> Option<String> {
    let asked = ran.stderr.split_once("; about ").and_then(|(_, about)| about.split_once(" executions"));
    assert_eq!(ran.code, if asked.is_some() { 2 } else { 0 }, "{}", ran.stderr);
    asked.map(|(executions, _)| executions.to_owned())
}

fn seen(folder: &Path, seed: u64, executions: &str) {
    let seed = seed.to_string();
    let args =
        ["corruption", "--nic", "./nic.toml", "--seed", &seed, "--executions", executions, "--out", "c"];
    campaign(folder, &args);
}

/// NICs whose tolerance is not what runs show.
fn off(nics: &[(&str, Make)], seeds: RangeInclusive<u64>, executions: &str) -> Vec<String> {
    let mut off = Vec::new();
    for seed in seeds {
        for (name, make) in nics {
            let made = make(&mut ChaCha8Rng::seed_from_u64(seed));
            let folder = folder(&[("nic.toml", &made.profile)]);
            seen(folder.path(), seed, executions);
            let document = made.predict(folder.path());
            let tolerated = document["loss"]["up-to"].as_f64();
            let tolerated = tolerated.unwrap_or_else(|| panic!("{name}, seed {seed}: {document:#}"));
            let shown = made.by_bisection(folder.path(), tolerated, seed);
            let line = format!(
                "{name}, seed {seed}: {tolerated:.5} ({} to {}) by the campaign, {shown:.5} by runs",
                document["loss_least"]["up-to"], document["loss_most"]["up-to"]
            );
            println!(
                "{line}, {}, {} packets, {} dummies",
                made.profile.replace('\n', " "),
                made.packets,
                made.dummies
            );
            if (tolerated / shown - 1.0).abs() > NEAR {
                off.push(line);
            }
        }
    }
    off
}

#[test]
fn a_nic_tolerates_what_its_campaign_says() {
    let off = off(&[NICS[2], NICS[3]], 1..=1, "200");
    assert!(off.is_empty(), "{}", off.join("\n"));
}

#[test]
#[ignore = "takes minutes; run by ci/long tolerance"]
fn five_nics_tolerate_what_their_campaigns_say() {
    let off = off(&NICS, seeds(1..=4), "2000");
    assert!(off.is_empty(), "{}", off.join("\n"));
}

/// What cannot be said is not said, and why.
#[test]
fn too_few_losses_and_bounds_that_no_time_out_decides() {
    let folder = folder(&[("nic.toml", "")]);
    seen(folder.path(), 1, "12");
    let refused = |args: &[&str]| {
        let ran = in_folder(folder.path(), &[&["predict", "corruption", "--nic-from", "c"], args].concat());
        assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
        ran.stderr
    };
    let few = refused(&["--slo", "p99.9=1ms", "--within", "5"]);
    assert!(few.contains("too few: ") && few.contains(" needed, ") && few.contains("seen"), "{few}");
    let fast = refused(&["--slo", "p99.9=1ns"]);
    assert!(fast.contains("no loss keeps messages within 1 ns"), "{fast}");
    let nowhere =
        in_folder(folder.path(), &["predict", "corruption", "--nic-from", "d", "--slo", "p99.9=1ms"]);
    assert_eq!(nowhere.code, 2, "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("d/campaign.toml"), "{}", nowhere.stderr);
    let args =
        ["campaign", "general", "--seed", "1", "--executions", "3", "--out", "c2", "--nic", "reference"];
    assert_eq!(in_folder(folder.path(), &args).code, 0);
    let none = in_folder(folder.path(), &["predict", "corruption", "--nic-from", "c2", "--slo", "p99.9=1ms"]);
    assert!(none.code == 2 && none.stderr.contains("too few: "), "{}", none.stderr);
}

/// The same sums for any number of jobs, and after an interruption.
#[test]
fn sums_are_the_same_for_any_number_of_jobs_and_parts() {
    let folder = folder(&[("nic.toml", "[quirks]\nnak-missing-percent = 30\n")]);
    let run = |out: &str, jobs: &str, executions: &str| {
        let args =
            ["corruption", "--nic", "./nic.toml", "--seed", "5", "--jobs", jobs, "--executions", executions];
        campaign(folder.path(), &[&args[..], &["--out", out]].concat());
    };
    run("one", "1", "160");
    run("two", "2", "160");
    run("parts", "2", "70");
    let resumed = in_folder(
        folder.path(),
        &[
            "campaign",
            "corruption",
            "--nic",
            "./nic.toml",
            "--seed",
            "5",
            "--executions",
            "160",
            "--out",
            "parts",
            "--resume",
        ],
    );
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let kinds = |out: &str| {
        let args = [
            "predict",
            "corruption",
            "--nic-from",
            out,
            "--slo",
            "p95=500us",
            "--within",
            "100",
            "--format",
            "json",
        ];
        let ran = in_folder(folder.path(), &args);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.json()["kinds"].clone()
    };
    let report = std::fs::read_to_string(folder.path().join("one/report.md")).unwrap();
    assert!(report.contains("## Loss tolerance of this NIC") && report.contains("| shown |"), "{report}");
    let one = kinds("one");
    assert!(one.as_array().is_some_and(|kinds| kinds.len() > 5), "{one:#}");
    assert_eq!(one, kinds("two"));
    assert_eq!(one, kinds("parts"));
}
