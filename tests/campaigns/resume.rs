//! The same campaign comes to the same, whatever --jobs is and however it is interrupted.

use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::campaign::same;
use crate::run::{command, folder, in_folder};

const CAMPAIGN: [&str; 8] = ["campaign", "general", "--nic", "cx4-lx", "--seed", "3", "--executions", "800"];

/// Runs the campaign into a folder, with further arguments.
fn run(folder: &Path, out: &str, more: &[&str]) {
    let ran = in_folder(folder, &[&CAMPAIGN[..], &["--out", out], more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

fn start(folder: &Path, out: &str) -> Child {
    let mut command = command();
    command.current_dir(folder).args(CAMPAIGN).args(["--out", out, "--resume"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn jobs_and_repetition_change_nothing() {
    let folder = folder(&[]);
    run(folder.path(), "one", &["--jobs", "1"]);
    run(folder.path(), "two", &["--jobs", "2"]);
    run(folder.path(), "again", &["--jobs", "2"]);
    same(folder.path(), "one", "two");
    same(folder.path(), "one", "again");
}

#[test]
fn kills_change_nothing() {
    let folder = folder(&[]);
    let began = Instant::now();
    run(folder.path(), "whole", &[]);
    let whole = began.elapsed();
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    // Spread over the campaign, and a few over its first moments.
    let mut kills = 0;
    while kills < 20 {
        let mut child = start(folder.path(), "killed");
        let longest = if kills < 5 { whole / 50 } else { whole / 8 };
        thread::sleep(Duration::from_nanos(rng.random_range(0..longest.as_nanos() as u64)));
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    // With another number of jobs, too.
    run(folder.path(), "killed", &["--resume", "--jobs", "3"]);
    same(folder.path(), "whole", "killed");
}

#[test]
fn ctrl_c_saves() {
    let folder = folder(&[]);
    let began = Instant::now();
    run(folder.path(), "whole", &[]);
    let whole = began.elapsed();
    let mut interrupted = 0;
    for _ in 0..3 {
        let mut child = start(folder.path(), "stopped");
        thread::sleep(whole / 6);
        let pid = child.id().to_string();
        std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
        interrupted += i32::from(child.wait().unwrap().code() == Some(130));
    }
    assert!(interrupted > 0, "the campaign was over before it was interrupted");
    run(folder.path(), "stopped", &["--resume"]);
    same(folder.path(), "whole", "stopped");
}

#[test]
fn more_executions_go_on_as_if_never_stopped() {
    let folder = folder(&[]);
    run(folder.path(), "whole", &[]);
    let ran = in_folder(
        folder.path(),
        &["campaign", "general", "--nic", "cx4-lx", "--seed", "3", "--executions", "333", "--out", "parts"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = in_folder(folder.path(), &["campaign", "--resume", "--out", "parts", "--executions", "800"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    same(folder.path(), "whole", "parts");
}
