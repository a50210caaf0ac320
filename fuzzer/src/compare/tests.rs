//! Comparisons of made-up runs, and of some real ones.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use executor::TestbedName;

use super::{Found, Plan, RUNS, Ran, Row, Until, evaluate, kept, run, svg, text};
use crate::campaign::{CampaignError, Stop};
use crate::strategy::Strategy;

const STRATEGIES: [Strategy; 2] = [Strategy::Genetic, Strategy::Random];

/// Two strategies on such NICs.
fn plan(folder: &Path, nics: &[&str], until: Until) -> Plan {
    Plan {
        target: "general".to_owned(),
        testbed: TestbedName::Sim,
        nics: nics.iter().map(|nic| (*nic).to_owned()).collect(),
        strategies: STRATEGIES.to_vec(),
        seeds: 0..3,
        executions: 100,
        until,
        jobs: 2,
        folder: folder.to_owned(),
    }
}

/// A run that found such signatures, each at an execution.
fn ran(nic: &str, strategy: Strategy, seed: u64, found: &[(&str, u64)]) -> Ran {
    let found = found.iter().map(|(signature, execution)| Found {
        signature: (*signature).to_owned(),
        execution: *execution,
        // A third has more digits than serde_json keeps without `float_roundtrip`.
        at_s: (*execution as f64) / 3.0,
    });
    Ran {
        nic: nic.to_owned(),
        strategy,
        seed,
        program: kept::program(),
        basis: String::new(),
        executions: 100,
        elapsed_s: (seed as f64) / 7.0,
        found: found.collect(),
    }
}

/// Runs of both strategies on a NIC, the first of which is faster.
fn both(nic: &str) -> Vec<Ran> {
    let of = |seed: u64| [(Strategy::Genetic, 5 + seed), (Strategy::Random, 50 + seed)];
    let runs = (0..3).flat_map(|seed| of(seed).map(|(strategy, at)| ran(nic, strategy, seed, &[("a", at)])));
    runs.collect()
}

#[test]
fn rows_without_runs_have_no_numbers_and_are_not_compared() {
    let folder = Path::new("");
    let alone = evaluate(&plan(folder, &["cx5"], Until::First), &both("cx5"));
    assert_eq!((alone.overall[0].rows, alone.rows[0].comparisons.len()), (1, 1));

    // Of the second NIC only the first strategy has run, of the third none.
    let mut runs = both("cx5");
    runs.push(ran("e810", Strategy::Genetic, 0, &[("a", 7)]));
    let evaluation = evaluate(&plan(folder, &["cx5", "e810", "cx4-lx"], Until::First), &runs);
    assert_eq!(evaluation.overall, alone.overall);
    assert_eq!(evaluation.rows[0], alone.rows[0]);
    assert!(evaluation.rows[1..].iter().all(|row| row.comparisons.is_empty()));
    let document = serde_json::to_value(&evaluation).unwrap();
    let sample = &document["rows"][1]["samples"][1];
    assert_eq!(sample["runs"], 0);
    for number in ["found", "restricted_mean", "mean_s"] {
        assert!(sample[number].is_null(), "{sample:#}");
    }
    let text = text(&evaluation);
    let lines = |nic: &'static str| text.lines().filter(move |line| line.starts_with(nic));
    let dashes = |line: &str| line.split_whitespace().filter(|word| *word == "-").count();
    assert_eq!(lines("e810").map(dashes).collect::<Vec<_>>(), [0, 6], "{text}");
    assert_eq!(lines("cx4-lx").map(dashes).collect::<Vec<_>>(), [6, 6], "{text}");
    assert!(text.contains("of 1 rows better"), "{text}");
    svg(&evaluation).unwrap();
}

