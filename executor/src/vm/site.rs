//! A running VM testbed: two guests, the switch between them, and the connections to all three.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{ChildStdout, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use corpus::config::Cidr;
use corpus::{Role, TestConfig};
use dumper::{Clock, LogLine, Observation};
use p4::Address;
use p4::client::SwitchClient;
use tokio::runtime::Runtime;
use tokio::time::sleep;

use super::child::Child;
use super::console::Console;
use super::pair::{Pair, Wiring, guest_socket, switch_socket};
use super::programs::{SWITCH, beside_this};
use super::qemu::{ADDRESSES, Qemu};
use super::{Cache, Guest, Kernel, RunFolder, VmError};
use crate::agent::{AgentClient, Timeouts};
use crate::remote::{Failed, Patience, Remote, RemoteError};

/// How long the switch may take to say where it listens.
const SWITCH_START: Duration = Duration::from_secs(20);

/// A QP of rdma_rxe that retries for ever (docs/findings-rxe.md) takes all of it. Linux's timers expire when they should; that
/// an emulated host stands still for a while is in the base.
const PATIENCE: Patience = Patience { base: Duration::from_millis(1_500), latest: 1 };

/// How often it is looked whether the switch still runs.
const LOOK: Duration = Duration::from_millis(100);

/// How long after a host is lost its kernel may still be saying why.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long a kernel says nothing more before its report is taken for whole.
const QUIET: Duration = Duration::from_millis(100);

/// How long the other host's may, once one has ended: both can have been lost to the same packet.
const OTHERS_LAST_WORDS: Duration = Duration::from_millis(500);

/// Prefix lengths of the guests' addresses.
const PREFIXES: [u8; 2] = [16, 64];

/// Everything that runs for one testbed. It all ends when this is dropped, and with this process.
#[derive(Debug)]
pub(super) struct Site {
    remote: Remote,
    runtime: Runtime,
    pair: Pair,
    /// How far the consoles of the guests had been read when the last test ended, and the kernels' troubles by then: what a
    /// kernel says between two tests belongs to the next one, rather than to none.
    read: [u64; 2],
    troubles: usize,
    switch: Child,
    // Last, as the others have their sockets in it.
    _folder: RunFolder,
}

/// What became of a test.
pub(super) enum Outcome {
    /// It ran to its end.
    Ran(Box<Observation>),
    /// A host's kernel went wrong: this is what was observed until then.
    KernelTrouble(Box<Observation>),
    /// It did not run to its end, and no kernel says why.
    Failed(Failed),
}

impl Site {
    /// Starts everything: guests from a snapshot where there is one.
    ///
    /// # Errors
    /// See [`VmError`].
    pub(super) fn start(kernels: [Kernel; 2]) -> Result<Self, VmError> {
        let cache = Cache::open(None)?;
        let qemu = Qemu::find()?;
        let [requester, responder] = kernels.map(|kernel| cache.image(kernel));
        let (requester, responder) = (requester?, responder?);
        let folder = RunFolder::make()?;
        let (switch, address) = start_switch(&folder)?;
        let pair = Pair::start(&qemu, [&requester, &responder], &folder, Wiring::Switch)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime =
            runtime.map_err(|error| VmError::Folder(format!("no thread for connections: {error}")))?;
        let remote = runtime.block_on(connect(&pair, &address))?;
        let mut site = Self { remote, runtime, pair, read: [0; 2], troubles: 0, switch, _folder: folder };
        site.read = site.lines();
        site.troubles = site.count_troubles();
        Ok(site)
    }

    /// Runs a test, whose hosts get the addresses of the guests.
    pub(super) fn run(&mut self, config: &TestConfig) -> Outcome {
        let config = with_guests(config);
        // Hosts whose packets go nowhere find out only when their retries are exhausted.
        let ran = self.runtime.block_on(async {
            tokio::select! {
                ran = self.remote.run(&config) => ran,
                status = end_of(&self.switch) => {
                    Err(Failed { error: RemoteError::SwitchEnded(status), observed: Box::default() })
                }
            }
        });
        if ran.is_err() {
            self.wait_last_words();
        }
        let is_troubled = self.count_troubles() != self.troubles;
        if is_troubled {
            self.wait_quiet();
        }
        let (observed, error) = match ran {
            Ok(observed) => (observed.into(), None),
            Err(Failed { error, observed }) => (observed, Some(error)),
        };
        let observed = self.with_logs(observed);
        match error {
            _ if is_troubled => Outcome::KernelTrouble(observed),
            None => Outcome::Ran(observed),
            Some(error) => Outcome::Failed(Failed { error, observed }),
        }
    }

    /// What was observed, with what the kernels have said since the last test.
    fn with_logs(&mut self, mut observed: Box<Observation>) -> Box<Observation> {
        observed.clock = Clock::Emulated;
        let [requester, responder] = self.guests();
        put_log_since(requester, self.read[0], &mut observed.requester_log);
        put_log_since(responder, self.read[1], &mut observed.responder_log);
        self.read = self.lines();
        self.troubles = self.count_troubles();
        observed
    }

