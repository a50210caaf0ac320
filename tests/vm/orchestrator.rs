//! The orchestrator is killed in the middle of a test.

use std::thread;
use std::time::Duration;

use super::place::{Place, SHORT_FOR_KILLS, kill_and_wait, wait};

const CAMPAIGN: [&str; 5] = [SHORT_FOR_KILLS, "--seed", "1", "--executions", "40"];

/// Longest time for the first batch, the boot of the guests included.
const FIRST_BATCH: Duration = Duration::from_secs(600);

#[test]
fn a_killed_orchestrator_leaves_nothing_running_and_its_campaign_goes_on() {
    let place = Place::new();
    let mut orchestrator = place.start(&CAMPAIGN);
    assert!(wait(FIRST_BATCH, || place.executions() > 0), "{}", place.said());
    thread::sleep(Duration::from_millis(300));
    assert!(place.processes().len() >= 3, "two guests and a switch run");
    kill_and_wait(&mut orchestrator);
    place.nothing_runs();
    place.store_is_whole();
    let before = place.executions();
    assert!(before < 40, "the campaign was over before it was interrupted");

    // The next start removes the sockets, too.
    let summary = place.run_campaign(&["--resume"]);
    assert_eq!((&summary["executions"], &summary["invalid"]), (&40.into(), &0.into()));
    place.nothing_is_left();
    place.store_is_whole();
}