#[test]
fn a_strategy_that_has_not_run_is_not_compared() {
    let runs = [ran("cx5", Strategy::Genetic, 0, &[("a", 7)])];
    let evaluation = evaluate(&plan(Path::new(""), &["cx5"], Until::First), &runs);
    assert!(evaluation.overall.is_empty(), "{evaluation:?}");
    let text = text(&evaluation);
    assert!(text.contains("genetic / random: nothing to compare, as no row has runs of both"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("log-rank"), "{text}");
}

#[test]
fn without_a_finding_there_is_nothing_to_compare() {
    let runs = STRATEGIES.map(|strategy| ran("cx5", strategy, 0, &[]));
    let evaluation = evaluate(&plan(Path::new(""), &["cx5"], Until::Each), &runs);
    assert!(evaluation.rows.is_empty() && evaluation.overall.is_empty(), "{evaluation:?}");
    let text = text(&evaluation);
    assert!(text.ends_with("\nNothing was found: there is nothing to compare.\n"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("log-rank"), "{text}");
    svg(&evaluation).unwrap();
}

#[test]
fn each_signature_is_counted_by_itself() {
    let runs = [
        ran("cx5", Strategy::Genetic, 0, &[("a/b/c/less", 3)]),
        ran("cx5", Strategy::Random, 0, &[("a/b/c", 9)]),
    ];
    let found = |until| {
        let rows = evaluate(&plan(Path::new(""), &["cx5"], until), &runs).rows;
        let of_row = |row: Row| (row.anomaly, row.samples.iter().map(|sample| sample.found).collect());
        rows.into_iter().map(of_row).collect::<Vec<(String, Vec<Option<usize>>)>>()
    };
    let counted = |name: &str, found: [usize; 2]| (name.to_owned(), found.map(Some).to_vec());
    assert_eq!(found(Until::Each), [counted("a/b/c", [0, 1]), counted("a/b/c/less", [1, 0])]);
    assert_eq!(found(Until::All(vec!["a/b".to_owned()])), [counted("a/b", [1, 1])]);
}

#[test]
fn runs_are_read_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), &["cx5"], Until::First);
    let runs: Vec<Ran> = (0..1000).map(|seed| ran("cx5", Strategy::Genetic, seed, &[("a", seed)])).collect();
    for one in &runs {
        kept::append(&plan.folder, one).unwrap();
    }
    let read = kept::read(&plan, &kept::Bases::new(), true).unwrap();
    assert_eq!(read.into_values().collect::<Vec<_>>(), runs);
}

#[test]
fn only_a_line_of_a_run_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), &["cx5"], Until::First);
    let path = folder.path().join(RUNS);
    let read = |may_mend| kept::read(&plan, &kept::Bases::new(), may_mend);
    for foreign in ["{\"theirs\": 1", "{\"nic\":1}", "notes", "{\"nic\":\"a\"}"] {
        fs::write(&path, foreign).unwrap();
        let error = read(true).unwrap_err();
        assert!(error.to_string().contains("runs.jsonl:1: is no run"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
    }
    let line = format!("{}\n", serde_json::to_string(&ran("cx5", STRATEGIES[0], 0, &[("a", 5)])).unwrap());
    for end in 0..line.len() {
        let text = format!("{line}{}", &line[..end]);
        fs::write(&path, &text).unwrap();
        assert_eq!(read(false).unwrap().len(), 1, "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        read(true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), line);
    }
}

#[test]
fn progress_counts_runs_that_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan { executions: 5, ..plan(&folder.path().join("c"), &["reference"], Until::First) };
    let seen = Mutex::new(Vec::new());
    let runs = run(&plan, &Stop::new(), &|ended, all, _| seen.lock().unwrap().push((ended, all))).unwrap();
    assert_eq!(runs.len(), 6);
    assert_eq!(seen.into_inner().unwrap(), (0..=6).map(|ended| (ended, 6)).collect::<Vec<_>>());
}

#[test]
fn a_name_that_there_is_not_leaves_no_folder() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("c");
    let plan = Plan { target: "no-such-target".to_owned(), ..plan(&folder, &["cx5"], Until::First) };
    let error = run(&plan, &Stop::new(), &|_, _, _| ()).unwrap_err();
    assert!(matches!(error, CampaignError::Input(_)), "{error}");
    assert!(!folder.exists());
}
