//! `report`: pages for those who did not run the campaign.

use std::fs;
use std::path::Path;

use crate::run::{folder, in_folder};

/// A NIC whose name and title would be markup, and which breaks a rule in nearly every test.
const PROFILE: &str = "[quirks]\nnak-repeats = 1\n";
const NAME: &str = "./a<b>&'*.toml";

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs a campaign, and names the folder of the finding with a signature.
fn campaign(folder: &Path, nic: &str, out: &str, signature: &str) -> String {
    let args = ["campaign", "general", "--nic", nic, "--seed", "1", "--executions", "100", "--out", out];
    let ran = in_folder(folder, &args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains(&format!("{out}/report.html")), "{}", ran.stdout);
    let findings = fs::read_dir(folder.join(out).join("findings")).unwrap();
    let of_it = findings
        .map(|entry| entry.unwrap().path())
        .find(|finding| text(&finding.join("finding.json")).contains(signature));
    let of_it = of_it.unwrap_or_else(|| panic!("{}", ran.stdout));
    of_it.strip_prefix(folder).unwrap().display().to_string()
}

/// What a page must not have: anything that a browser would load, or run.
fn is_self_contained(html: &str) {
    let without_namespaces = html.replace("http://www.w3.org/2000/svg", "");
    for load in ["http:", "https:", "<script", "@import", "url(h", "<img", "<link rel=\"style"] {
        assert!(!without_namespaces.contains(load), "{load} in {html}");
    }
}

#[test]
fn a_campaign_leaves_pages_on_itself_and_its_findings() {
    let folder = folder(&[(NAME, PROFILE)]);
    let path = folder.path();
    let finding = campaign(path, NAME, "c", "nak-again");
    let html = text(&path.join(&finding).join("report.html"));
    is_self_contained(&html);
    for part in [
        "<h1>Responder NAKs PSN 1 twice without receiving it in between (1 Write)</h1>",
        "<code>gbn-violation/responder/nak-again</code>",
        "the responder sends one PSN sequence error NAK",
        "<svg class=\"ladder\" role=\"img\"",
        "<svg class=\"figure\" role=\"img\"",
        "<title>Message completion times</title>",
        "ib_write_bw -F",
        "is no NIC type of Lumina",
        "lumina-fuzz replay FOLDER",
        "strategy adaptive, seed 1",
    ] {
        assert!(html.to_lowercase().contains(&part.to_lowercase()), "no `{part}` in {html}");
    }
    assert!(html.contains("./a&#60;b&#62;&#38;&#39;*.toml") && !html.contains("a<b>"), "{html}");
    let markdown = text(&path.join(&finding).join("report.md"));
    assert!(markdown.contains("./a\\<b\\>\\&'\\*.toml (requester)"), "{markdown}");

    let html = text(&path.join("c/report.html"));
    is_self_contained(&html);
    let id = finding.rsplit('/').next().unwrap();
    assert!(html.contains(&format!("<a href=\"findings/{id}/report.html\">")), "{html}");
    assert!(html.contains("lumina-fuzz campaign general --nic ./a&#60;b"), "{html}");

    // What is lost is written again, and the same.
    let before = ["report.html", "report.md", "report.txt"].map(|name| text(&path.join(&finding).join(name)));
    for name in ["report.html", "report.md"] {
        fs::remove_file(path.join(&finding).join(name)).unwrap();
    }
    fs::remove_file(path.join("c/report.html")).unwrap();
    let ran = in_folder(path, &["report", "c"]);
    assert_eq!((ran.code, &ran.stdout[..]), (0, "c/report.html\n"), "{}", ran.stderr);
    let after = ["report.html", "report.md", "report.txt"].map(|name| text(&path.join(&finding).join(name)));
    assert_eq!(before, after);
    assert!(path.join("c/report.html").exists());
    let ran = in_folder(path, &["report", &finding]);
    assert_eq!((ran.code, ran.stdout), (0, format!("{finding}/report.html\n")), "{}", ran.stderr);
}

