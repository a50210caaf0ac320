//! What a long campaign leaves behind: a corpus that stops growing, limits that are raised, and kills that lose one step.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use corpus::store::Archive;

use crate::campaign::{SMALL, campaign, findings, same};
use crate::given::given;
use crate::run::{Ran, command, folder, in_folder};

fn resume(folder: &Path, args: &[&str]) -> Ran {
    in_folder(folder, &[&["campaign", "--out", "c", "--resume"], args].concat())
}

#[test]
fn a_corpus_has_no_more_tests_than_it_may() {
    let folder = folder(&[("small.toml", SMALL)]);
    let of = |strategy: &str, more: &[&str]| {
        let args =
            ["./small.toml", "--nic", "cx4-lx", "--seed", "1", "--executions", "600", "--strategy", strategy];
        let out = format!("{strategy}{}", more.len());
        campaign(folder.path(), &[&args, &["--out", &out][..], more].concat())
    };
    for strategy in ["genetic", "random", "annealing", "adaptive"] {
        let whole = of(strategy, &["--max-corpus", "unlimited", "--jobs", "2"]);
        let capped = of(strategy, &["--max-corpus", "64"]);
        assert!(whole["corpus_size"].as_u64().unwrap() > 120, "{whole:#}");
        // A batch more than the cap at most, before it is distilled.
        assert!(capped["corpus_size"].as_u64().unwrap() < 64 + 16, "{capped:#}");
        let archive = Archive::read(&folder.path().join(format!("{strategy}2"))).unwrap();
        assert!(archive.is_whole());
        let distilled = archive.distilled().unwrap().unwrap();
        assert_eq!(distilled.stay.len(), 32, "half of them stay");
        // The annealer keeps every test: those that showed a finding first are there, and stay.
        if strategy == "annealing" {
            let first =
                findings(&capped).iter().map(|finding| finding["first_seen_execution"].as_u64().unwrap());
            let first: Vec<u64> = first.filter(|number| *number < distilled.before).collect();
            assert!(
                !first.is_empty() && first.iter().all(|number| archive.kept().contains_key(number)),
                "{first:?}"
            );
        }
    }
}

