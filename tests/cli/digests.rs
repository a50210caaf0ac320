//! The digest of a trace: the same in every process, from the simulation and from files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::run::{DROP, folder, in_folder};

const READS: &str = "[requester]\nnic = \"cx4-lx\"\n[traffic]\nrdma-verb = \"read\"\nnum-connections = 3\n\
                     tx-depth = 4\n[[event]]\nqpn = 1\npsn = 3\ntype = \"drop\"\n\
                     [[event]]\nqpn = { first = 2 }\npsn = 7\ntype = \"corrupt\"\n";
const MIXED: &str = "[traffic]\nrdma-verb = \"send_read\"\nnum-connections = 2\nrecv-depth = 1\n\
                     [[event]]\nqpn = 2\npsn = 1\nevery = 3\ntype = \"ecn\"\n\
                     [[event]]\nqpn = 1\npsn = 2\ntype = \"delay\"\ndelay-ns = 9_000\n\
                     [[event]]\nqpn = 1\npacket = \"ack\"\nnth = 2\ntype = \"duplicate\"\ncopies = 1\n";

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

#[test]
fn the_same_seed_gives_the_same_trace_in_every_process() {
    let folder = folder(&[("drop.toml", DROP), ("reads.toml", READS), ("mixed.toml", MIXED)]);
    let mut digests = BTreeMap::new();
    for test in ["drop", "reads", "mixed"] {
        for seed in ["1", "2", "9223372036854775807"] {
            let config = format!("{test}.toml");
            let run = |out: &str| {
                let args = ["run", &config, "--seed", seed, "--out", out, "--format", "json"];
                let ran = in_folder(folder.path(), &args);
                assert_eq!((ran.code, &ran.stderr[..]), (0, ""), "{test} {seed}");
                ran.json()["test"]["trace_sha256"].as_str().unwrap().to_owned()
            };
            let (one, other) = (format!("{test}-{seed}-one"), format!("{test}-{seed}-other"));
            let digest = run(&one);
            assert_eq!(digest, run(&other), "{test} {seed}");
            let kept = files(&folder.path().join(&one));
            assert_eq!(kept.len(), 13, "{:?}", kept.keys());
            assert!(kept == files(&folder.path().join(&other)), "{test} {seed}");

            let analysed = in_folder(folder.path(), &["analyze", &one, "--format", "json"]).json();
            assert_eq!(analysed["input"]["trace_sha256"], digest, "{test} {seed}");
            let text = in_folder(folder.path(), &["run", &config, "--seed", seed]).stdout;
            assert!(text.contains(&format!(", sha256 {}\n", &digest[..16])), "{text}");
            digests.insert(digest, (test, seed));
        }
    }
    assert_eq!(digests.len(), 9, "another test or another seed gives another trace: {digests:?}");
}

/// Frames are kept whole, so that their ICRCs can be checked; cut ones say the same of everything else.
#[test]
fn frames_are_whole_unless_they_are_to_be_cut() {
    let folder = folder(&[("test.toml", DROP)]);
    let kept = |snap_len: &[&str]| {
        let out = format!("kept{}", snap_len.concat());
        let ran = in_folder(folder.path(), &[&["run", "test.toml", "--out", &out], snap_len].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        in_folder(folder.path(), &["analyze", &out, "--format", "json"]).json()["input"].clone()
    };
    let (whole, cut) = (kept(&[]), kept(&["--snap-len", "128"]));
    assert_eq!((&whole["icrc_right"], &whole["icrc_wrong"]), (&24.into(), &0.into()));
    // Five acknowledgements are shorter than that.
    assert_eq!((&cut["icrc_right"], &cut["icrc_wrong"]), (&5.into(), &0.into()));
    assert_eq!(cut["trace_sha256"], whole["trace_sha256"]);
}
