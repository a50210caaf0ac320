//! Short campaigns come to their end.

use super::held::stored_traces_show_no_more;
use super::place::{Place, SHORT};

/// A campaign of so many executions between guests with these kernels, which ends as it should.
fn ends(executions: u64, kernels: [&str; 2]) {
    let place = Place::new();
    let number = executions.to_string();
    let summary = place.run_between(kernels, &[SHORT, "--executions", &number]);
    assert_eq!((&summary["executions"], &summary["invalid"]), (&executions.into(), &0.into()));
    let nics = kernels.map(|kernel| format!("rxe-{kernel}"));
    assert_eq!([&summary["requester_nic"], &summary["responder_nic"]], nics.each_ref().map(String::as_str));
    assert!(summary["executions_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(place.executions(), executions);
    place.nothing_is_left();
    place.store_is_whole();
    stored_traces_show_no_more(&place, &summary);
}

/// Both kernels in one campaign.
#[test]
fn a_campaign_between_two_kernels_ends() {
    ends(20, ["6.1", "6.12"]);
}

#[test]
#[ignore = "takes a minute more: ci/long vm"]
fn a_campaign_ends() {
    ends(30, ["6.1", "6.1"]);
}

#[test]
#[ignore = "takes a minute more: ci/long vm"]
fn a_campaign_on_the_other_kernel_ends() {
    ends(20, ["6.12", "6.12"]);
}