#[test]
fn limits_are_raised_and_lifted_and_said() {
    let folder = folder(&[("small.toml", SMALL)]);
    let begin =
        ["campaign", "./small.toml", "--seed", "1", "--executions", "32", "--max-disk", "1G", "--out", "c"];
    let ran = in_folder(folder.path(), &begin);
    assert!(ran.code == 0 && ran.stdout.contains("all executions are done (--executions)"), "{}", ran.stdout);
    let ended = || {
        let summary = fs::read(folder.path().join("c/summary.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&summary).unwrap()["ended"].clone()
    };
    assert_eq!(ended(), "executions");
    let settings = || fs::read_to_string(folder.path().join("c/campaign.toml")).unwrap();
    assert!(settings().contains("max-corpus = 10000\n"), "{}", settings());

    let ran = resume(folder.path(), &["--executions", "unlimited", "--max-disk", "1K"]);
    assert!(
        ran.stdout.contains("has reached --max-disk; --resume with more, or `unlimited`"),
        "{}",
        ran.stdout
    );
    assert!(ran.code == 1 && ran.stdout.contains("32 executions"), "{}", ran.stdout);
    assert_eq!(ended(), "max-disk");
    let page = fs::read_to_string(folder.path().join("c/report.md")).unwrap();
    assert!(page.contains("max-disk"), "{page}");
    assert!(!settings().contains("executions ="), "{}", settings());

    let limits = ["--max-disk", "unlimited", "--max-corpus", "unlimited", "--duration", "1s"];
    let ran = resume(folder.path(), &limits);
    assert!(ran.code == 0 && ran.stdout.contains("the time is over (--duration)"), "{}", ran.stdout);
    assert!(!settings().contains("max-disk") && !settings().contains("max-corpus"), "{}", settings());

    let more = Archive::read(&folder.path().join("c")).unwrap().progress().executions + 16;
    let ran = resume(folder.path(), &["--duration", "unlimited", "--executions", &more.to_string()]);
    assert!(ran.code == 0 && ran.stdout.contains(&format!("{more} executions")), "{}", ran.stdout);
    assert!(!settings().contains("duration-s"), "{}", settings());
}

/// Whatever a kill has left of the first files.
#[test]
fn a_campaign_that_was_killed_before_its_first_file_begins() {
    let begin = |folder: &Path, more: &[&str]| {
        let args = ["campaign", "general", "--seed", "1", "--executions", "32", "--out", "c"];
        in_folder(folder, &[&args, more].concat())
    };
    for left in
        [&[][..], &["c/.lock"], &["c/.lock", "c/.tmpAbc123"], &["c/.lock", "c/.beginning", "c/.tmpAbc123"]]
    {
        let files: Vec<(&str, &str)> = left.iter().map(|file| (*file, "")).collect();
        let folder = folder(&files);
        let ran = begin(folder.path(), &["--resume"]);
        assert!(ran.code == 0 && ran.stdout.contains("32 executions"), "{left:?}: {}", ran.stderr);
    }
    let folder = folder(&[("c/.lock", ""), ("c/mine.txt", "")]);
    let ran = begin(folder.path(), &["--resume"]);
    assert!(ran.code == 2 && ran.stderr.contains("is not empty, and has no campaign.toml"), "{}", ran.stderr);
}

/// Progress of a campaign that does not run: executions that are decided, those that are recorded, and work of minimisers.
fn progress(campaign: &Path) -> [u64; 4] {
    let archive = Archive::read(campaign).unwrap();
    let progress = archive.progress();
    let confirmed = archive.findings().unwrap().iter().filter(|finding| !finding.evidence.is_empty()).count();
    let minimised = progress.minimizer_executions + archive.answers();
    [progress.executions, minimised, archive.undecided().count() as u64, confirmed as u64]
}

fn start(folder: &Path, args: &[&str]) -> Child {
    let mut command = command();
    command.current_dir(folder).args(args).args(["--out", "killed", "--resume"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a progress line; false if the campaign ends before.
fn has_begun(child: &mut Child) -> bool {
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    lines.map_while(Result::ok).any(|line| line.contains("tests/s"))
}

const HALF_A_SECOND: Duration = Duration::from_millis(500);

/// A campaign that is killed half a second after its first progress line, so many times; the kills that found it running. A
/// machine under load may need longer for one execution: up to `longest`, each start has twice the time of one that came no
/// further.
fn killed_after_its_first_line(args: &[&str], kills: u64, longest: Duration) -> u64 {
    let folder = folder(&[]);
    let ran = in_folder(folder.path(), &[args, &["--out", "whole"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let killed = folder.path().join("killed");
    let mut before = [0; 4];
    let mut wait = HALF_A_SECOND;
    let mut running = 0;
    for kill in 0..kills {
        let mut child = start(folder.path(), args);
        let begun = has_begun(&mut child);
        if begun {
            thread::sleep(wait);
        }
        if !begun || child.try_wait().unwrap().is_some() {
            child.wait().unwrap();
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        running += 1;
        let now = progress(&killed);
        wait = if now > before { HALF_A_SECOND } else { wait * 2 };
        assert!(wait <= longest, "kill {kill}: {now:?} after {before:?}");
        before = now;
    }
    let ran = in_folder(folder.path(), &[args, &["--out", "killed", "--resume", "--jobs", "2"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    same(folder.path(), "whole", "killed");
    running
}

#[test]
fn kills_lose_one_step() {
    let args = ["campaign", "general", "--nic", "cx5", "--seed", "2", "--executions", "240"];
    let running = killed_after_its_first_line(&args, 6, Duration::from_secs(60));
    assert!(running > 1, "the campaign was over before it was killed");
}

/// Takes as long as 200 starts do: some minutes.
#[test]
#[ignore = "takes minutes; run by ci/long nights"]
fn two_hundred_kills() {
    let executions = given("LUMINA_EXECUTIONS").unwrap_or(20_000).to_string();
    let args = ["campaign", "general", "--nic", "cx5", "--seed", "2", "--executions", &executions];
    let kills = given("LUMINA_KILLS").unwrap_or(200);
    let running = killed_after_its_first_line(&args, kills, HALF_A_SECOND);
    println!("{running} of {kills} kills found the campaign running");
    assert_eq!(running, kills, "LUMINA_EXECUTIONS is too small for so many kills");
}

/// Resident memory of a process, in kB.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn bytes_in(folder: &Path) -> u64 {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|of| of.len())
        .sum()
}

/// The lines of issue 20: memory grows by less than 10 MB after the first 50,000 executions, the store has less than 200 MB.
#[test]
#[ignore = "takes a quarter of an hour; run by ci/long nights"]
fn a_million_executions() {
    const FIRST: u64 = 50_000;
    let executions = given("LUMINA_EXECUTIONS").unwrap_or(1_000_000);
    let folder = folder(&[("small.toml", SMALL)]);
    for strategy in ["adaptive", "genetic", "annealing"] {
        let count = executions.to_string();
        let args =
            ["campaign", "./small.toml", "--nic", "cx4-lx", "--seed", "1", "--jobs", "2", "--out", strategy];
        let mut command = command();
        command.current_dir(folder.path()).args(args).args(["--strategy", strategy, "--executions", &count]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let campaign = folder.path().join(strategy);
        let summary = || -> Option<serde_json::Value> {
            serde_json::from_slice(&fs::read(campaign.join("summary.json")).ok()?).ok()
        };
        let (mut first, mut most, mut largest) = (None, 0, 0);
        while child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_secs(1));
            let done = summary().and_then(|summary| summary["executions"].as_u64()).unwrap_or(0);
            largest = largest.max(bytes_in(&campaign.join("corpus")));
            if done >= FIRST
                && let Some(resident) = resident(child.id())
            {
                first.get_or_insert(resident);
                most = most.max(resident);
            }
        }
        assert!(child.wait().unwrap().success());
        let first = first.expect("the campaign has more than the first executions");
        let grown = most.saturating_sub(first);
        println!(
            "{strategy}: {executions} executions, {first} kB at {FIRST}, {grown} kB more at most; store {largest} bytes at most"
        );
        assert!(grown < 10_000, "{strategy}: memory grew by {grown} kB after {first}");
        assert!(largest < 200_000_000, "{strategy}: the store had {largest} bytes");
        assert_eq!(summary().unwrap()["executions"], executions);
    }
}

/// What is found without a cap is found with one, by nine of ten seeds.
#[test]
#[ignore = "takes an hour; run by ci/long nights"]
fn a_cap_hides_no_finding() {
    let executions = given("LUMINA_EXECUTIONS").unwrap_or(20_000).to_string();
    let signatures = |seed: u64, cap: &str| -> Vec<String> {
        let folder = folder(&[]);
        let seed = seed.to_string();
        let args =
            ["general", "--nic", "cx5", "--seed", &seed, "--executions", &executions, "--max-corpus", cap];
        let summary = campaign(folder.path(), &[&args[..], &["--out", "c"]].concat());
        findings(&summary).iter().map(|finding| finding["signature"].as_str().unwrap().to_owned()).collect()
    };
    let runs: Vec<[Vec<String>; 2]> =
        (1..=10).map(|seed| [signatures(seed, "unlimited"), signatures(seed, "1000")]).collect();
    let mut all: Vec<&String> = runs.iter().flat_map(|[whole, _]| whole).collect();
    all.sort();
    all.dedup();
    assert!(!all.is_empty());
    for signature in all {
        let [whole, capped] = [0, 1].map(|at| runs.iter().filter(|run| run[at].contains(signature)).count());
        println!("{signature}: {whole} of 10 seeds without a cap, {capped} with one");
        // One that not every seed finds is found by no fewer with a cap, give or take one.
        assert!(capped + 1 >= whole, "{signature}: {capped} of {whole}");
    }
}
