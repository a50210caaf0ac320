//! A campaign on a disk that is full: a small tmpfs in a user and mount namespace of its own.

use std::process::Command;

use crate::campaign::{SMALL, same};
use crate::run::{folder, in_folder};

/// Runs the campaign on a disk too small for it, and goes on with it when the disk has grown. The exit codes
/// and what was said are left in files, and so is the campaign.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=11m tmpfs disk || exit 99
"$@" --out disk/c >full.out 2>full.txt; echo $? >full.code
cp disk/c/summary.json full.json
"$@" --out disk/c --resume 2>again.txt; echo $? >again.code
mount -o remount,size=512m disk || exit 98
"$@" --out disk/c --resume 2>grown.txt; echo $? >grown.code
cp -r disk/c full
"#;

const CAMPAIGN: [&str; 8] =
    ["campaign", "./small.toml", "--nic", "cx4-lx", "--seed", "4", "--executions", "4000"];

#[test]
fn a_full_disk_changes_nothing() {
    let folder = folder(&[("small.toml", SMALL), ("disk/.keep", "")]);
    let whole = in_folder(folder.path(), &[&CAMPAIGN[..], &["--out", "whole"]].concat());
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"])
        .arg(env!("CARGO_BIN_EXE_lumina-fuzz"))
        .args(CAMPAIGN)
        .current_dir(folder.path())
        .status()
        .expect("`unshare` is there");
    assert!(ran.success(), "{ran}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("full.code"), "1\n", "{}", read("full.txt"));
    for said in ["full.txt", "again.txt"] {
        assert!(read(said).contains("error: the disk is full"), "{}", read(said));
        assert!(!read(said).contains("panicked"), "{}", read(said));
    }
    // The page was not written.
    assert!(read("full.out").contains("`lumina-fuzz report disk/c`"), "{}", read("full.out"));
    assert!(!read("full.out").contains("report.html"), "{}", read("full.out"));
    let full: serde_json::Value = serde_json::from_str(&read("full.json")).unwrap();
    assert!((1..4000).contains(&full["executions"].as_u64().unwrap()), "{full:#}");
    assert_eq!(read("again.code"), "1\n");
    assert_eq!(read("grown.code"), "0\n", "{}", read("grown.txt"));
    same(folder.path(), "whole", "full");
}
