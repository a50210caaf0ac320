//! `corpus check`, `list`, `show`, `export` and `import`, on corpora that are whole and on damaged ones.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use corpus::store::{Decision, Progress, Store};
use corpus::{
    Evaluation, FindingRecord, Key, Lineage, Minimized, Outcome, Scores, Sighting, TestConfig, Verb,
};
use tempfile::TempDir;

use crate::run::{Ran, in_folder};

fn config(number: u64) -> TestConfig {
    let mut config = TestConfig::default();
    config.traffic.seed = number;
    config.traffic.load = corpus::Load::Same { verb: Verb::Read, connections: number as u32 % 5 + 1 };
    config
}

fn score(number: u64) -> f64 {
    // Exact, so that it is the same after a way through JSON.
    (number * 37 % 128) as f64 / 128.0
}

/// One in ten is invalid, and of the others one in two is kept.
fn is_kept(number: u64) -> bool {
    number.is_multiple_of(2) && !number.is_multiple_of(10)
}

fn evaluation(number: u64) -> Evaluation {
    let objectives = BTreeMap::from([("goodput".to_owned(), 0.25), ("stall".to_owned(), score(number))]);
    let sightings =
        vec![Sighting { signature: "stall requester none".to_owned(), objectives: vec!["stall".to_owned()] }];
    let (parent, operators) = match number {
        1..=4 => (None, vec!["random".to_owned()]),
        // Two before it was kept too, unless it was invalid.
        _ => (Some(number - 2), vec!["add-event".to_owned(), "more-connections".to_owned()]),
    };
    let outcome = if number.is_multiple_of(10) {
        Outcome::Invalid { reason: "the trace is not complete".to_owned() }
    } else {
        Outcome::Scored(Scores { objectives, sightings, ..Scores::default() })
    };
    Evaluation {
        number,
        config: config(number),
        lineage: Lineage { parent, operators, seed: number },
        outcome,
    }
}

fn finding() -> FindingRecord {
    FindingRecord {
        id: "0123456789ab".to_owned(),
        kind: "stall".to_owned(),
        signature: "stall requester none".to_owned(),
        title: "The requester stalls".to_owned(),
        first_seen_execution: 1,
        sightings: 40,
        config: config(1),
        reproducer: config(1),
        minimized: Minimized::Pending,
        minimizer_executions: 0,
        evidence: "{}".to_owned(),
    }
}

fn fill(store: &Store, executions: u64) {
    for number in 1..=executions {
        store.record(&evaluation(number)).unwrap();
        let decision = Decision {
            number,
            kept: is_kept(number).then(|| score(number)),
            new_references: &[],
            findings: if number == 1 { &[finding()] } else { &[] },
            situations: &[],
            losses: None,
            progress: Progress { executions: number, invalid: number / 10, ..Progress::default() },
        };
        store.decide(&decision).unwrap();
    }
    store.record(&evaluation(executions + 1)).unwrap();
    store.put_reference(Key::of(&config(1)), b"summary").unwrap();
    store.flush().unwrap();
}

/// A folder with a campaign `c1`, in which a corpus was closed, and `killed`, which was not.
fn campaign(executions: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c1/corpus");
    let store = Store::create(&path).unwrap();
    fill(&store, executions);
    copy(&path, &folder.path().join("killed"));
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            drop(files.insert(path.clone(), fs::read(path).unwrap()));
        }
    }
    files
}

fn corpus(folder: &TempDir, args: &[&str]) -> Ran {
    in_folder(folder.path(), &[&["corpus"], args].concat())
}

