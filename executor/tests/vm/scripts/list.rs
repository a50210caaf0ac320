//! Scripts that `rdma_rxe` cannot run, and scripts that it fails.

use std::fs;
use std::path::Path;

use executor::guests::Site as _;
use serde::Deserialize;

use super::super::site::Site;

/// `scripts.toml`. A name is that of a script, or of a folder with `/*`.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct List {
    /// Scripts that say nothing of a real stack in an emulated host.
    not_here: Vec<NotHere>,
    /// Scripts that `rdma_rxe` fails.
    fails: Vec<Fails>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct NotHere {
    /// The testbed; all if there is none.
    testbed: Option<String>,
    why: String,
    scripts: Vec<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Fails {
    /// The testbed; all if there is none.
    testbed: Option<String>,
    /// The heading of a finding in docs/findings-rxe.md, which has the clause.
    finding: String,
    scripts: Vec<String>,
}

fn names(pattern: &str, script: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(folder) => script.starts_with(folder),
        None => pattern == script,
    }
}

impl List {
    pub(super) fn read() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(here.join("tests/vm/scripts/scripts.toml")).unwrap();
        let mut list: Self = toml::from_str(&text).unwrap();
        let is_of_this = |testbed: &Option<String>| testbed.as_deref().is_none_or(|name| name == Site::NAME);
        list.not_here.retain(|entry| is_of_this(&entry.testbed));
        list.fails.retain(|entry| is_of_this(&entry.testbed));
        let findings = fs::read_to_string(here.join("../docs/findings-rxe.md")).unwrap();
        for fails in &list.fails {
            let heading = format!("## {}", fails.finding);
            assert!(findings.lines().any(|line| line == heading), "docs/findings-rxe.md has no {heading:?}");
        }
        list
    }

    /// Every entry names a script, no script is named twice, and every one has its reason.
    pub(super) fn is_of(&self, scripts: &[String]) {
        let not_here = self.not_here.iter().map(|entry| (&entry.why, &entry.scripts));
        let fails = self.fails.iter().map(|entry| (&entry.finding, &entry.scripts));
        let mut named: Vec<&String> = Vec::new();
        for (reason, patterns) in not_here.chain(fails) {
            assert!(!reason.is_empty());
            for pattern in patterns {
                let matched: Vec<_> = scripts.iter().filter(|script| names(pattern, script)).collect();
                assert!(!matched.is_empty(), "there is no script {pattern}");
                for script in matched {
                    assert!(!named.contains(&script), "{script} is listed twice");
                    named.push(script);
                }
            }
        }
    }

    /// Returns true if a script can run.
    pub(super) fn runs(&self, script: &str) -> bool {
        let mut patterns = self.not_here.iter().flat_map(|entry| &entry.scripts);
        !patterns.any(|pattern| names(pattern, script))
    }

    /// The finding that a script fails for.
    pub(super) fn fails(&self, script: &str) -> Option<&str> {
        let is_its = |entry: &&Fails| entry.scripts.iter().any(|pattern| names(pattern, script));
        self.fails.iter().find(is_its).map(|entry| entry.finding.as_str())
    }
}