    /// Waits for what the kernels say of the end of a test, so that it is all on the consoles.
    fn wait_last_words(&self) {
        let consoles = self.guests().map(Guest::console);
        if Console::wait_any_end(&consoles, LAST_WORDS) {
            for console in consoles {
                console.wait_end(OTHERS_LAST_WORDS);
            }
        }
    }

    fn guests(&self) -> [&Guest; 2] {
        [&self.pair.requester, &self.pair.responder]
    }

    /// Waits until the kernels have nothing more to say, so that a report is read to its end.
    fn wait_quiet(&self) {
        let started = Instant::now();
        let mut before = self.lines();
        while started.elapsed() < LAST_WORDS {
            thread::sleep(QUIET);
            let now = self.lines();
            if now == before {
                break;
            }
            before = now;
        }
    }

    fn lines(&self) -> [u64; 2] {
        self.guests().map(|guest| guest.console().mark())
    }

    /// Troubles of both kernels; an agent that ends may have been killed from outside.
    fn count_troubles(&self) -> usize {
        let of = |guest: &Guest| {
            guest.console().troubles().iter().filter(|trouble| trouble.kind.is_of_kernel()).count()
        };
        self.guests().map(of).iter().sum()
    }
}

/// Waits for the end of a process; how it ended.
async fn end_of(child: &Child) -> ExitStatus {
    loop {
        match child.ended() {
            Some(status) => return status,
            None => sleep(LOOK).await,
        }
    }
}

async fn connect(pair: &Pair, switch: &Address) -> Result<Remote, VmError> {
    let agent = |host: u8, guest: &Guest| {
        let address = guest.agent().to_string();
        async move {
            AgentClient::connect(&address, Timeouts::default()).await.map_err(|error| VmError::Guest {
                host,
                why: error.to_string(),
                said: String::new(),
            })
        }
    };
    let agents = [agent(1, &pair.requester).await?, agent(2, &pair.responder).await?];
    let switch = SwitchClient::connect(switch).await.map_err(|error| VmError::Switch(error.to_string()))?;
    Ok(Remote { agents, switch, patience: PATIENCE })
}

/// Starts the switch between the sockets of the two guests; its process and where it listens.
fn start_switch(folder: &RunFolder) -> Result<(Child, Address), VmError> {
    let program = beside_this(SWITCH)?;
    let port = |host| {
        let (ours, guests) = (switch_socket(folder.path(), host), guest_socket(folder.path(), host));
        format!("unix:{}:{}", ours.display(), guests.display())
    };
    let control = format!("unix:{}", folder.path().join("control").display());
    let arguments = ["--port", &port(1), "--port", &port(2), "--listen", &control].map(str::to_owned);
    let (child, _, stdout) = Child::spawn(&program.to_string_lossy(), arguments.into())?;
    let said = first_line(stdout)
        .ok_or_else(|| VmError::Switch(format!("it does not start: {}", child.stderr())))?;
    let address =
        said.parse().map_err(|error| VmError::Switch(format!("it listens at {said:?}: {error}")))?;
    Ok((child, address))
}

/// The first line of what a process says, if it comes in time. What it says later is read and dropped.
fn first_line(stdout: ChildStdout) -> Option<String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Only the first one is waited for.
            let _ = tell.send(line);
        }
    });
    told.recv_timeout(SWITCH_START).ok()
}

/// A test with the addresses of the guests in the place of its own.
fn with_guests(config: &TestConfig) -> TestConfig {
    let mut config = config.clone();
    for (role, host) in Role::ALL.into_iter().zip(1..) {
        let addresses = &mut config.host_mut(role).ip_list;
        for (index, address) in (0..ADDRESSES).zip(addresses.iter_mut()) {
            *address = address_of(index, host, address.addr.is_ipv6());
        }
    }
    config
}

/// The address that a guest's first process gave it: 10.0.INDEX.HOST or fd00::INDEX:HOST.
fn address_of(index: u8, host: u8, ipv6: bool) -> Cidr {
    let addr = if ipv6 {
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, index.into(), host.into()))
    } else {
        IpAddr::V4(Ipv4Addr::new(10, 0, index, host))
    };
    Cidr { addr, prefix: PREFIXES[usize::from(ipv6)] }
}

/// Puts what a guest's kernel logged since a mark before the lines of its agent, which have no times of their own.
fn put_log_since(guest: &Guest, mark: u64, log: &mut Vec<LogLine>) {
    let logged: Vec<_> = guest.console().since(mark).iter().filter_map(|line| LogLine::parse(line)).collect();
    let last_us = logged.last().map_or(0, |line| line.time_us);
    log.iter_mut().for_each(|line| line.time_us = last_us);
    log.splice(..0, logged);
}
