//! Whatever process is killed, at whatever moment: the campaign goes on, and nothing is left running.

use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use rand::RngExt;

use super::campaign::{Campaign, nothing_is_left_of, processes_of};
use super::given::kills;

/// Longest time between two kills.
const LONGEST_PEACE: Duration = Duration::from_millis(1_500);

/// `LUMINA_KILLS` says how many, `LUMINA_SEED` which.
#[test]
fn kills_at_any_moment_end_in_a_clear_state() {
    let (kills, mut rng) = kills(10);
    let campaign = Campaign::new();
    let args = ["--jobs", "2"];
    let mut orchestrator = campaign.start(&args);
    for number in 1..=kills {
        thread::sleep(LONGEST_PEACE.mul_f64(rng.random()));
        if let Some(status) = orchestrator.try_wait().unwrap() {
            panic!("kill {number}: the campaign has ended by itself: {status}");
        }
        let guests = processes_of(orchestrator.id());
        // The orchestrator is killed as often as one of all processes of guests.
        if guests.is_empty() || rng.random_ratio(1, 4) {
            orchestrator.kill().unwrap();
            orchestrator.wait().unwrap();
            nothing_is_left_of(orchestrator.id());
            orchestrator = campaign.start(&args);
        } else {
            // It may have ended by itself by now.
            let _ = kill(guests[rng.random_range(0..guests.len())], Signal::SIGKILL);
        }
    }
    orchestrator.kill().unwrap();
    orchestrator.wait().unwrap();
    nothing_is_left_of(orchestrator.id());

    // The summary of a campaign that was killed may be behind.
    let goal = campaign.executions() + 40;
    campaign.finish(&["--executions", &goal.to_string()]);
    let summary = campaign.left().summary;
    assert!(campaign.executions() >= goal, "{summary:#?}");
    assert_eq!(summary["invalid"], 0, "a test was lost: {summary:#?}");
    let crashes = summary["findings"].to_string();
    assert!(
        !crashes.contains("kernel-crashes") && !crashes.contains("agent-ends"),
        "a kill was taken for a finding"
    );
}
