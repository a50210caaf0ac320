//! The host's software for its NIC's flow table, as Open vSwitch and the driver do it: flows are offloaded, counters read, idle entries
//! deleted, one operation of the NIC after another (ScalaCN, NSDI'25, §2 and table 1).

mod console;
mod flows;

use std::collections::VecDeque;

use corpus::{Control, Offload, Operation};
use dumper::observation::{ControlEvent, ControlRecord};
use dumper::{LogLine, Nanos};
use rand_chacha::ChaCha8Rng;

use super::agenda::{Agenda, Timer, sooner};
use super::nic::{Eswitch, Refusal};
use super::random::draw;
use super::traffic::TrafficGenerators;
use crate::profile::{Eswitch as Profile, OnExhausted, OnFailure, OnTimeout, Span};
use console::Failure;
use flows::{Flows, State};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// The software of a host.
#[derive(Debug)]
pub(super) struct Ovs {
    profile: Profile,
    offload: Offload,
    controls: Vec<Control>,
    connections: u32,
    flows: Flows,
    /// By connection.
    watches: Vec<Watch>,
    queue: VecDeque<Request>,
    running: Option<(Request, Nanos)>,
    work: Agenda<Work>,
    /// Does not keep a test from its end.
    looks: Agenda<Look>,
    /// Functions whose connections still have packets outstanding.
    unbinding: Vec<u32>,
    stalled: bool,
    /// True once the host is gone.
    gone: bool,
    link_is_down: bool,
    rng: ChaCha8Rng,
    records: Vec<ControlRecord>,
    log: Vec<LogLine>,
}

/// What the software knows of the packets of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    /// Last time at which it saw that there were any.
    seen: Nanos,
    /// Last reading of the counter.
    read: Nanos,
    reading: Timer,
    checking: Timer,
}

/// An operation that the NIC is to do.
#[derive(Clone, Copy, Debug)]
struct Request {
    command: Command,
    since: Nanos,
}

/// What the NIC is to do.
#[derive(Clone, Copy, Debug)]
enum Command {
    Create(u32),
    Delete(u32),
    Unbind(u32),
}

/// Later action.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// An operation of the test.
    Operate(usize),
    /// The NIC has done what it was told.
    Done,
    LinkUp,
}

/// Later action that nothing waits for.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// The counter of a connection is read.
    Read(u32),
    /// The entry of a connection may be idle.
    Check(u32),
}

impl Ovs {
    /// The software of a host with a flow table and operations on it, which has offloaded all flows.
    ///
    /// # Errors
    /// The NIC refuses the entry of a flow (from 1), and the host is still there.
    pub(super) fn new(
        profile: Profile,
        offload: Offload,
        controls: Vec<Control>,
        connections: u32,
        rng: ChaCha8Rng,
        eswitch: &mut Eswitch,
    ) -> Result<Self, (u32, Refusal)> {
        let mut ovs = Self {
            profile,
            flows: Flows::of(&offload, connections),
            offload,
            controls,
            connections,
            watches: vec![Watch::default(); connections as usize],
            queue: VecDeque::new(),
            running: None,
            work: Agenda::new(),
            looks: Agenda::new(),
            unbinding: Vec::new(),
            stalled: false,
            gone: false,
            link_is_down: false,
            rng,
            records: Vec::new(),
            log: Vec::new(),
        };
        for (number, control) in ovs.controls.iter().enumerate() {
            ovs.work.note(Nanos(u64::from(control.at_ms) * MS), Work::Operate(number));
        }
        for flow in 0..ovs.flows.len() {
            let masks = ovs.flows.get(flow).map(|flow| flow.masks).unwrap_or_default();
            match eswitch.insert(flow, masks) {
                Ok(()) => ovs.flows.set(flow, State::Offloaded),
                Err(refusal) => {
                    ovs.refused(flow, refusal, Nanos::ZERO);
                    if ovs.gone {
                        break;
                    }
                    return Err((flow + 1, refusal));
                }
            }
        }
        let interval = ovs.interval(eswitch).0;
        for connection in 0..connections {
            // The counters of all entries are read in turn.
            let first = Nanos(interval * u64::from(connection + 1) / u64::from(connections));
            ovs.watch(connection, first, Nanos::ZERO);
        }
        Ok(ovs)
    }

