//! A process that cannot outlive this one, however this one ends.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child as StdChild, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::GuestError;
use super::tool::SETPRIV;
use crate::lock::locked;

/// Bytes of stderr that are kept, the last ones.
const STDERR_KEPT: usize = 4096;

/// Replaces itself with a program whose parent must still be the process that started it: one that died
/// before PR_SET_PDEATHSIG was set is not its parent any more.
const WITH_PARENT: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;

/// The same, beside a process that kills the whole group when stdin ends, as it does with the process that started it: what the
/// program has started, and stopped, would outlive it.
const WITH_KEEPER: &str = r#"[ "$PPID" = "$0" ] || exit
exec 3<&0
(read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null"#;

/// A running process, in a process group of its own. It is killed when this is dropped, and by the kernel when this
/// process dies.
#[derive(Debug)]
pub(crate) struct Child {
    pid: Pid,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    ended: Mutex<Option<ExitStatus>>,
    changed: Condvar,
    stderr: Mutex<Vec<u8>>,
}

impl Child {
    /// Starts a program. Its stdin and stdout are the caller's; the end of its stderr is kept.
    pub(crate) fn spawn(
        program: &str,
        arguments: Vec<String>,
    ) -> Result<(Self, ChildStdin, ChildStdout), GuestError> {
        Self::spawn_by(WITH_PARENT, Path::new("."), program, arguments)
    }

    /// The same in a folder, for a program that reads nothing: it and all that it started ends with the returned stdin.
    pub(crate) fn spawn_kept(
        folder: &Path,
        program: &str,
        arguments: Vec<String>,
    ) -> Result<(Self, ChildStdin, ChildStdout), GuestError> {
        Self::spawn_by(WITH_KEEPER, folder, program, arguments)
    }

    fn spawn_by(
        script: &str,
        folder: &Path,
        program: &str,
        arguments: Vec<String>,
    ) -> Result<(Self, ChildStdin, ChildStdout), GuestError> {
        let mut command = SETPRIV.command();
        command.current_dir(folder);
        command.args(["--pdeathsig", "KILL", "sh", "-c", script]);
        command.arg(std::process::id().to_string()).arg(program).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);

        let state = Arc::new(State::default());
        let (tell, told) = mpsc::channel();
        let kept = Arc::clone(&state);
        // The kernel takes the thread that starts a process for its parent: this one lives until the process has ended.
        thread::spawn(move || {
            let mut child = match command.spawn() {
                Ok(child) => child,
                Err(error) => return drop(tell.send(Err(error))),
            };
            let pid = Pid::from_raw(child.id().cast_signed());
            let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
            let stderr = child.stderr.take();
            // A missing receiver is no reason to stop: the process is then ended through its handle.
            let _ = tell.send(Ok((pid, stdin, stdout)));
            if let Some(stderr) = stderr {
                let kept = Arc::clone(&kept);
                thread::spawn(move || keep_tail(stderr, &kept.stderr));
            }
            reap(pid, &mut child, &kept);
        });
        let doing = format!("starting {program}");
        let started = told.recv().unwrap_or_else(|_| Err(io::Error::other("its keeper ended")));
        let (pid, stdin, stdout) = started.map_err(|error| SETPRIV.not_started(&doing, &error))?;
        let (stdin, stdout) = (stdin.expect("it is piped"), stdout.expect("it is piped"));
        Ok((Self { pid, state }, stdin, stdout))
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Exit status of the process, if it has ended.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        *locked(&self.state.ended)
    }

    /// The end of its stderr.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&locked(&self.state.stderr)).into_owned()
    }

    /// Waits for its end; whether it came in time.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let ended = locked(&self.state.ended);
        let waited = self.state.changed.wait_timeout_while(ended, limit, |ended| ended.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    /// Ends it and whatever it started, and waits until it is gone.
    pub(crate) fn kill(&self) {
        {
            // Held while the signal is sent: until the process is reaped, its number belongs to no other
            // process.
            let ended = locked(&self.state.ended);
            if ended.is_none() {
                // One that is ending by itself may be gone.
                let _ = killpg(self.pid, Signal::SIGKILL);
            }
        }
        self.wait(Duration::from_secs(10));
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for the end of the process, and only then, under the lock, lets go of its number.
fn reap(pid: Pid, child: &mut StdChild, state: &State) {
    let wait = || waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
    while wait() == Err(Errno::EINTR) {}
    let mut ended = locked(&state.ended);
    *ended = child.wait().ok().or(Some(ExitStatus::default()));
    state.changed.notify_all();
}

/// Reads a stream to its end, keeping its last bytes.
fn keep_tail(mut stream: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        let mut kept = locked(kept);
        kept.extend_from_slice(&buffer[..read]);
        let excess = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn sh(script: &str) -> (Child, ChildStdin, ChildStdout) {
        Child::spawn("sh", vec!["-c".into(), script.into()]).unwrap()
    }

    #[test]
    fn a_child_is_talked_to_and_its_end_is_seen() {
        let (child, mut stdin, mut stdout) = sh("read word; echo said $word; echo odd >&2; exit 3");
        assert_eq!(child.ended(), None);
        stdin.write_all(b"hello\n").unwrap();
        let mut said = String::new();
        stdout.read_to_string(&mut said).unwrap();
        assert_eq!(said, "said hello\n");
        assert!(child.wait(Duration::from_secs(20)));
        assert_eq!(child.ended().unwrap().code(), Some(3));
    }

    #[test]
    fn what_a_child_started_ends_with_it() {
        let (child, _stdin, mut stdout) = sh("sleep 1000 & echo $!; wait");
        let mut line = [0; 32];
        let read = stdout.read(&mut line).unwrap();
        let sleeper: i32 = String::from_utf8_lossy(&line[..read]).trim().parse().unwrap();
        drop(child);
        // The pipe's end says that none of the group has it open any more.
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        let gone = || nix::sys::signal::kill(Pid::from_raw(sleeper), None) == Err(Errno::ESRCH);
        let zombie = || {
            std::fs::read_to_string(format!("/proc/{sleeper}/stat")).is_ok_and(|stat| stat.contains(") Z "))
        };
        // A process that ends closes its files before it is gone.
        let ended = (0..1_000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            gone() || zombie()
        });
        assert!(ended, "process {sleeper} is left");
    }

    #[test]
    fn what_a_kept_child_started_and_stopped_ends_with_its_stdin() {
        let script = "sleep 1000 & kill -STOP $!; echo $!; wait".to_owned();
        let (child, stdin, mut stdout) =
            Child::spawn_kept(Path::new("."), "sh", vec!["-c".into(), script]).unwrap();
        let mut line = [0; 32];
        let read = stdout.read(&mut line).unwrap();
        assert!(read > 1);
        // As if this process had been killed, which closes its end.
        drop(stdin);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert!(child.wait(Duration::from_secs(20)));
    }

    #[test]
    fn a_program_that_is_not_there_ends_at_once() {
        let (child, _stdin, _stdout) = Child::spawn("/nowhere/program", Vec::new()).unwrap();
        assert!(child.wait(Duration::from_secs(20)));
        assert_eq!(child.ended().unwrap().code(), Some(127));
    }
}
