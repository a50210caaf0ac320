//! One verdict everywhere: a finding has the same signature from its campaign, `run`, `analyze` and `replay`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::campaign::{campaign, findings};
use crate::run::{folder, in_folder};

/// Signatures of the findings in a document of `run` or `analyze`.
fn signatures(document: &Value) -> BTreeSet<String> {
    let findings = document["findings"].as_array().unwrap_or_else(|| panic!("{document:#}"));
    findings.iter().map(|finding| finding["signature"].as_str().unwrap().to_owned()).collect()
}

/// Holds a finding of the campaign `c` in a folder to its signature: by its test, its folder, its document, the result
/// folder of its test, and `replay`.
pub(crate) fn is_the_same_everywhere(folder: &Path, finding: &Value) {
    let signature = finding["signature"].as_str().unwrap();
    let path = format!("c/{}", finding["path"].as_str().unwrap());
    let out = tempfile::tempdir_in(folder).unwrap();
    let kept = out.path().join("kept");
    let kept = kept.to_str().unwrap();
    let json = |args: &[&str]| {
        let ran = in_folder(folder, &[args, &["--format", "json"]].concat());
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""), "{args:?}");
        ran.json()
    };
    let ran = json(&["run", &format!("{path}/reproducer.toml"), "--out", kept]);
    assert!(signatures(&ran).contains(signature), "{signature} is not in {:#}", ran["findings"]);
    for place in [&path[..], &format!("{path}/finding.json"), kept] {
        let analysed = json(&["analyze", place]);
        assert_eq!(analysed["findings"], ran["findings"], "{signature}: {place}");
        assert_eq!(analysed["unjudged"], ran["unjudged"], "{signature}: {place}");
        if place != kept {
            assert_eq!(analysed["finding"]["shown"], true, "{signature}: {place}");
        }
    }
    let replayed = json(&["replay", &path]);
    assert_eq!(replayed["findings"][0]["signature"], signature);
    assert_eq!(replayed["findings"][0]["reproduced"], true);
    let again = json(&["replay", kept]);
    let again = again["findings"].as_array().unwrap();
    let of_kept: BTreeSet<String> =
        again.iter().map(|line| line["signature"].as_str().unwrap().to_owned()).collect();
    assert_eq!(of_kept, signatures(&ran), "{again:#?}");
    assert!(again.iter().all(|line| line["reproduced"] == true), "{again:#?}");
}

/// A NIC with a fault that campaigns find at once, and what they leave of it: the folder, and the path of a finding.
fn repeats_naks() -> (tempfile::TempDir, String) {
    let folder = folder(&[("nic.toml", "[quirks]\nnak-repeats = 1\n")]);
    let args = ["retransmission", "--nic", "./nic.toml", "--seed", "1", "--executions", "64", "--out", "c"];
    let summary = campaign(folder.path(), &args);
    let path = format!("c/{}", findings(&summary)[0]["path"].as_str().unwrap());
    (folder, path)
}

#[test]
fn a_renamed_folder_of_findings_is_known_by_what_is_in_it() {
    let (folder, path) = repeats_naks();
    fs::rename(folder.path().join("c/findings"), folder.path().join("kept")).unwrap();
    let ran = in_folder(folder.path(), &["replay", "kept"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    // One that lost its document is damaged, whatever the folder is called.
    fs::create_dir(folder.path().join("kept/0")).unwrap();
    let ran = in_folder(folder.path(), &["replay", "kept"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    fs::remove_dir(folder.path().join("kept/0")).unwrap();
    let one = path.replace("c/findings", "kept");
    for path in [&one, &format!("{one}/finding.json"), &format!("{one}/reproducer.toml")] {
        assert_eq!(in_folder(folder.path(), &["replay", path]).code, 0, "{path}");
        let ran = in_folder(folder.path(), &["analyze", path]);
        assert_eq!((ran.code, &ran.stderr[..]), (0, ""), "{path}");
        assert!(ran.stdout.contains(", shown\n"), "{}", ran.stdout);
    }
    for not in ["kept/..", "nic.toml", "nowhere"] {
        assert_eq!(in_folder(folder.path(), &["replay", not]).code, 2, "{not}");
    }
}

#[test]
fn a_lost_report_is_written_again() {
    let (folder, path) = repeats_naks();
    let [report, trace] = ["report.txt", "trace.pcapng"].map(|name| folder.path().join(&path).join(name));
    let lose = || [&report, &trace].map(|file| fs::remove_file(file).unwrap());
    let read = || (fs::read_to_string(&report).unwrap(), fs::read(&trace).unwrap());
    let before = read();
    lose();
    let ran = in_folder(folder.path(), &["replay", &path]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("(written again: trace.pcapng, report.txt)"), "{}", ran.stdout);
    assert!(read() == before, "replay wrote something else: {}", read().0);

    // Nothing smaller is found, and the report counts the executions that it took to say so.
    lose();
    let ran = in_folder(folder.path(), &["minimize", &path, "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (said, after) = (ran.json(), read());
    assert!(said["executions"].as_u64().unwrap() > 0 && said["restarts"].as_u64().unwrap() >= 12, "{said}");
    assert_eq!(said["minimized"], "full");
    let words = |text: &str| {
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        let at = words.windows(2).position(|two| two == ["executions", "of"]).unwrap() - 1;
        (words[at].parse::<u64>().unwrap(), [&words[..at], &words[at + 1..]].concat())
    };
    let ([(first, was), (last, is)], [packets_before, packets_after]) =
        ([&before.0, &after.0].map(|text| words(text)), [before.1, after.1]);
    assert_eq!((first + said["executions"].as_u64().unwrap(), was), (last, is));
    assert!(packets_before == packets_after);
    // What another NIC shows is no report of this finding.
    fs::remove_file(&report).unwrap();
    assert_eq!(in_folder(folder.path(), &["replay", &path, "--nic", "./nic.toml"]).code, 0);
    assert!(!report.exists());
}

/// Packets that are not those of the test say for themselves what they show, without the hosts' counters.
#[test]
fn a_finding_is_analysed_by_the_packets_that_it_keeps() {
    let (folder, path) = repeats_naks();
    let test = folder.path().join(&path).join("reproducer.toml");
    let text = fs::read_to_string(&test).unwrap();
    fs::write(&test, text.replace("type = \"drop\"", "type = \"corrupt\"")).unwrap();
    let ran = in_folder(folder.path(), &["analyze", &path, "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("its packets are not those of its test run again"), "{}", ran.stderr);
    let document = ran.json();
    assert_eq!(document["finding"]["shown"], true);
    let unjudged = document["unjudged"].as_array().unwrap();
    assert!(unjudged.iter().any(|one| one["what"] == "counter-mismatch"), "{unjudged:#?}");

    let ran = in_folder(folder.path(), &["analyze", &path, "--config", "nic.toml"]);
    assert_eq!(ran.code, 2);
    fs::create_dir(folder.path().join("c/findings/other")).unwrap();
    let ran = in_folder(folder.path(), &["analyze", "c"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("c: holds 2 findings; name one of them: c/findings/"), "{}", ran.stderr);
}
