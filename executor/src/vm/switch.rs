//! The switch between the guests of a pair: a process of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdout, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use p4::Address;
use tokio::time::sleep;

use super::pair::{guest_socket, switch_socket};
use crate::guests::child::Child;
use crate::guests::programs::{SWITCH, beside_this};
use crate::guests::{GuestError, RunFolder};

/// Longest wait for the address that it listens on.
const START: Duration = Duration::from_secs(20);

/// Interval of checks that it still runs.
const LOOK: Duration = Duration::from_millis(100);

/// A switch that runs. It ends when this is dropped, and with this process.
#[derive(Debug)]
pub(super) struct Switch {
    process: Child,
    /// Address of its control.
    pub(super) address: Address,
}

impl Switch {
    /// Starts a switch between the sockets of two guests, with its own sockets in the folder too.
    ///
    /// # Errors
    /// The program is not there or does not start.
    pub(super) fn start(folder: &RunFolder) -> Result<Self, GuestError> {
        let program = beside_this(SWITCH)?;
        let port = |host| {
            let (ours, guests) = (switch_socket(folder.path(), host), guest_socket(folder.path(), host));
            format!("unix:{}:{}", ours.display(), guests.display())
        };
        let control = format!("unix:{}", folder.path().join("control").display());
        let arguments = ["--port", &port(1), "--port", &port(2), "--listen", &control].map(str::to_owned);
        let (process, _, stdout) = Child::spawn(&program.to_string_lossy(), arguments.into())?;
        let said = first_line(stdout)
            .ok_or_else(|| GuestError::Switch(format!("it does not start: {}", process.stderr())))?;
        let address =
            said.parse().map_err(|error| GuestError::Switch(format!("it listens at {said:?}: {error}")))?;
        Ok(Self { process, address })
    }

    /// Waits for its end; how it ended.
    pub(super) async fn end(&self) -> ExitStatus {
        loop {
            match self.process.ended() {
                Some(status) => return status,
                None => sleep(LOOK).await,
            }
        }
    }
}

/// The first line of a process's output, if it comes in time. Later output is read and dropped.
fn first_line(stdout: ChildStdout) -> Option<String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Only the first one is waited for.
            let _ = tell.send(line);
        }
    });
    told.recv_timeout(START).ok()
}
