//! The switch between the guests of a pair: a process of its own.

use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{ChildStdout, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use corpus::Capabilities;
use dumper::serve::Address;
use p4::client::SwitchClient;
use p4::switch::PortSpec;
use tokio::time::sleep;

use super::capabilities;
use super::pair::{guest_socket, switch_socket};
use crate::guests::child::Child;
use crate::guests::programs::{SWITCH, beside_this};
use crate::guests::{GuestError, RunFolder};
use crate::remote;

/// Longest wait for the address that it listens on.
const START: Duration = Duration::from_secs(20);

/// Interval of checks that it still runs.
const LOOK: Duration = Duration::from_millis(100);

/// The software switch, running. It ends when this is dropped, and with this process.
#[derive(Debug)]
pub struct SoftwareSwitch {
    process: Child,
    /// Address of its control.
    pub(super) address: Address,
}

/// What is between the guests of a pair. It ends when this is dropped, and with this process.
pub trait Between: Sized + fmt::Debug {
    /// Capabilities of the testbed with this switch.
    fn capabilities() -> Capabilities;

    /// Starts a switch between the sockets of two guests, with its own sockets in the folder too.
    ///
    /// # Errors
    /// A program is not there or does not start.
    fn start(folder: &RunFolder) -> Result<Self, GuestError>;

    /// Connects to it.
    ///
    /// # Errors
    /// It does not answer, or not as it should.
    fn connect(&self) -> impl Future<Output = Result<remote::Switch, GuestError>>;

    /// Waits for its end; how it ended.
    fn end(&self) -> impl Future<Output = ExitStatus>;
}

impl Between for SoftwareSwitch {
    fn capabilities() -> Capabilities {
        capabilities()
    }

    fn start(folder: &RunFolder) -> Result<Self, GuestError> {
        let program = beside_this(SWITCH)?;
        let port = |host| port_of(folder.path(), host).to_string();
        let control = Address::Unix(folder.path().join("control")).to_string();
        let arguments = ["--port", &port(1), "--port", &port(2), "--listen", &control].map(str::to_owned);
        let (process, _, stdout) = Child::spawn(&program.to_string_lossy(), arguments.into())?;
        let said = first_line(stdout)
            .ok_or_else(|| GuestError::Switch(format!("it does not start: {}", process.stderr())))?;
        let address =
            said.parse().map_err(|error| GuestError::Switch(format!("it listens at {said:?}: {error}")))?;
        Ok(Self { process, address })
    }

    async fn connect(&self) -> Result<remote::Switch, GuestError> {
        let client = SwitchClient::connect(&self.address, None).await;
        let client = client.map_err(|error| GuestError::Switch(error.to_string()))?;
        Ok(remote::Switch::Software(Box::new(client)))
    }

    async fn end(&self) -> ExitStatus {
        end_of(&self.process).await
    }
}

/// A software switch's port towards a host's guest, in the folder of a pair.
pub(super) fn port_of(folder: &Path, host: u8) -> PortSpec {
    PortSpec::Unix { local: switch_socket(folder, host), remote: guest_socket(folder, host) }
}

/// Waits for the end of a process; how it ended.
pub(super) async fn end_of(process: &Child) -> ExitStatus {
    loop {
        match process.ended() {
            Some(status) => return status,
            None => sleep(LOOK).await,
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
