//! Copies of the files that a campaign depends on: the originals may be moved, and a changed one is detected.

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

#[test]
fn nothing_is_cleared_that_no_campaign_was_making() {
    let folder = folder(&[("theirs/corpus/kept.toml", "x"), ("theirs/target.toml", "x")]);
    let path = folder.path();
    let ran = in_folder(path, &["campaign", "general", "--executions", "1", "--resume", "--out", "theirs"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("theirs: is not empty, and has no campaign.toml"), "{}", ran.stderr);
    assert!(path.join("theirs/corpus/kept.toml").is_file() && path.join("theirs/target.toml").is_file());

    // A campaign that lost its settings differs from one that was being made.
    let args = ["general", "--seed", "1", "--executions", "40", "--out", "c"];
    campaign(path, &args);
    fs::remove_file(path.join("c/campaign.toml")).unwrap();
    let ran = in_folder(path, &["campaign", "general", "--seed", "1", "--resume", "--out", "c"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert_eq!(in_folder(path, &["corpus", "check", "c"]).code, 0, "the corpus is still there");
}

#[test]
fn edited_settings_are_refused() {
    let folder = folder(&[]);
    let path = folder.path();
    campaign(path, &["general", "--seed", "1", "--executions", "40", "--out", "c"]);
    let settings = fs::read_to_string(path.join("c/campaign.toml")).unwrap();
    let resume = ["campaign", "--resume", "--out", "c"];
    for (from, to) in [
        ("seed = 1", "seed = 2"),
        ("batch = 16", "batch = 0"),
        ("keep-probability = 0.1", "keep-probability = nan"),
    ] {
        assert!(settings.contains(from), "{settings}");
        fs::write(path.join("c/campaign.toml"), settings.replace(from, to)).unwrap();
        let ran = in_folder(path, &resume);
        assert_eq!(ran.code, 2, "{to}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("c/campaign.toml: was changed since the campaign began"),
            "{}",
            ran.stderr
        );
    }
    // Its limits may be changed, and are by flags anyway.
    fs::write(path.join("c/campaign.toml"), settings.replace("executions = 40", "executions = 48")).unwrap();
    assert_eq!(in_folder(path, &resume).code, 0);
}

#[test]
fn what_was_interrupted_while_minimising_is_not_done() {
    let folder = folder(&[]);
    let path = folder.path();
    // The first findings of this strategy come early, and their minimising takes most of the time.
    let args = "campaign noisy-neighbor --nic cx4-lx --strategy genetic --seed 1 --executions 16 --out c";
    let args: Vec<_> = args.split(' ').collect();
    let mut interrupted = false;
    // Machines differ in speed: later and later, until one was hit.
    for wait_ms in (20..1_000).step_by(20) {
        let _ = fs::remove_dir_all(path.join("c"));
        let mut child = crate::run::command();
        let mut child =
            child.current_dir(path).args(&args).stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let code = child.wait().unwrap().code();
        let Ok(summary) = fs::read_to_string(path.join("c/summary.json")) else { continue };
        let pending = summary.contains("\"pending\"");
        assert_eq!(
            code == Some(130),
            pending || !summary.contains("\"executions\": 16"),
            "{code:?} {summary}"
        );
        interrupted |= pending;
        if pending {
            // It has a report and a test all the same.
            assert_eq!(in_folder(path, &["replay", "c"]).code, 0);
            break;
        }
    }
    assert!(interrupted, "no moment was while a finding was being minimised");
}

/// A drawn seed is one that a user can give.
#[test]
fn a_drawn_seed_may_be_given_again() {
    let folder = folder(&[]);
    let summary = campaign(folder.path(), &["general", "--executions", "20", "--out", "drawn"]);
    let seed = summary["seed"].as_u64().unwrap();
    assert!(u32::try_from(seed).is_ok(), "{seed}");
    let args = ["general", "--seed", &seed.to_string(), "--executions", "20", "--out", "given"];
    campaign(folder.path(), &args);
    crate::campaign::same(folder.path(), "drawn", "given");
}
