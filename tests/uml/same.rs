//! A campaign finds the same, whatever happens to it.

use std::thread;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::campaign::{Campaign, nothing_is_left_of};
use super::given::given;

/// `LUMINA_EXECUTIONS` says how long the campaigns are, `LUMINA_KILLS` how often one is killed.
#[test]
fn a_campaign_is_the_same_for_any_number_of_jobs_and_after_kills() {
    let executions = given("LUMINA_EXECUTIONS").unwrap_or(24).to_string();
    let of_jobs = |jobs: &str| {
        let campaign = Campaign::new();
        campaign.finish(&["--executions", &executions, "--jobs", jobs]);
        campaign.left()
    };
    let first = of_jobs("1");
    assert_ne!(first.summary["findings"], serde_json::json!([]), "a campaign without findings says little");
    of_jobs("2").must_be(&first, "with two jobs");

    let campaign = Campaign::new();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..given("LUMINA_KILLS").unwrap_or(3) {
        let mut orchestrator = campaign.start(&["--executions", &executions, "--jobs", "2"]);
        thread::sleep(Duration::from_millis(rng.random_range(200..3_000)));
        let _ = orchestrator.kill();
        orchestrator.wait().unwrap();
        nothing_is_left_of(orchestrator.id());
    }
    campaign.finish(&["--executions", &executions, "--jobs", "2"]);
    campaign.left().must_be(&first, "after kills");
}