    /// Time of the next action.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Nanos> {
        sooner(self.work.next_at(), self.looks.next_at())
    }

    /// Returns true if a test has to wait for it.
    pub(super) fn has_work(&self, generators: &TrafficGenerators) -> bool {
        self.work.next_at().is_some()
            || self.unbinding.iter().any(|function| self.is_idle(*function, generators))
    }

    /// Returns true if nothing passes the host's port.
    #[inline]
    pub(super) const fn is_cut_off(&self) -> bool {
        self.gone || self.link_is_down
    }

    /// Returns true if the host does nothing any more.
    pub(super) const fn is_gone(&self) -> bool {
        self.gone
    }

    /// What has happened, and what the kernel has logged.
    pub(super) fn into_logs(self) -> (Vec<ControlRecord>, Vec<LogLine>) {
        (self.records, self.log)
    }

    /// Performs the actions that are due.
    pub(super) fn handle(&mut self, now: Nanos, eswitch: &mut Eswitch, generators: &mut TrafficGenerators) {
        while let Some(work) = self.work.take_due(now) {
            match work {
                _ if self.gone => {}
                Work::Operate(number) => {
                    self.operate(self.controls[number].operation, now, eswitch, generators);
                }
                Work::Done => self.done(now, eswitch),
                Work::LinkUp => {
                    self.link_is_down = false;
                    self.record(ControlEvent::LinkUp, None, now);
                }
            }
        }
        while let Some(look) = self.looks.take_due(now) {
            match look {
                Look::Read(connection) => self.read(connection, now, eswitch),
                Look::Check(connection) => self.check(connection, now, eswitch),
            }
        }
    }

    /// Sees the NIC after a step: packets without an entry, and functions that can be unbound. Mostly there are none.
    #[inline]
    pub(super) fn look(&mut self, now: Nanos, eswitch: &mut Eswitch, generators: &TrafficGenerators) {
        if eswitch.has_upcalls() || !self.unbinding.is_empty() {
            self.see(now, eswitch, generators);
        }
    }

    fn see(&mut self, now: Nanos, eswitch: &mut Eswitch, generators: &TrafficGenerators) {
        if self.gone {
            return;
        }
        while let Some(flow) = eswitch.take_upcall() {
            self.record(ControlEvent::SoftwareForwarded, Some(flow + 1), now);
            if self.flows.get(flow).is_some_and(|flow| flow.state == State::Software) {
                self.offload(flow, now, eswitch);
            }
        }
        if self.unbinding.is_empty() {
            return;
        }
        let (idle, busy) = std::mem::take(&mut self.unbinding)
            .into_iter()
            .partition(|function| self.is_idle(*function, generators));
        self.unbinding = busy;
        let idle: Vec<u32> = idle;
        for function in idle {
            for connection in self.connections_on(function) {
                self.delete(connection, now, eswitch);
            }
            self.ask(Command::Unbind(function), now, eswitch);
        }
    }

    fn record(&mut self, event: ControlEvent, of: Option<u32>, at_ns: Nanos) {
        let (waited_ns, took_ns) = (Nanos::ZERO, Nanos::ZERO);
        self.records.push(ControlRecord { at_ns, event, of, waited_ns, took_ns });
    }

    /// Connections on a virtual function, from 0.
    fn connections_on(&self, function: u32) -> Vec<u32> {
        (0..self.connections)
            .filter(|connection| self.offload.function_of(connection + 1) == function)
            .collect()
    }

    fn is_idle(&self, function: u32, generators: &TrafficGenerators) -> bool {
        self.connections_on(function).into_iter().all(|connection| !generators.has_outstanding(connection))
    }

    fn operate(
        &mut self,
        operation: Operation,
        now: Nanos,
        eswitch: &mut Eswitch,
        generators: &mut TrafficGenerators,
    ) {
        match operation {
            Operation::AddFlows(number) => {
                for _ in 0..number {
                    let flow = self.flows.add();
                    self.offload(flow, now, eswitch);
                }
            }
            Operation::AddMasks(number) => {
                for _ in 0..number {
                    let flow = self.flows.add_with_masks();
                    self.offload(flow, now, eswitch);
                }
            }
            Operation::RemoveFlows(number) => {
                for flow in self.flows.newest(number) {
                    self.delete(flow, now, eswitch);
                }
            }
            Operation::StopConnections(number) => {
                (self.connections - number.min(self.connections)..self.connections)
                    .for_each(|connection| generators.stop(connection));
            }
            Operation::UnbindVf(function) => self.unbind(function, now, generators),
        }
    }

    fn unbind(&mut self, function: u32, now: Nanos, generators: &mut TrafficGenerators) {
        let connections = self.connections_on(function);
        let is_of_it = |command: &Command| match command {
            Command::Create(flow) | Command::Delete(flow) => connections.contains(flow),
            Command::Unbind(_) => false,
        };
        let requests = self.queue.iter().chain(self.running.as_ref().map(|(request, _)| request));
        let operates = requests.map(|request| &request.command).any(is_of_it);
        let outstanding = operates || !self.is_idle(function, generators);
        connections.iter().for_each(|connection| generators.stop(*connection));
        self.unbinding.push(function);
        if self.profile.unbind_race && outstanding && !self.link_is_down {
            self.link_is_down = true;
            self.record(ControlEvent::LinkDown, None, now);
            if self.profile.link_down_ms > 0 {
                self.work.note(now + Nanos(u64::from(self.profile.link_down_ms) * MS), Work::LinkUp);
            }
        }
    }

    /// Asks for the entry of a flow.
    fn offload(&mut self, flow: u32, now: Nanos, eswitch: &Eswitch) {
        if !self.stalled {
            self.record(ControlEvent::FlowOffloaded, Some(flow + 1), now);
            self.flows.set(flow, State::Asked);
            self.ask(Command::Create(flow), now, eswitch);
        }
    }

    /// Asks for the end of an entry.
    fn delete(&mut self, flow: u32, now: Nanos, eswitch: &Eswitch) {
        let has_entry =
            self.flows.get(flow).is_some_and(|flow| matches!(flow.state, State::Asked | State::Offloaded));
        if has_entry && !self.stalled {
            self.flows.set(flow, State::Deleting);
            if let Some(watch) = self.watches.get(flow as usize) {
                self.looks.stop(watch.reading);
                self.looks.stop(watch.checking);
            }
            self.ask(Command::Delete(flow), now, eswitch);
        }
    }

    fn ask(&mut self, command: Command, now: Nanos, eswitch: &Eswitch) {
        self.queue.push_back(Request { command, since: now });
        self.begin(now, eswitch);
    }

    /// The NIC begins the next operation, if it does none.
    fn begin(&mut self, now: Nanos, eswitch: &Eswitch) {
        if self.running.is_some() || self.stalled || self.gone {
            return;
        }
        let Some(request) = self.queue.pop_front() else { return };
        let timeout = u64::from(self.profile.operation_timeout_ms) * MS;
        if timeout > 0 && (now - request.since).0 > timeout && self.profile.on_timeout == OnTimeout::Stagnate
        {
            self.stalled = true;
            self.record(ControlEvent::Stalled, None, now);
            self.fail(Failure::Stagnates(self.profile.operation_timeout_ms), now);
            return;
        }
        let entries = u64::from(eswitch.entries());
        let takes = match request.command {
            Command::Create(_) => self.profile.insert_ns,
            Command::Delete(_) => self.profile.delete_ns + entries * self.profile.delete_per_entry_ns,
            Command::Unbind(_) => 0,
        };
        let least = match self.profile.operations_per_s {
            0 => 0,
            rate => SECOND / u64::from(rate),
        };
        self.running = Some((request, now));
        self.work.note(now + Nanos(takes.max(least)), Work::Done);
    }

    /// The NIC has done what it was told last.
    fn done(&mut self, now: Nanos, eswitch: &mut Eswitch) {
        let Some((request, began)) = self.running.take() else { return };
        let (event, of) = match request.command {
            Command::Create(flow) => {
                let masks = self.flows.get(flow).map(|flow| flow.masks).unwrap_or_default();
                match eswitch.insert(flow, masks) {
                    Ok(()) => {
                        // It may be asked already to delete it; then nobody looks at it any more.
                        if self.flows.get(flow).is_some_and(|flow| flow.state == State::Asked) {
                            self.flows.set(flow, State::Offloaded);
                            if flow < self.connections {
                                let next = now + self.interval(eswitch);
                                self.watch(flow, next, now);
                            }
                        }
                        (ControlEvent::EntryCreated, flow)
                    }
                    Err(refusal) => {
                        self.refused(flow, refusal, now);
                        return self.begin(now, eswitch);
                    }
                }
            }
            Command::Delete(flow) => {
                eswitch.delete(flow);
                self.flows.set(flow, State::Software);
                (ControlEvent::EntryDeleted, flow)
            }
            // Functions count from 1.
            Command::Unbind(function) => (ControlEvent::VfUnbound, function - 1),
        };
        let (waited_ns, took_ns) = (began - request.since, now - began);
        self.records.push(ControlRecord { at_ns: now, event, of: Some(of + 1), waited_ns, took_ns });
        self.begin(now, eswitch);
    }

    /// The NIC cannot create an entry.
    fn refused(&mut self, flow: u32, refusal: Refusal, now: Nanos) {
        self.flows.set(flow, State::Software);
        self.record(ControlEvent::EntryRefused, Some(flow + 1), now);
        match refusal {
            Refusal::Masks if self.profile.on_failure == OnFailure::Crash => {
                self.gone = true;
                self.fail(Failure::Crashes, now);
            }
            Refusal::Contexts if self.profile.on_exhausted == OnExhausted::Unresponsive => {
                self.gone = true;
                self.fail(Failure::Unresponsive, now);
            }
            Refusal::Masks | Refusal::Contexts => {}
        }
    }

    fn fail(&mut self, failure: Failure, now: Nanos) {
        self.log.extend(failure.lines(now));
    }

    /// Time between two readings of a counter.
    fn interval(&self, eswitch: &Eswitch) -> Nanos {
        match self.profile.counter_refresh_per_s {
            0 => Nanos::ZERO,
            rate => Nanos(u64::from(eswitch.entries()) * SECOND / u64::from(rate)),
        }
    }

    /// The entry of a connection is new: its counter is read from a time on.
    fn watch(&mut self, connection: u32, first: Nanos, now: Nanos) {
        let watch = &mut self.watches[connection as usize];
        (watch.seen, watch.read) = (now, now);
        if self.profile.counter_refresh_per_s > 0 {
            self.looks.set(&mut watch.reading, first, Look::Read(connection));
        }
        self.check_later(connection, now);
    }

    /// The software looks at the entry once it may have been idle for too long, when it looks at all entries.
    fn check_later(&mut self, connection: u32, now: Nanos) {
        let watch = &mut self.watches[connection as usize];
        let pass = u64::from(self.offload.revalidate_ms) * MS;
        let idle = watch.seen.0 + u64::from(self.offload.max_idle_ms) * MS;
        let at = Nanos((idle.max(now.0) / pass + 1) * pass);
        self.looks.set(&mut watch.checking, at, Look::Check(connection));
    }

    fn read(&mut self, connection: u32, now: Nanos, eswitch: &Eswitch) {
        let percent =
            draw(Span { min: 100, max: 100 + u64::from(self.profile.counter_jitter_percent) }, &mut self.rng);
        let next = now + Nanos(self.interval(eswitch).0 * percent / 100);
        let watch = &mut self.watches[connection as usize];
        if eswitch.last_packet(connection) > watch.read {
            watch.seen = now;
        }
        watch.read = now;
        self.looks.set(&mut watch.reading, next.max(now + Nanos(1)), Look::Read(connection));
    }

    fn check(&mut self, connection: u32, now: Nanos, eswitch: &Eswitch) {
        let watch = &mut self.watches[connection as usize];
        if self.profile.counter_refresh_per_s == 0 {
            watch.seen = watch.seen.max(eswitch.last_packet(connection));
        }
        if now - watch.seen > Nanos(u64::from(self.offload.max_idle_ms) * MS) {
            self.delete(connection, now, eswitch);
        } else {
            self.check_later(connection, now);
        }
    }
}
