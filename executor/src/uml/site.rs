//! Two guests in virtual time, the agents behind their ports, and the switch in this process.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use corpus::{Capabilities, Role, TestConfig};
use dumper::{Nanos, Observation};
use p4::Tables;
use p4::client::Captured;

use super::core::Core;
use super::image::{Cache, Image};
use super::world::World;
use super::{UmlError, capabilities};
use crate::agent::frames::{Frames, framed};
use crate::agent::proto::from_agent::Message as FromMessage;
use crate::agent::proto::to_agent::Message as ToMessage;
use crate::agent::proto::{Abandon, Event, FromAgent, Step, ToAgent};
use crate::agent::{Link, Peer, RunningTest, Silence, Timeouts};
use crate::guests::log::put_log_since;
use crate::guests::{Console, GuestError, Kernel, Outcome, RunFolder, with_guests};
use crate::remote::{self, Failed, Hosts, Patience, RemoteError};

/// Linux's timers expire when they should; a QP of rdma_rxe that retries for ever (docs/findings-rxe.md) takes all of it.
const PATIENCE: Patience = Patience { base: Duration::from_millis(500), latest: 1 };

/// Time limits of the agents, in virtual time: what a host does costs it no time, beside its own timers.
const TIMEOUTS: Timeouts = Timeouts { connect: Duration::from_secs(10), answer: Duration::from_secs(10) };

/// Silence after which no packet comes any more: longer than the raster of the kernels' timers, which their workqueues
/// sleep by.
const DRAIN: Duration = Duration::from_millis(20);

/// Largest number of such waits: enough for the answers to retransmissions by timers, but not for a QP that never ends.
const MAX_DRAINS: u32 = 50;

/// The testbed: each test boots guests of its own, so that nothing in it depends on the tests before.
#[derive(Debug)]
pub struct Site {
    /// Of the requester's and the responder's guest.
    images: [Image; 2],
    core: Option<Core>,
    /// Lines of the consoles in the last test.
    consoles: [Vec<String>; 2],
}

impl Site {
    /// Finds the images of two kernels, the requester's first.
    ///
    /// # Errors
    /// One is missing or damaged.
    pub fn find(cache: &Cache, kernels: [Kernel; 2]) -> Result<Self, GuestError> {
        let [requester, responder] = kernels.map(|kernel| cache.image(kernel));
        Ok(Self { images: [requester?, responder?], core: Core::next(), consoles: Default::default() })
    }

    /// Lines that the consoles of both guests had in the last test, the requester's first.
    #[must_use]
    pub const fn consoles(&self) -> &[Vec<String>; 2] {
        &self.consoles
    }

    /// Starts guests with so many addresses; their sockets are in the folder.
    fn boot(&self, folder: &RunFolder, addresses: usize) -> Result<Guests, UmlError> {
        let [requester, responder] = &self.images;
        let world = World::start([requester, responder], folder.path(), addresses, self.core)?;
        let guests = Guests { world: Arc::new(Mutex::new(world)), inboxes: Default::default() };
        guests.wait_for_ports()?;
        Ok(guests)
    }
}

impl crate::guests::Site for Site {
    const NAME: &'static str = "uml";

    fn capabilities() -> Capabilities {
        capabilities()
    }

    fn start(kernels: [Kernel; 2]) -> Result<Self, GuestError> {
        Self::find(&Cache::open(None)?, kernels)
    }

    fn run(&mut self, config: &TestConfig) -> Outcome {
        let config = with_guests(config);
        let _held = self.core.as_ref().map(Core::hold);
        let not_started = |error: GuestError| {
            let error = RemoteError::NotStarted(error.to_string());
            Outcome::Failed(Failed { error, observed: Box::default() })
        };
        let folder = match RunFolder::make() {
            Ok(folder) => folder,
            Err(error) => return not_started(error),
        };
        let addresses = Role::ALL.map(|role| config.host(role).ip_list.len());
        let mut guests = match self.boot(&folder, addresses.into_iter().max().unwrap_or(1)) {
            Ok(guests) => guests,
            Err(error) => return not_started(error.into()),
        };
        // What a kernel says while it boots is not of the test.
        let booted = Role::ALL.map(|host| guests.world().guest(host).console().mark());
        let (mut observed, error) = match guests.run(&config) {
            Ok(observed) => (Box::new(observed), None),
            Err(Failed { error, observed }) => {
                let too_many = guests.world().wire.too_many();
                (observed, Some(too_many.map_or(error, RemoteError::TooManyPackets)))
            }
        };
        let world = guests.world();
        let consoles = Role::ALL.map(|host| world.guest(host).console());
        for (host, (console, mark)) in Role::ALL.into_iter().zip(consoles.into_iter().zip(booted)) {
            put_log_since(console, mark, remote::log_of(&mut observed, host));
        }
        self.consoles = consoles.map(|console| console.since(0));
        let is_troubled =
            |console: &Console| console.troubles().iter().any(|trouble| trouble.kind.is_of_kernel());
        match error {
            _ if consoles.into_iter().any(is_troubled) => Outcome::KernelTrouble(observed),
            None => Outcome::Ran(observed),
            Some(error) => Outcome::Failed(Failed { error, observed }),
        }
    }
}

