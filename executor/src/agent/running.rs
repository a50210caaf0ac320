//! The orchestrator's side of a test on a host.

use std::time::Duration;

use corpus::{Role, TestConfig};
use dumper::observation::Counters;
use dumper::{Completion, Delivery, Endpoint, Nanos};

use super::bounds::Bounds;
use super::link::{Link, Silence, Stream};
use super::peer::{AgentError, Peer};
use super::proto::{
    self, Connect, Event, Finish, HostError, Parameter, Start, Step, event::Event as Said,
    step::Step as Asked,
};

/// Preparation of a host for a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepare<'a> {
    /// The test.
    pub config: &'a TestConfig,
    /// The host's part in it.
    pub role: Role,
    /// RDMA device; none for the host's only one.
    pub device: Option<String>,
    /// Port of the device; none for the first.
    pub port: Option<u8>,
    /// GID of all connections; `None` for GIDs by their addresses.
    pub gid_index: Option<u32>,
}

/// A host that has prepared a test.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedHost {
    /// Its ends of the connections, in their order.
    pub endpoints: Vec<Endpoint>,
    /// Its counters at the start.
    pub counters: Counters,
    /// Outcome of each RoCE parameter of the test.
    pub parameters: Vec<Parameter>,
    /// The ends with their memory, for the peer.
    ends: Vec<proto::End>,
}

/// A message that was posted and had not completed when the deadline passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding {
    /// Connection, from 1.
    pub connection: u32,
    /// Message on that connection, from 1.
    pub message: u32,
    /// Time at which it was posted, by the host's clock.
    pub posted_ns: Nanos,
}

/// The status of a failed completion, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Connection, from 1.
    pub connection: u32,
    /// Message on that connection, from 1.
    pub message: u32,
    /// `enum ibv_wc_status`.
    pub status: u32,
    /// The driver's own code.
    pub vendor_error: u32,
}

/// The traffic of a requester, when nothing more will complete or the deadline has passed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settled {
    /// In the order in which the host saw them.
    pub completions: Vec<Completion>,
    /// The statuses of failures.
    pub failures: Vec<Failure>,
    /// Requests that had not completed by the deadline.
    pub outstanding: Vec<Outstanding>,
    /// Messages that were never posted.
    pub unposted: u64,
}

impl Settled {
    /// Returns true if the deadline has passed with messages that had not completed.
    pub const fn is_incomplete(&self) -> bool {
        !self.outstanding.is_empty()
    }
}

/// Results of a host after a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finished {
    /// Data found in the memory of each message that this host receives, if any.
    pub deliveries: Vec<Delivery>,
    /// Its counters at the finish.
    pub counters: Counters,
    /// Errors that its stack reported beside completions.
    pub errors: Vec<HostError>,
    /// Goodput of the requests that it posted, in bits per second; `None` where nothing completed.
    pub goodput: Option<f64>,
    /// Completions that came after the deadline.
    pub late: Vec<Completion>,
    /// The statuses of failures among them.
    pub late_failures: Vec<Failure>,
}

fn failures_of(batch: &proto::Completions) -> impl Iterator<Item = Failure> {
    batch.completions.iter().filter(|completion| completion.wc_status != 0).map(|completion| Failure {
        connection: completion.connection,
        message: completion.message,
        status: completion.wc_status,
        vendor_error: completion.vendor_error,
    })
}

/// A test on a host. Its steps are called in their order: prepare, connect, start, settled (of a requester), finish.
/// Whichever way it is dropped, the host destroys everything.
pub struct RunningTest<L: Link = Stream> {
    link: L,
    peer: Peer,
    bounds: Bounds,
    deadline: Duration,
}

impl RunningTest {
    /// Waits until the host is ours, as the first step does too: it is until this is dropped.
    ///
    /// # Errors
    /// See [`AgentError`]; it refuses while another test runs.
    pub async fn taken(&mut self) -> Result<(), AgentError> {
        self.peer.within("Test", self.link.taken()).await.map(|_| ())
    }
}

impl<L: Link> RunningTest<L> {
    /// A test over a way to an agent.
    pub(crate) fn over(link: L, peer: Peer) -> Self {
        Self { link, peer, bounds: Bounds::default(), deadline: Duration::ZERO }
    }

