//! What a campaign rests on is copied: its files may be moved, and a changed one is noticed.

use std::fs;

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};

const NIC: &str = "[quirks]\nnak-repeats = 1\n";
const CAMPAIGN: [&str; 8] =
    ["retransmission", "--nic", "./nic.toml", "--seed", "1", "--executions", "64", "--out"];

#[test]
fn replay_uses_the_copies_and_resume_refuses_a_changed_original() {
    let folder = folder(&[("nic.toml", NIC)]);
    let path = folder.path();
    let summary = campaign(path, &[&CAMPAIGN[..], &["c"]].concat());
    assert!(!findings(&summary).is_empty(), "{summary:#}");
    let resume = ["campaign", "--resume", "--out", "c", "--executions", "96"];

    // Edited: the finding is as it was, and the campaign does not go on.
    fs::write(path.join("nic.toml"), "[quirks]\nnak-repeats = 2\n").unwrap();
    assert_eq!(in_folder(path, &["replay", "c"]).code, 0);
    let ran = in_folder(path, &resume);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("nic.toml: was changed since the campaign began"), "{}", ran.stderr);

    // Moved away: both go on.
    fs::remove_file(path.join("nic.toml")).unwrap();
    assert_eq!(in_folder(path, &["replay", "c"]).code, 0);
    let ran = in_folder(path, &resume);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("is gone; the campaign's copy nic-requester.toml is used"), "{}", ran.stderr);

    // The copy itself changed.
    fs::write(path.join("c/nic-requester.toml"), NIC).unwrap();
    let ran = in_folder(path, &resume);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("c/nic-requester.toml: was changed"), "{}", ran.stderr);
    // The finding has copies of its own, and says when they are changed.
    assert_eq!(in_folder(path, &["replay", "c"]).code, 0);
    let finding = path.join("c").join(findings(&summary)[0]["path"].as_str().unwrap());
    fs::write(finding.join("nic-requester.toml"), NIC).unwrap();
    let ran = in_folder(path, &["replay", "c"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("was changed since the finding was written"), "{}", ran.stderr);
}

#[test]
fn a_resumed_campaign_keeps_what_it_began_with() {
    let folder = folder(&[("nic.toml", NIC)]);
    campaign(folder.path(), &[&CAMPAIGN[..], &["c"]].concat());
    for (args, what) in [
        (&["general"][..], "target"),
        (&["--nic", "reference"], "requester's NIC"),
        (&["--seed", "2"], "seed"),
        (&["--strategy", "random"], "strategy"),
        (&["--ignore", "stall/requester/x/y"], "list of ignored signatures"),
    ] {
        let ran = in_folder(folder.path(), &[&["campaign", "--resume", "--out", "c"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.stderr.contains(&format!("c: its {what} is ")), "{}", ran.stderr);
    }
    let ran = in_folder(folder.path(), &[&["campaign"], &CAMPAIGN[..], &["c"]].concat());
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("c: holds a campaign already; --resume goes on with it"), "{}", ran.stderr);
}

#[test]
fn findings_go_on_being_minimised_and_are_known_to_the_campaign() {
    let folder = folder(&[("nic.toml", NIC)]);
    let summary = campaign(folder.path(), &[&CAMPAIGN[..], &["c"]].concat());
    let path = format!("c/{}", findings(&summary)[0]["path"].as_str().unwrap());
    let ran = in_folder(folder.path(), &["minimize", &path, "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.json()["minimized"], "full");
    assert_eq!(in_folder(folder.path(), &["replay", &path]).code, 0);
    let ran = in_folder(folder.path(), &["campaign", "--resume", "--out", "c", "--format", "json"]);
    assert_eq!(findings(&ran.json())[0]["minimized"], "full");
}
