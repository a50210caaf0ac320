//! Two guests in virtual time, the agents behind their ports, and the switch in this process.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use corpus::{Role, TestConfig};
use dumper::observation::{Coverage, SwitchCounters};
use dumper::{LogLine, Nanos, Observation};
use p4::Tables;
use p4::client::Captured;

use super::UmlError;
use super::core::Core;
use super::coverage::{Code, Counters};
use super::image::Image;
use super::link::PortLink;
use super::mode::Mode;
use super::world::World;
use crate::agent::frames::Frames;
use crate::agent::{Peer, RunningTest, Timeouts};
use crate::guests::log::put_log_since;
use crate::guests::{GuestError, Outcome, RunFolder, with_guests};
use crate::lock::locked;
use crate::remote::{self, Failed, Hosts, Patience, RemoteError};

/// Linux's timers expire when they should; a QP of rdma_rxe that retries for ever (docs/findings-rxe.md) takes all of it. The
/// silence is longer than the raster of the kernels' timers, which their workqueues sleep by.
const PATIENCE: Patience = Patience {
    base: Duration::from_millis(500),
    latest: 1,
    silence: Duration::from_millis(20),
    silences: 50,
};

/// Time limits of the agents, in virtual time: what a host does costs it no time, beside its own timers.
const TIMEOUTS: Timeouts = Timeouts { answer: Duration::from_secs(10) };

/// Time after which an agent, which computes in no time, has made its NIC and waits for a test, and its kernel has said all of
/// it.
const BOOTED: Nanos = Nanos(100_000_000);

/// Time in which a kernel reports tasks that hang: it looks every 10 s for those that have hung for 10 s.
const HUNG: Nanos = Nanos(25_000_000_000);

/// Two guests that have booted. They end when this is dropped.
#[derive(Debug)]
pub(super) struct Pair {
    world: Arc<Mutex<World>>,
    inboxes: [Arc<Mutex<Frames>>; 2],
    /// The counted code of both kernels, and its counters before the next test.
    codes: [Option<(Arc<Code>, Counters)>; 2],
    /// Of their sockets; dropped after them.
    _folder: RunFolder,
}

impl Pair {
    /// Boots guests from images, the requester's first.
    pub(super) fn boot(images: [&Image; 2], mode: Mode, core: Option<&Core>) -> Result<Self, GuestError> {
        Self::boot_in(RunFolder::make()?, images, mode, core)
    }

    /// The same, with the sockets in that folder.
    pub(super) fn boot_in(
        folder: RunFolder,
        images: [&Image; 2],
        mode: Mode,
        core: Option<&Core>,
    ) -> Result<Self, GuestError> {
        let world = World::start(images, folder.path(), mode, core.copied())?;
        let code = |image: &Image| Some((Arc::clone(image.code()?), Counters::default()));
        let mut pair = Self {
            world: Arc::new(Mutex::new(world)),
            inboxes: Default::default(),
            codes: images.map(code),
            _folder: folder,
        };
        pair.wait_for_agents()?;
        // What the boot ran is not of the first test.
        pair.coverage();
        Ok(pair)
    }

    /// Processes of the guests' kernels, the requester's first.
    pub(super) fn pids(&self) -> [i32; 2] {
        let world = self.world();
        Role::ALL.map(|host| world.guest(host).pid())
    }

    /// Lines of the consoles since the boot, the requester's first.
    pub(super) fn consoles(&self) -> [Vec<String>; 2] {
        let world = self.world();
        Role::ALL.map(|host| world.guest(host).console().since(0))
    }

