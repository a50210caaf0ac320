//! The pages of reports in a browser: nothing fails, and nothing is loaded from elsewhere. Needs `chromium`:
//! `cargo test -p fuzzer --features chromium --test chromium`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

#[allow(dead_code, reason = "shared with the other tests, which use more of it")]
mod run;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use run::{folder, in_folder};

/// Opens a page; the text of its document, and what the browser's console says of it.
fn open(page: &Path, profile: &Path) -> (String, Vec<String>) {
    let url = format!("file://{}", page.display());
    let output = Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
        ])
        .args(["--enable-logging=stderr", "--log-level=0", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(url)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("chromium: {error}; `apt-get install chromium` brings it"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stderr);
    let console = said.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

#[test]
fn pages_open_without_errors_or_requests() {
    let folder = folder(&[]);
    let (path, profile) = (folder.path(), tempfile::tempdir().unwrap());
    let args = "campaign noisy-neighbor --nic cx4-lx --seed 1 --executions 16 --out c";
    let ran = in_folder(path, &args.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let finding = fs::read_dir(path.join("c/findings")).unwrap().next().unwrap().unwrap().path();
    let ran = in_folder(path, &["report", "c", "c", "--out", "versus"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (page, shows) in [
        (finding.join("report.html"), "stalls an uninvolved QP"),
        (path.join("c/report.html"), "Campaign noisy-neighbor on cx4-lx"),
        (path.join("versus/report.html"), "Findings that are the same: 1"),
    ] {
        let (document, console) = open(&page, profile.path());
        assert!(document.contains(shows) && document.contains("</main>"), "{document}");
        assert_eq!(console, [""; 0], "{}", page.display());
    }
    // What a page loads from elsewhere would be seen.
    let whole = fs::read_to_string(path.join("c/report.html")).unwrap();
    let loads = path.join("loads.html");
    fs::write(&loads, whole.replace("</main>", "<img src=\"http://127.0.0.1:9/x.png\"></main>")).unwrap();
    let (_, console) = open(&loads, profile.path());
    assert!(console.iter().any(|line| line.contains("Content Security Policy")), "{console:?}");
}
