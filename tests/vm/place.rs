//! A folder for one campaign, and what runs for it: every process of a testbed has the folder of its sockets
//! on its command line, and that is below this one.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::run::{Ran, command, ran};

/// The campaign's folder.
const CAMPAIGN: &str = "c";

/// `general` with short tests, which end in time on a busy machine too, and so that kills hit all that is
/// done between two of them. It looks for what rdma_rxe is known for (docs/findings-rxe.md), as minimising
/// takes most of the time.
pub(crate) const SHORT: &str = "./short.toml";

/// The same that looks only for what a kill must not be taken for.
pub(crate) const SHORT_FOR_KILLS: &str = "./kills.toml";

/// 10 messages of 10 KB on one connection, of which up to two packets are lost or marked.
pub(crate) const TEN: &str = "./ten.toml";

const TEN_MESSAGES: &str = include_str!("ten.toml");
const GENERAL: &str = "base = \"general\"\n";
const ORACLES: &str = "oracles = [\"protocol-violation\"]\n";
const ORACLES_FOR_KILLS: &str = "oracles = [\"crash\", \"stall\", \"data-corruption\"]\n";
const TRAFFIC: &str = "[traffic]\nnum-connections = { min = 1, max = 8 }\nnum-msgs-per-qp = { min = 1, max = 10 }\n\
                       message-size = { min = 0, max = 16_384 }\nmin-retransmit-timeout = [14]\n\
                       max-retransmit-retry = [2]\n";

/// Longest time for a process to be gone after it was killed: the machine may be busy.
const GONE: Duration = Duration::from_secs(30);

/// Interval of checks for an awaited event.
const LOOK: Duration = Duration::from_millis(50);

/// A place for one campaign.
pub(crate) struct Place {
    folder: TempDir,
}

/// A process of a testbed.
pub(crate) struct Process {
    pub(crate) pid: Pid,
    /// Its command line.
    pub(crate) command: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(SHORT), format!("{GENERAL}{ORACLES}{TRAFFIC}")).unwrap();
        fs::write(folder.path().join(SHORT_FOR_KILLS), format!("{GENERAL}{ORACLES_FOR_KILLS}{TRAFFIC}"))
            .unwrap();
        fs::write(folder.path().join(TEN), TEN_MESSAGES).unwrap();
        Self { folder }
    }

    /// The campaign's folder.
    pub(crate) fn campaign(&self) -> PathBuf {
        self.folder.path().join(CAMPAIGN)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command();
        command.current_dir(self.folder.path()).env("XDG_RUNTIME_DIR", self.folder.path()).args(args);
        command
    }

    /// Runs `lumina-fuzz` to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    /// Runs the campaign to its end, which is a good one; its summary.
    pub(crate) fn run_campaign(&self, args: &[&str]) -> Value {
        let ran = self.run(&campaign(args));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.json()
    }

    /// Runs a campaign with seed 1 between guests with these kernels to its good end; its summary.
    pub(crate) fn run_between(&self, [requester, responder]: [&str; 2], args: &[&str]) -> Value {
        let between = ["--requester-kernel", requester, "--responder-kernel", responder, "--seed", "1"];
        self.run_campaign(&[args, &between].concat())
    }

    /// Starts the campaign, or goes on with it; what it says on stderr is added to a file.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        let said = fs::File::options().create(true).append(true).open(self.stderr()).unwrap();
        let mut command = self.command(&campaign(args));
        command.stdout(Stdio::null()).stderr(said).spawn().unwrap()
    }

    fn stderr(&self) -> PathBuf {
        self.folder.path().join("stderr")
    }

    /// Stderr of the campaigns that were started, so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.stderr()).unwrap_or_default()
    }

    /// Executions that the campaign has decided about, as its summary says; 0 before there is one.
    pub(crate) fn executions(&self) -> u64 {
        let Ok(text) = fs::read_to_string(self.campaign().join("summary.json")) else { return 0 };
        let summary: Value = serde_json::from_str(&text).unwrap();
        summary["executions"].as_u64().unwrap()
    }

    /// Returns true if the campaign has begun.
    pub(crate) fn has_campaign(&self) -> bool {
        self.campaign().join("campaign.toml").exists()
    }

    /// Processes of its testbeds.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let folder = self.folder.path().to_str().unwrap();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter_map(|pid| {
            // A process that is gone by now has none; neither has one that is not waited for yet.
            let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            command.contains(folder).then_some(Process { pid: Pid::from_raw(pid), command })
        })
        .collect()
    }

    /// Nothing of a testbed runs, or will in a moment.
    #[track_caller]
    pub(crate) fn nothing_runs(&self) {
        wait(GONE, || self.processes().is_empty());
        let left: Vec<String> = self.processes().into_iter().map(|process| process.command).collect();
        assert!(left.is_empty(), "{left:#?}");
    }

    /// Nothing of a testbed is left, no process and no socket.
    #[track_caller]
    pub(crate) fn nothing_is_left(&self) {
        self.nothing_runs();
        let base = self.folder.path().join("lumina-fuzz");
        let left: Vec<PathBuf> = fs::read_dir(base).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// The campaign's store is whole.
    #[track_caller]
    pub(crate) fn store_is_whole(&self) {
        let ran = self.run(&["corpus", "check", CAMPAIGN]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    }
}

/// The arguments of a campaign on the VM testbed.
fn campaign<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["campaign", "--testbed", "vm", "--out", CAMPAIGN, "--format", "json"], args].concat()
}

/// Waits until something is so; whether it came to be in time.
pub(crate) fn wait(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !is_so() {
        if started.elapsed() > limit {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

/// Kills a process and waits until it is gone.
pub(crate) fn kill_and_wait(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}
