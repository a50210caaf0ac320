//! A campaign in virtual time, and what it leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::unistd::Pid;
use serde_json::{Map, Value};
use tempfile::TempDir;

use super::run::command;

/// Not looked for: the smallest test that shows it has messages of 400 KB, and to come to it takes minutes of a
/// processor.
const SLOW: &str = "unexpected-timeout/requester/rto-below-minimum";

/// A campaign's folder.
pub(crate) struct Campaign {
    folder: TempDir,
    nic: &'static str,
}

impl Campaign {
    pub(crate) fn new() -> Self {
        Self::on("rxe-6.12")
    }

    /// Of a kernel.
    pub(crate) fn on(nic: &'static str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), nic }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("c")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command();
        command.args([
            "campaign",
            "general",
            "--testbed",
            "uml",
            "--nic",
            self.nic,
            "--seed",
            "7",
            "--ignore",
            SLOW,
            "--resume",
        ]);
        command.arg("--out").arg(self.folder()).args(args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    pub(crate) fn finish(&self, args: &[&str]) {
        let status = self.command(args).status().unwrap();
        assert_eq!(status.code(), Some(0));
    }

    /// What the campaign has come to.
    pub(crate) fn left(&self) -> Left {
        let text = fs::read_to_string(self.folder().join("summary.json")).unwrap();
        let mut summary: Map<String, Value> = serde_json::from_str(&text).unwrap();
        summary.retain(|key, _| !key.ends_with("_s"));
        let mut findings = BTreeMap::new();
        collect(&self.folder(), Path::new("findings"), &mut findings);
        let said = command().args(["corpus", "list"]).arg(self.folder()).output().unwrap();
        assert!(said.status.success());
        let corpus = String::from_utf8(said.stdout).unwrap();
        Left { summary, findings, corpus }
    }

    /// Executions so far; 0 before the first summary.
    pub(crate) fn executions(&self) -> u64 {
        let summary = fs::read_to_string(self.folder().join("summary.json")).unwrap_or_default();
        let summary: Value = serde_json::from_str(&summary).unwrap_or_default();
        summary["executions"].as_u64().unwrap_or(0)
    }
}

/// What does not depend on the machine's speed in what a campaign leaves.
pub(crate) struct Left {
    /// Without times and rates.
    pub(crate) summary: Map<String, Value>,
    /// Every file of them.
    findings: BTreeMap<PathBuf, Vec<u8>>,
    /// The tests.
    corpus: String,
}

impl Left {
    /// Panics unless all of it is that of another campaign, and says where it is not.
    pub(crate) fn must_be(&self, other: &Left, when: &str) {
        for (key, value) in &self.summary {
            assert_eq!(Some(value), other.summary.get(key), "{when}: `{key}` of the summary");
        }
        assert!(
            self.summary.keys().eq(other.summary.keys()),
            "{when}: {:#?}, and {:#?}",
            self.summary,
            other.summary
        );
        assert!(self.findings.keys().eq(other.findings.keys()), "{when}: the findings' files");
        for (file, content) in &self.findings {
            let (content, others) =
                (String::from_utf8_lossy(content), String::from_utf8_lossy(&other.findings[file]));
            assert_eq!(content, others, "{when}: {}", file.display());
        }
        assert!(self.findings == other.findings, "{when}: bytes that are not text");
        assert_eq!(self.corpus, other.corpus, "{when}: the corpus");
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries {
        let path = folder.join(entry.unwrap().file_name());
        if root.join(&path).is_dir() {
            collect(root, &path, files);
        } else {
            files.insert(path.clone(), fs::read(root.join(&path)).unwrap());
        }
    }
}

/// Processes of the guests of an orchestrator: those whose folder is of its guests.
pub(crate) fn processes_of(orchestrator: u32) -> Vec<Pid> {
    let is_its = |pid: &i32| {
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let folder = folder.to_string_lossy();
        folder.contains("lumina-fuzz") && folder.contains(&format!("/{orchestrator}-"))
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_string_lossy().parse::<i32>().ok());
    pids.filter(is_its).map(Pid::from_raw).collect()
}

/// Nothing of an orchestrator that has ended is left, soon.
pub(crate) fn nothing_is_left_of(orchestrator: u32) {
    let gone = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(20));
        processes_of(orchestrator).is_empty()
    });
    assert!(gone, "guests of process {orchestrator} are left");
}
