//! A running VM testbed: two guests, the switch between them, and the connections to all three.

use std::thread;
use std::time::{Duration, Instant};

use corpus::{Capabilities, TestConfig};
use dumper::serve::Address;
use dumper::{Clock, Observation};
use tokio::runtime::Runtime;

use super::pair::{Pair, Wiring};
use super::qemu::Qemu;
use super::switch::{Between, SoftwareSwitch};
use super::{Cache, Guest};
use crate::agent::{AgentClient, Timeouts};
use crate::guests::log::{put_log_since, without_ends_of_agents};
use crate::guests::{Console, GuestError, Kernel, Outcome, RunFolder, with_guests};
use crate::remote::{self, Failed, Patience, Remote, RemoteError};

/// A QP of rdma_rxe that retries for ever (docs/findings-rxe.md) takes all of it. Linux's timers expire when
/// they should; that an emulated host stands still for a while is in the base.
const PATIENCE: Patience = Patience {
    base: Duration::from_millis(1_500),
    latest: 1,
    silence: Duration::from_millis(5),
    silences: 200,
};

/// Time after the loss of a host for which its kernel may still be reporting the cause.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Silence of a kernel after which its report is taken for complete.
const QUIET: Duration = Duration::from_millis(100);

/// The same for the other host, once one has ended: both can have been lost to the same packet.
const OTHERS_LAST_WORDS: Duration = Duration::from_millis(500);

/// Everything that runs for one testbed. It all ends when this is dropped, and with this process.
#[derive(Debug)]
pub struct Site<S = SoftwareSwitch> {
    remote: Remote,
    runtime: Runtime,
    pair: Pair,
    /// Position in the guests' consoles when the last test ended, and the kernels' troubles by then: a line
    /// that a kernel logs between two tests belongs to the next one, rather than to none.
    read: [u64; 2],
    troubles: usize,
    switch: S,
    // Last, as the others have their sockets in it.
    _folder: RunFolder,
}

impl<S> Site<S> {
    /// The observation, with the kernels' lines since the last test.
    fn with_logs(&mut self, mut observed: Box<Observation>) -> Box<Observation> {
        observed.clock = Clock::Emulated;
        let [requester, responder] = self.guests();
        put_log_since(requester.console(), self.read[0], &mut observed.requester_log);
        put_log_since(responder.console(), self.read[1], &mut observed.responder_log);
        self.read = self.lines();
        self.troubles = self.count_troubles();
        observed
    }

    /// Waits for the kernels' last lines about a test, so that all of them are on the consoles.
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

impl<S: Between> crate::guests::Site for Site<S> {
    const NAME: &'static str = "vm";

    fn capabilities() -> Capabilities {
        S::capabilities()
    }

    /// Guests go on from a snapshot where there is one.
    fn start(kernels: &[Kernel; 2]) -> Result<Self, GuestError> {
        let cache = Cache::open(None)?;
        let [requester, responder] = kernels.each_ref().map(|kernel| cache.image(kernel));
        let (requester, responder) = (requester?, responder?);
        let qemu = Qemu::find(&requester)?;
        let folder = RunFolder::make()?;
        let switch = S::start(&folder)?;
        let pair = Pair::start(&qemu, [&requester, &responder], &folder, &Wiring::Switch)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime =
            runtime.map_err(|error| GuestError::Folder(format!("no thread for connections: {error}")))?;
        let remote = runtime.block_on(connect(&pair, &switch))?;
        let mut site = Self { remote, runtime, pair, read: [0; 2], troubles: 0, switch, _folder: folder };
        site.read = site.lines();
        site.troubles = site.count_troubles();
        Ok(site)
    }

    /// Runs a test, whose hosts get the addresses of the guests.
    fn run(&mut self, config: &TestConfig) -> Outcome {
        let config = with_guests(config);
        // Hosts whose packets go nowhere find out only when their retries are exhausted.
        let ran = self.runtime.block_on(async {
            tokio::select! {
                ran = remote::run(&mut self.remote, &config) => ran,
                status = self.switch.end() => {
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
            None => Outcome::Ran(without_ends_of_agents(observed)),
            Some(error) => Outcome::Failed(Failed { error, observed }),
        }
    }
}

async fn connect(pair: &Pair, switch: &impl Between) -> Result<Remote, GuestError> {
    let agent = |host: u8, guest: &Guest| {
        let address = Address::Tcp(guest.agent());
        async move {
            AgentClient::connect(&address, None, Timeouts::default())
                .await
                .map_err(|error| GuestError::Guest { host, why: error.to_string(), said: String::new() })
        }
    };
    let agents = [agent(1, &pair.requester).await?, agent(2, &pair.responder).await?];
    let switch = switch.connect().await?;
    Ok(Remote { agents, switch, patience: PATIENCE })
}