    /// Runs a test.
    pub(super) fn run(&mut self, config: &TestConfig) -> Outcome {
        let config = with_guests(config);
        // What a kernel said before is not of the test.
        let before = Role::ALL.map(|host| self.world().guest(host).console().mark());
        let (mut observed, error) = match self.observe(&config) {
            Ok(observed) => (Box::new(observed), None),
            Err(Failed { error, observed }) => {
                let too_many = self.world().wire.too_many();
                (observed, Some(too_many.map_or(error, RemoteError::TooManyPackets)))
            }
        };
        observed.coverage = self.coverage();
        let mut world = self.world();
        if error.is_some() {
            let until = world.now() + HUNG;
            // What has ended says no more.
            let _ = world.run_until(until, |_| Ok(false));
        }
        let consoles = Role::ALL.map(|host| world.guest(host).console());
        for (host, (console, mark)) in Role::ALL.into_iter().zip(consoles.into_iter().zip(before)) {
            let log = remote::log_of(&mut observed, host);
            put_log_since(console, mark, log);
            let last_us = log.last().map_or(0, |line| line.time_us);
            let report = world.guest(host).report().iter();
            log.extend(report.map(|line| LogLine::new(last_us, line)));
        }
        let is_troubled = |host: Role| {
            let of_kernel = consoles[host as usize].troubles();
            !world.guest(host).report().is_empty()
                || of_kernel.iter().any(|trouble| trouble.kind.is_of_kernel())
        };
        match error {
            _ if Role::ALL.into_iter().any(is_troubled) => Outcome::KernelTrouble(observed),
            None => Outcome::Ran(observed),
            Some(error) => Outcome::Failed(Failed { error, observed }),
        }
    }

    /// The code that has run since the last time that it was asked for. That of a kernel that has ended is lost.
    fn coverage(&mut self) -> [Coverage; 2] {
        let pids = self.pids();
        [0, 1].map(|host| {
            let Some((code, before)) = &mut self.codes[host] else { return Coverage::default() };
            let Ok(after) = code.read(pids[host]) else { return Coverage::default() };
            let ran = code.ran(before, &after);
            *before = after;
            ran
        })
    }

    /// Waits until both kernels have found the ports to their agents, which may then be told something, and for the agents, which
    /// start then.
    fn wait_for_agents(&self) -> Result<(), UmlError> {
        let mut world = self.world();
        let until = world.now() + Nanos(TIMEOUTS.answer.as_nanos() as u64);
        for host in Role::ALL {
            if !world.run_until(until, |world| Ok(world.guest(host).has_port()))? {
                return Err(world.guest(host).says("its kernel has no port for the agent"));
            }
        }
        let until = world.now() + BOOTED;
        world.run_until(until, |_| Ok(false)).map(drop)
    }

    /// Goes through the steps of a test.
    fn observe(&mut self, config: &TestConfig) -> Result<Observation, Failed> {
        let run = pin!(remote::run(self, config));
        // Whatever is awaited is over when it is asked for: the guests run until it is.
        match run.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(ran) => ran,
            Poll::Pending => unreachable!("nothing here waits for anything outside"),
        }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        locked(&self.world)
    }

    fn link(&self, host: Role) -> PortLink {
        PortLink::new(Arc::clone(&self.world), host, Arc::clone(&self.inboxes[host as usize]))
    }
}

impl Hosts for Pair {
    type Link = PortLink;

    fn test(&mut self, host: Role) -> RunningTest<PortLink> {
        let peer = Peer { address: format!("guest {}", host as usize + 1), timeouts: TIMEOUTS };
        RunningTest::over(self.link(host), peer)
    }

    fn patience(&self) -> Patience {
        PATIENCE
    }

    async fn program(&mut self, tables: &Tables) -> Result<(), RemoteError> {
        let mut world = self.world();
        let now = world.now();
        world.wire.begin(tables.clone(), now);
        Ok(())
    }

    async fn pass(&mut self, time: Duration) {
        let mut world = self.world();
        let until = world.now() + Nanos(time.as_nanos() as u64);
        // A guest that has ended says so when it is asked next.
        let _ = world.run_until(until, |_| Ok(false));
    }

    async fn counters(&mut self) -> Result<SwitchCounters, RemoteError> {
        Ok(self.world().wire.switch.counters().unwrap_or_default())
    }

    async fn collect(&mut self) -> Result<Captured, RemoteError> {
        let mut world = self.world();
        let counters = world.wire.switch.counters().unwrap_or_default();
        let ended = world.wire.switch.end();
        let none = || RemoteError::Capture("no test has begun".into());
        let ended = ended.ok_or_else(none)?;
        Captured::of(&ended, counters).map_err(RemoteError::Capture)
    }
}
