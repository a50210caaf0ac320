//! The same campaign comes to the same, whatever --jobs is and however it is interrupted.

use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::campaign::{SMALL, same};
use crate::run::{command, folder, in_folder};

const CAMPAIGN: [&str; 6] = ["campaign", "./small.toml", "--nic", "cx4-lx", "--seed", "3"];

/// Every strategy, with the executions of its campaign, as broad tests take their time; and with a corpus that is distilled several
/// times, and has forgotten references.
const STRATEGIES: [[&str; 6]; 7] = [
    ["--strategy", "genetic", "--max-corpus", "10000", "--executions", "400"],
    ["--strategy", "random", "--max-corpus", "10000", "--executions", "400"],
    ["--strategy", "annealing", "--max-corpus", "unlimited", "--executions", "400"],
    ["--strategy", "adaptive", "--max-corpus", "unlimited", "--executions", "400"],
    ["--strategy", "genetic", "--max-corpus", "64", "--executions", "600"],
    ["--strategy", "annealing", "--max-corpus", "64", "--executions", "400"],
    ["--strategy", "adaptive", "--max-corpus", "64", "--executions", "400"],
];

/// Runs the campaign into a folder, with further arguments.
fn run(folder: &Path, out: &str, strategy: &[&str], more: &[&str]) {
    let ran = in_folder(folder, &[&CAMPAIGN[..], strategy, &["--out", out], more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

fn start(folder: &Path, out: &str, strategy: &[&str]) -> Child {
    let mut command = command();
    command.current_dir(folder).args(CAMPAIGN).args(strategy).args(["--out", out, "--resume"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn jobs_and_repetition_change_nothing() {
    for strategy in &STRATEGIES {
        let folder = folder(&[("small.toml", SMALL)]);
        run(folder.path(), "one", strategy, &["--jobs", "1"]);
        run(folder.path(), "two", strategy, &["--jobs", "2"]);
        run(folder.path(), "again", strategy, &["--jobs", "2"]);
        same(folder.path(), "one", "two");
        same(folder.path(), "one", "again");
    }
}

#[test]
fn kills_change_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    for strategy in &STRATEGIES {
        let folder = folder(&[("small.toml", SMALL)]);
        let began = Instant::now();
        run(folder.path(), "whole", strategy, &[]);
        let whole = began.elapsed();
        // Spread over the campaign, and a few over its first moments.
        for kill in 0..20 {
            let mut child = start(folder.path(), "killed", strategy);
            let longest = if kill < 5 { whole / 50 } else { whole / 8 };
            thread::sleep(Duration::from_nanos(rng.random_range(0..longest.as_nanos() as u64)));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // With another number of jobs, too.
        run(folder.path(), "killed", strategy, &["--resume", "--jobs", "3"]);
        same(folder.path(), "whole", "killed");
    }
}

#[test]
fn ctrl_c_saves() {
    let folder = folder(&[("small.toml", SMALL)]);
    let began = Instant::now();
    let strategy = &STRATEGIES[0];
    run(folder.path(), "whole", strategy, &[]);
    let whole = began.elapsed();
    let mut interrupted = 0;
    for _ in 0..3 {
        let mut child = start(folder.path(), "stopped", strategy);
        thread::sleep(whole / 6);
        let pid = child.id().to_string();
        std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
        interrupted += i32::from(child.wait().unwrap().code() == Some(130));
    }
    assert!(interrupted > 0, "the campaign was over before it was interrupted");
    run(folder.path(), "stopped", strategy, &["--resume"]);
    same(folder.path(), "whole", "stopped");
}

#[test]
fn more_executions_go_on_as_if_never_stopped() {
    for strategy in &STRATEGIES {
        let [.., executions] = strategy;
        let folder = folder(&[("small.toml", SMALL)]);
        run(folder.path(), "whole", strategy, &[]);
        run(folder.path(), "parts", &[&strategy[..5], &["333"]].concat(), &[]);
        let ran =
            in_folder(folder.path(), &["campaign", "--resume", "--out", "parts", "--executions", executions]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        same(folder.path(), "whole", "parts");
    }
}