#[test]
fn packets_of_the_evidence_say_so_in_the_capture() {
    let folder = folder(&[("nic.toml", PROFILE)]);
    let path = folder.path();
    let finding = campaign(path, "./nic.toml", "c", "nak-again");
    let capture = fs::read(path.join(&finding).join("trace.pcapng")).unwrap();
    let says =
        b"evidence of gbn-violation/responder/nak-again: Responder 10.0.0.2, connection 1: NAKs PSN 1 twice";
    let noted = capture.windows(says.len()).filter(|bytes| bytes == says).count();
    assert_eq!(noted, 2, "both NAKs");
    // It is still the same trace.
    let ran = in_folder(path, &["analyze", &finding]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("gbn-violation/responder/nak-again"), "{}", ran.stdout);
}

#[test]
fn two_campaigns_are_compared() {
    let folder = folder(&[
        ("old.toml", "[quirks]\nnak-repeats = 1\nstuck-counters = [\"packet_seq_err\"]\n"),
        ("new.toml", "[quirks]\nnak-repeats = 1\nmsn-offset = 1\n"),
    ]);
    let path = folder.path();
    campaign(path, "./old.toml", "old", "nak-again");
    campaign(path, "./new.toml", "new", "nak-again");
    let ran = in_folder(path, &["report", "old", "new", "--out", "versus"]);
    assert_eq!((ran.code, &ran.stdout[..]), (0, "versus/report.html\n"), "{}", ran.stderr);
    is_self_contained(&text(&path.join("versus/report.html")));
    let markdown = text(&path.join("versus/report.md"));
    let part = |from: &str, to: &str| {
        let (_, rest) = markdown.split_once(from).unwrap_or_else(|| panic!("no `{from}` in {markdown}"));
        rest.split_once(to).map_or(rest, |(part, _)| part).to_owned()
    };
    assert!(part("that are new", "that are gone").contains("msn-wrong"), "{markdown}");
    assert!(part("that are gone", "that are changed").contains("packet_seq_err"), "{markdown}");
    assert!(part("that are the same", "\u{0}").contains("nak-again"), "{markdown}");
    assert!(!markdown.contains("only one of the campaigns"), "they have one target: {markdown}");
}

#[test]
fn findings_that_another_target_does_not_look_for_are_not_gone() {
    let folder = folder(&[("nic.toml", "[quirks]\nnak-repeats = 1\n")]);
    let path = folder.path();
    campaign(path, "./nic.toml", "wide", "nak-again");
    let args = ["campaign", "counters", "--nic", "./nic.toml", "--seed", "1", "--executions", "50"];
    let ran = in_folder(path, &[&args[..], &["--out", "narrow"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (folders, missed_by) in [(["wide", "narrow"], "gone"), (["narrow", "wide"], "new")] {
        let ran = in_folder(path, &["report", folders[0], folders[1], "--out", missed_by]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let markdown = text(&path.join(missed_by).join("report.md"));
        let (before, one_sided) = markdown
            .split_once("## Findings that only one of the campaigns looks for: ")
            .unwrap_or_else(|| panic!("{markdown}"));
        assert!(one_sided.contains("gbn-violation/responder/nak-again"), "{markdown}");
        assert!(before.contains(&format!("## Findings that are {missed_by}: 0")), "{markdown}");
    }
}

#[test]
fn bad_requests_are_answered() {
    let folder = folder(&[("notes.txt", "no finding\n")]);
    for (args, says) in [
        (&["report"][..], "required"),
        (&["report", "notes.txt"], "notes.txt"),
        (&["report", "nowhere"], "nowhere"),
        (&["report", "a", "b"], "--out"),
        (&["report", "a", "--out", "b"], "--out"),
    ] {
        let ran = in_folder(folder.path(), args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    }
}