/// The guests, as a test sees them.
#[derive(Debug)]
struct Guests {
    world: Arc<Mutex<World>>,
    inboxes: [Arc<Mutex<Frames>>; 2],
}

impl Guests {
    /// Waits until both kernels have found the ports to their agents, which may then be told something. The agents
    /// start while the first of them is waited for.
    fn wait_for_ports(&self) -> Result<(), UmlError> {
        let mut world = self.world();
        let until = world.now() + Nanos(TIMEOUTS.connect.as_nanos() as u64);
        for host in Role::ALL {
            if !world.run_until(until, |world| Ok(world.guest(host).has_port()))? {
                return Err(world.guest(host).says("its kernel has no port for the agent"));
            }
        }
        Ok(())
    }

    /// Runs a test on them.
    fn run(&mut self, config: &TestConfig) -> Result<Observation, Failed> {
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
        let inbox = Arc::clone(&self.inboxes[host as usize]);
        PortLink { world: Arc::clone(&self.world), host, inbox, open: false }
    }
}

impl Hosts for Guests {
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

    async fn drain(&mut self) -> Result<(), RemoteError> {
        let counters = |guests: &Self| guests.world().wire.switch.counters();
        let mut before = counters(self);
        for _ in 0..MAX_DRAINS {
            self.pass(DRAIN).await;
            let now = counters(self);
            if now == before {
                break;
            }
            before = now;
        }
        Ok(())
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

/// What one thread at a time uses. One that panicked leaves guests that are ended.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The way to an agent through the port of its guest.
struct PortLink {
    world: Arc<Mutex<World>>,
    host: Role,
    inbox: Arc<Mutex<Frames>>,
    /// True while the agent has a test.
    open: bool,
}

impl PortLink {
    fn send(&self, message: ToMessage) -> Result<(), UmlError> {
        locked(&self.world).tell(self.host, &framed(&ToAgent { message: Some(message) }))
    }

    /// The next message; none if none comes until then.
    fn receive(&self, until: Nanos) -> Result<Option<FromMessage>, UmlError> {
        let mut message = None;
        let mut inbox = locked(&self.inbox);
        locked(&self.world).run_until(until, |world| {
            let port = world.guest_mut(self.host).port()?;
            inbox.add(port.said());
            port.said().clear();
            message = inbox
                .next::<FromAgent>()
                .map_err(|what| world.guest(self.host).says(&what))?
                .and_then(|from| from.message);
            Ok(message.is_some())
        })?;
        Ok(message)
    }
}

impl Link for PortLink {
    type Moment = Nanos;

    fn after(&self, time: Duration) -> Nanos {
        locked(&self.world).now() + Nanos(time.as_nanos() as u64)
    }

    async fn ask(&mut self, step: Step, _: Nanos) {
        self.open = true;
        // A guest that has ended says so when its answer is waited for.
        let _ = self.send(ToMessage::Step(step));
    }

    async fn next(&mut self, until: Nanos) -> Result<Option<Event>, Silence> {
        match self.receive(until).map_err(|error| Silence::Lost(error.to_string()))? {
            None => Err(Silence::TimedOut),
            Some(FromMessage::Event(event)) => Ok(Some(event)),
            Some(FromMessage::Ended(ended)) => {
                self.open = false;
                if ended.code == 0 {
                    return Ok(None);
                }
                Err(Silence::Status(tonic::Status::new(ended.code.into(), ended.reason)))
            }
            Some(FromMessage::Description(_)) => Err(Silence::Lost("it describes itself in a test".into())),
        }
    }
}

impl Drop for PortLink {
    fn drop(&mut self) {
        if self.open {
            // The guest may be what was lost.
            let _ = self.send(ToMessage::Abandon(Abandon {}));
        }
    }
}
