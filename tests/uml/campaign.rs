//! A campaign in virtual time, and what it leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::unistd::Pid;
use serde_json::Value;
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

    /// The summary without times and rates, and every file of findings.
    pub(crate) fn left(&self) -> (Value, BTreeMap<PathBuf, Vec<u8>>) {
        let text = fs::read_to_string(self.folder().join("summary.json")).unwrap();
        let mut summary: Value = serde_json::from_str(&text).unwrap();
        summary.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_s"));
        let mut files = BTreeMap::new();
        collect(&self.folder(), Path::new("findings"), &mut files);
        (summary, files)
    }

    /// The tests of the corpus.
    pub(crate) fn corpus(&self) -> String {
        let said = command().args(["corpus", "list"]).arg(self.folder()).output().unwrap();
        assert!(said.status.success());
        String::from_utf8(said.stdout).unwrap()
    }

    /// Executions so far; 0 before the first summary.
    pub(crate) fn executions(&self) -> u64 {
        let summary = fs::read_to_string(self.folder().join("summary.json")).unwrap_or_default();
        let summary: Value = serde_json::from_str(&summary).unwrap_or_default();
        summary["executions"].as_u64().unwrap_or(0)
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
