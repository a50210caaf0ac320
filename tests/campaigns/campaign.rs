//! Running campaigns and looking at what they leave behind.

use std::fs;
use std::path::Path;

use corpus::store::Archive;
use serde_json::Value;

use crate::run::in_folder;

/// A target whose tests take a millisecond.
pub(crate) const SMALL: &str = "base = \"general\"\n[traffic]\nnum-connections = { min = 1, max = 4 }\n\
                     num-msgs-per-qp = { min = 1, max = 4 }\nmessage-size = { min = 1, max = 4096 }\n";

/// Runs a campaign to its end; its summary, as printed.
pub(crate) fn campaign(folder: &Path, args: &[&str]) -> Value {
    let ran = in_folder(folder, &[&["campaign"], args, &["--format", "json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.json()
}

/// Runs a campaign until its summary has what is looked for, or to its end: as most comes early, it is looked at after each of these numbers of
/// executions. Its summary.
pub(crate) fn campaign_until(
    folder: &Path,
    args: &[&str],
    looks: &[&str],
    has_it: impl Fn(&Value) -> bool,
) -> Value {
    let mut summary = Value::Null;
    for (at, executions) in looks.iter().enumerate() {
        let resume: &[&str] = if at == 0 { &[] } else { &["--resume"] };
        summary = campaign(folder, &[args, &["--executions", executions], resume].concat());
        if has_it(&summary) {
            break;
        }
    }
    summary
}

/// The findings of a summary.
pub(crate) fn findings(summary: &Value) -> &[Value] {
    summary["findings"].as_array().unwrap()
}

/// A summary without its times and rates.
fn timeless(summary: &Path) -> Value {
    let mut summary: Value = serde_json::from_str(&fs::read_to_string(summary).unwrap()).unwrap();
    summary.as_object_mut().unwrap().retain(|field, _| !field.ends_with("_s") && !field.ends_with("_at"));
    summary
}

/// Everything in a campaign's findings that does not hold a time of the machine: names and bytes, in order.
fn findings_on_disk(campaign: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let findings = campaign.join("findings");
    if findings.is_dir() {
        for finding in fs::read_dir(findings).unwrap() {
            for file in fs::read_dir(finding.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.strip_prefix(campaign).unwrap().display().to_string();
                // What a kill left of a file that was being written.
                if !name.contains("/.tmp") {
                    files.push((name, fs::read(path).unwrap()));
                }
            }
        }
    }
    files.sort();
    files
}

/// The kept tests of a campaign, each as `corpus export` writes it.
fn corpus_of(folder: &Path, campaign: &str) -> Vec<(String, Vec<u8>)> {
    let out = tempfile::tempdir_in(folder).unwrap();
    let exported = out.path().join("tests");
    let ran = in_folder(folder, &["corpus", "export", campaign, "--out", exported.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(exported)
        .unwrap()
        .map(|file| file.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Two campaigns of a folder came to the same, times aside.
#[track_caller]
pub(crate) fn same(folder: &Path, one: &str, other: &str) {
    let summary = |campaign: &str| timeless(&folder.join(campaign).join("summary.json"));
    assert_eq!(summary(one), summary(other));
    assert_eq!(corpus_of(folder, one), corpus_of(folder, other), "the corpus differs");
    let situations = |campaign: &str| Archive::read(&folder.join(campaign)).unwrap().situations().unwrap();
    assert_eq!(situations(one), situations(other), "they went through other situations");
    assert!(!situations(one).is_empty());
    let (one, other) = (findings_on_disk(&folder.join(one)), findings_on_disk(&folder.join(other)));
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    for ((name, one), (_, other)) in one.iter().zip(&other) {
        assert!(one == other, "{name} differs");
    }
}