#[test]
fn check_says_what_is_there() {
    let folder = campaign(100);
    let before = files(folder.path());
    let ran = corpus(&folder, &["check", "c1"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    insta::assert_snapshot!("corpus_check", ran.stdout);
    let ran = corpus(&folder, &["check", "killed"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    assert!(
        ran.stdout.starts_with("killed: whole; its process ended without closing it\n"),
        "{}",
        ran.stdout
    );
    let document = corpus(&folder, &["check", "c1/corpus", "--format", "json"]).json();
    assert_eq!(
        document,
        serde_json::json!({
            "path": "c1/corpus", "whole": true, "condition": "closed", "executions": 100, "reference_executions": 0,
            "minimizer_executions": 0, "invalid": 10, "undecided": 1, "kept": 40, "findings": 1, "references": 1,
            "lost": { "kept": 0, "findings": 0, "references": 0, "state": false },
        })
    );
    assert_eq!(files(folder.path()), before, "looking changes nothing");
}

#[test]
fn list_has_a_line_for_each_test_in_order() {
    let folder = campaign(100);
    let ran = corpus(&folder, &["list", "c1", "--limit", "3"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    insta::assert_snapshot!("corpus_list", ran.stdout);
    let numbers = |args: &[&str]| -> Vec<u64> {
        let document = corpus(&folder, &[&["list", "c1", "--format", "json"], args].concat()).json();
        document.as_array().unwrap().iter().map(|entry| entry["number"].as_u64().unwrap()).collect()
    };
    let kept: Vec<u64> = (1..=100).filter(|number| is_kept(*number)).collect();
    assert_eq!(numbers(&["--sort", "number"]), kept);
    assert_eq!(numbers(&["--sort", "number", "--limit", "2"]), kept[..2]);
    let mut by_score = kept;
    by_score.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
    assert_eq!(numbers(&[]), by_score);
}

#[test]
fn show_says_where_a_test_comes_from() {
    let folder = campaign(100);
    let ran = corpus(&folder, &["show", "c1", "8"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    insta::assert_snapshot!("corpus_show", ran.stdout);
    assert_eq!(corpus::from_toml("shown", &ran.stdout).unwrap(), config(8), "it is a test");
    let shown = corpus(&folder, &["show", "c1", "14"]).stdout;
    assert!(shown.contains("# execution 12: from execution 10 by add-event"), "{shown}");
    assert!(shown.contains("# execution 10: its test was not kept\n"), "{shown}");
    let document = corpus(&folder, &["show", "c1", "8", "--format", "json"]).json();
    let ancestors: Vec<_> =
        document["ancestors"].as_array().unwrap().iter().map(|one| &one["number"]).collect();
    assert_eq!(ancestors, [6, 4]);
    assert_eq!(document["objectives"]["stall"], score(8));
    assert_eq!(corpus::from_toml("shown", document["test"].as_str().unwrap()).unwrap(), config(8));
    assert!(corpus(&folder, &["show", "c1", "101"]).stdout.starts_with("# Execution 101, not decided yet\n"));

    let ran = corpus(&folder, &["show", "c1", "7"]);
    let said = "error: c1: the test of execution 7 was not kept; `corpus list` names those that were\n";
    assert_eq!((ran.code, &ran.stdout[..], &ran.stderr[..]), (2, "", said));
}

#[test]
fn exported_tests_can_be_run() {
    let folder = campaign(30);
    let ran = corpus(&folder, &["export", "c1", "--out", "tests"]);
    assert_eq!((ran.code, &ran.stdout[..], &ran.stderr[..]), (0, "tests: 12 tests\n", ""));
    let exported = files(&folder.path().join("tests"));
    let kept: Vec<u64> = (1..=30).filter(|number| is_kept(*number)).collect();
    for ((path, text), number) in exported.iter().zip(&kept) {
        assert_eq!(*path, folder.path().join(format!("tests/{number:08}.toml")));
        assert_eq!(corpus::load(path).unwrap().config, config(*number));
        let text = String::from_utf8_lossy(text);
        assert!(
            text.starts_with(&format!("# Execution {number}, kept with score {:.6}\n", score(*number))),
            "{text}"
        );
    }
    assert_eq!(exported.len(), kept.len());
    assert_eq!(in_folder(folder.path(), &["run", "tests/00000008.toml"]).code, 0);

    let ran = corpus(&folder, &["export", "c1", "--out", "again", "--format", "json"]);
    let document = ran.json();
    assert_eq!(document["tests"][1]["file"], "00000004.toml");
    assert_eq!((&document["tests"][1]["number"], &document["tests"][1]["parent"]), (&4.into(), &().into()));
    let ran = corpus(&folder, &["export", "c1", "--out", "tests"]);
    assert_eq!((ran.code, &ran.stdout[..]), (2, ""));
    assert!(ran.stderr.contains("tests: is not empty; name a new folder"), "{}", ran.stderr);
}

/// Overwrites a part of the log in the middle.
fn damage(corpus: &Path, at: u64, len: usize) {
    let log = File::options().write(true).open(corpus.join("db/db")).unwrap();
    log.write_all_at(&vec![0xa5; len], at).unwrap();
}

#[test]
fn a_damaged_corpus_is_saved_as_far_as_it_can_be_read() {
    let folder = campaign(300);
    damage(&folder.path().join("c1/corpus"), 0, 60_000);
    let before = files(folder.path());
    let ran = corpus(&folder, &["check", "c1"]);
    assert_eq!((ran.code, &ran.stderr[..]), (1, ""));
    insta::assert_snapshot!("corpus_check_damaged", ran.stdout);
    let document = corpus(&folder, &["check", "c1", "--format", "json"]).json();
    let (kept, lost) = (document["kept"].as_u64().unwrap(), document["lost"]["kept"].as_u64().unwrap());
    assert_eq!(
        (kept + lost, &document["whole"], &document["condition"]),
        (120, &false.into(), &"changed".into())
    );
    assert!(kept > 60 && lost > 0, "{document}");
    let listed = corpus(&folder, &["list", "c1"]);
    assert_eq!(listed.stderr, "note: c1: is damaged; `corpus check` says what is lost\n");
    assert_eq!((listed.code, listed.stdout.lines().count() as u64), (0, kept + 1));
    assert_eq!(corpus(&folder, &["export", "c1", "--out", "tests"]).stdout, format!("tests: {kept} tests\n"));
    let ran = corpus(&folder, &["import", "new/corpus", "--from", "c1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("new/corpus: whole\n"), "{}", ran.stdout);
    let relisted = corpus(&folder, &["list", "new"]);
    assert_eq!((relisted.stdout, &relisted.stderr[..]), (listed.stdout.clone(), ""));
    assert!(before.iter().all(|(path, bytes)| fs::read(path).unwrap() == *bytes), "nothing was changed");
    let ran = corpus(&folder, &["import", "new/corpus", "--from", "c1"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("error: new/corpus: is not empty; name a new folder"), "{}", ran.stderr);

    // A campaign repairs it; the damaged files can still be looked at.
    drop(Store::open(&folder.path().join("c1/corpus")).unwrap());
    assert_eq!(corpus(&folder, &["check", "c1"]).code, 0);
    let aside = corpus(&folder, &["list", "c1/corpus/db.damaged-1"]);
    assert_eq!((aside.code, aside.stdout), (0, listed.stdout));
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = campaign(10);
    fs::create_dir(folder.path().join("empty")).unwrap();
    for dir in ["empty", "nowhere"] {
        for action in
            [&["check", dir][..], &["list", dir], &["show", dir, "1"], &["import", "new", "--from", dir]]
        {
            let ran = corpus(&folder, action);
            let said =
                format!("error: {dir}: there is no corpus; name a campaign's folder, or the corpus in it\n");
            assert_eq!((ran.code, &ran.stdout[..], ran.stderr), (2, "", said));
        }
    }
    assert!(!folder.path().join("new").exists());
    let document = corpus(&folder, &["list", "nowhere", "--format", "json"]).json();
    assert_eq!(document["error"], "bad corpus");

    fs::write(folder.path().join("killed/db/db"), "nothing").unwrap();
    let ran = corpus(&folder, &["check", "killed"]);
    let said = "error: killed/db: nothing in this corpus can be read (its files hold no record); take it from a \
                backup, or start a new campaign\n";
    assert_eq!((ran.code, &ran.stdout[..], &ran.stderr[..]), (1, "", said));

    let store = Store::open(&folder.path().join("c1/corpus")).unwrap();
    let ran = corpus(&folder, &["import", "c1/corpus", "--from", "c1"]);
    let said = "error: c1/corpus: is not empty; name a new folder or an empty one\n";
    assert_eq!((ran.code, &ran.stdout[..], &ran.stderr[..]), (2, "", said));
    drop(store);
}

/// The commands read a corpus that a campaign has open, as it is when they begin.
#[test]
fn a_running_campaign_can_be_looked_into() {
    let folder = campaign(100);
    let closed = |args: &[&str]| corpus(&folder, args).stdout;
    let (list, show) = (closed(&["list", "c1"]), closed(&["show", "c1", "4"]));
    let (store, _) = Store::open(&folder.path().join("c1/corpus")).unwrap();
    let ran = corpus(&folder, &["check", "c1"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    assert!(ran.stdout.starts_with("c1: whole; a campaign has it open\n"), "{}", ran.stdout);
    assert_eq!(corpus(&folder, &["check", "c1", "--format", "json"]).json()["condition"], "running");
    assert_eq!(corpus(&folder, &["list", "c1"]).stdout, list);
    assert_eq!(corpus(&folder, &["show", "c1", "4"]).stdout, show);
    // The campaign goes on.
    store.record(&evaluation(102)).unwrap();
    store.flush().unwrap();
    let undecided = corpus(&folder, &["check", "c1", "--format", "json"]).json()["undecided"].clone();
    assert_eq!(undecided, 2);
}

/// Wherever the files are cut or overwritten, the commands end by themselves, and not with a panic.
#[test]
fn no_damage_makes_a_command_panic() {
    let folder = campaign(60);
    let sound = folder.path().join("c1/corpus");
    let len = fs::metadata(sound.join("db/db")).unwrap().len();
    for round in 0..24_u64 {
        let name = format!("damaged-{round}");
        let path = folder.path().join(&name);
        copy(&sound, &path);
        let at = round * 7919 * 31 % len;
        match round % 3 {
            0 => File::options().write(true).open(path.join("db/db")).unwrap().set_len(at).unwrap(),
            1 => damage(&path, at, 4096),
            _ => fs::write(path.join("db/conf"), vec![round as u8; round as usize * 5]).unwrap(),
        }
        let out = format!("out-{round}");
        for action in [&["check", &name][..], &["list", &name], &["export", &name, "--out", &out]] {
            let ran = corpus(&folder, action);
            assert!(matches!(ran.code, 0 | 1) && !ran.stderr.contains("panicked"), "{round}: {}", ran.stderr);
        }
    }
}