    /// Makes QPs and memory.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub async fn prepare(&mut self, prepare: &Prepare<'_>) -> Result<PreparedHost, AgentError> {
        const ASKED: &str = "Prepare";
        self.bounds = Bounds::of(&prepare.config.traffic);
        self.ask(Asked::Prepare(proto::Prepare {
            test: prepare.config.to_toml(),
            role: proto::Role::from(prepare.role).into(),
            device: prepare.device.clone().unwrap_or_default(),
            port: prepare.port.map_or(0, u32::from),
            gid_index: prepare.gid_index,
        }))
        .await;
        let prepared = match self.answer(ASKED).await? {
            Said::Prepared(prepared) => prepared,
            other => return Err(self.peer.unexpected(ASKED, &other)),
        };
        let connections = prepare.config.traffic.load.connections() as usize;
        let endpoints: Result<Vec<_>, String> = prepared.ends.iter().map(Endpoint::try_from).collect();
        let endpoints = endpoints.and_then(|ends| match ends.len() {
            count if count == connections => Ok(ends),
            count => Err(format!("{count} ends of {connections} connections")),
        });
        Ok(PreparedHost {
            endpoints: endpoints.map_err(|what| self.peer.nonsense(ASKED, what))?,
            counters: prepared.counters.unwrap_or_default().into(),
            parameters: prepared.parameters,
            ends: prepared.ends,
        })
    }

    /// Tells the host about its peer: QPs are brought to RTS, first Receives are posted.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub async fn connect(&mut self, peer: &PreparedHost) -> Result<(), AgentError> {
        const ASKED: &str = "Connect";
        self.ask(Asked::Connect(Connect { peers: peer.ends.clone() })).await;
        match self.answer(ASKED).await? {
            Said::Connected(_) => Ok(()),
            other => Err(self.peer.unexpected(ASKED, &other)),
        }
    }

    /// Starts the traffic: the responder's side first. After the deadline a requester lists its outstanding
    /// requests.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub async fn start(&mut self, deadline: Duration) -> Result<(), AgentError> {
        const ASKED: &str = "Start";
        let deadline_ms = u32::try_from(deadline.as_millis()).unwrap_or(u32::MAX);
        self.deadline = deadline;
        self.ask(Asked::Start(Start { deadline_ms })).await;
        match self.answer(ASKED).await? {
            Said::Started(_) => Ok(()),
            other => Err(self.peer.unexpected(ASKED, &other)),
        }
    }

    /// Waits until every message of a requester has completed or failed, or the deadline has passed.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub async fn settled(&mut self) -> Result<Settled, AgentError> {
        const ASKED: &str = "Start";
        let after = self.deadline + self.peer.timeouts.answer;
        let until = self.link.after(after);
        let mut settled = Settled::default();
        loop {
            match self.next("the traffic", after, until).await? {
                Said::Completions(batch) => {
                    self.take_completions(ASKED, &batch, &mut settled.completions, &mut settled.failures)?;
                }
                Said::StillOutstanding(batch) => {
                    self.take(ASKED, batch.messages.iter().map(|one| (one.connection, one.message)))?;
                    settled.outstanding.extend(batch.messages.iter().map(|message| Outstanding {
                        connection: message.connection,
                        message: message.message,
                        posted_ns: Nanos(message.posted_ns),
                    }));
                }
                Said::Settled(end) => {
                    settled.unposted = end.unposted;
                    return Ok(settled);
                }
                other => return Err(self.peer.unexpected(ASKED, &other)),
            }
        }
    }

    /// Verifies memory and reads counters; when this returns, the host has destroyed everything.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub async fn finish(mut self) -> Result<Finished, AgentError> {
        const ASKED: &str = "Finish";
        self.ask(Asked::Finish(Finish {})).await;
        let mut finished = Finished::default();
        loop {
            match self.answer(ASKED).await? {
                Said::Completions(batch) => {
                    self.take_completions(ASKED, &batch, &mut finished.late, &mut finished.late_failures)?;
                }
                // A requester that is finished before it has settled says both.
                Said::StillOutstanding(_) | Said::Settled(_) => self.take(ASKED, [].into_iter())?,
                Said::Deliveries(batch) => {
                    self.take(ASKED, batch.deliveries.iter().map(|one| (one.connection, one.message)))?;
                    finished.deliveries.extend(batch.deliveries.iter().map(Delivery::from));
                }
                Said::Finished(end) => {
                    finished.counters = end.counters.unwrap_or_default().into();
                    finished.errors = end.errors;
                    finished.goodput = end.goodput_bits_per_second;
                    break;
                }
                other => return Err(self.peer.unexpected(ASKED, &other)),
            }
        }
        // The stream ends when everything is destroyed.
        let after = self.peer.timeouts.answer;
        match self.next_event(ASKED, after, self.link.after(after)).await? {
            None => Ok(finished),
            Some(event) => Err(self.peer.nonsense(ASKED, format!("{event:?}"))),
        }
    }

    /// Takes messages that the host names, if the test has them.
    fn take(
        &mut self,
        asked: &'static str,
        named: impl ExactSizeIterator<Item = (u32, u32)>,
    ) -> Result<(), AgentError> {
        self.bounds.take(named).map_err(|what| self.peer.nonsense(asked, what))
    }

    /// Takes completions, and the statuses of failures among them.
    fn take_completions(
        &mut self,
        asked: &'static str,
        batch: &proto::Completions,
        completions: &mut Vec<Completion>,
        failures: &mut Vec<Failure>,
    ) -> Result<(), AgentError> {
        self.take(asked, batch.completions.iter().map(|one| (one.connection, one.message)))?;
        completions.extend(batch.completions.iter().map(Completion::from));
        failures.extend(failures_of(batch));
        Ok(())
    }

    async fn ask(&mut self, step: Asked) {
        let until = self.link.after(self.peer.timeouts.answer);
        self.link.ask(Step { step: Some(step) }, until).await;
    }

    /// The next event within the time of an answer.
    async fn answer(&mut self, asked: &'static str) -> Result<Said, AgentError> {
        let after = self.peer.timeouts.answer;
        self.next(asked, after, self.link.after(after)).await
    }

    /// The next event before a moment, which is after so much time.
    async fn next(
        &mut self,
        asked: &'static str,
        after: Duration,
        until: L::Moment,
    ) -> Result<Said, AgentError> {
        match self.next_event(asked, after, until).await? {
            Some(Event { event: Some(said) }) => Ok(said),
            Some(Event { event: None }) => Err(self.peer.nonsense(asked, "nothing".to_owned())),
            None => Err(self.peer.lost(format!("its stream ended before it answered to {asked}"))),
        }
    }

    async fn next_event(
        &mut self,
        asked: &'static str,
        after: Duration,
        until: L::Moment,
    ) -> Result<Option<Event>, AgentError> {
        self.link.next(until).await.map_err(|silence| match silence {
            Silence::TimedOut => self.peer.timed_out(asked, after),
            Silence::Lost(reason) => self.peer.lost(reason),
            Silence::Status(status) => self.peer.error(&status),
        })
    }
}
