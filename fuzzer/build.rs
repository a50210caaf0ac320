//! Notes the revision that the program is built from, where that is known, for reports.

use std::path::Path;
use std::process::Command;

fn main() {
    // Without these lines cargo runs this again whenever any file changes.
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let revision = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    println!("cargo::rustc-env=LUMINA_FUZZ_REVISION={revision}");
}

/// What git prints, in one line; none where there is no git or no repository.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty() && !text.contains(char::is_whitespace)).then_some(text)
}
