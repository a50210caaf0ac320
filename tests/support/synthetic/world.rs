//! The event loop: hosts, links, and the switch that stamps and writes the trace.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{IpAddr, Ipv4Addr};

use dumper::observation::Delivery;
use dumper::trace::{Extra, Flow, FlowId, Origin, flags};
use dumper::wire::{Ecn, Opcode};
use dumper::{ActionKind, Completion, Endpoint, Event, Exit, Nanos, Observation, Psn, Record, Trace};

use super::dice::Dice;
use super::faults::{Action, Injector};
use super::notifier::Notifier;
use super::packet::{Direction, Op, Packet};
use super::requester::{Requester, Wish};
use super::responder::Responder;
use super::spec::{Side, World};

/// Events after which a world is taken to run for ever, which is a mistake of the generator.
const MAX_STEPS: usize = 4_000_000;

/// Switch time of the beginning.
const START: u64 = 1_000_000;

/// Counters of the two hosts, as in their hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Packets sent.
    pub sent: u64,
    /// Intact packets taken in.
    pub received: u64,
    /// Duplicate requests.
    pub duplicates: u64,
    /// Out-of-order events as a responder.
    pub out_of_sequence: u64,
    /// Sequence NAKs received.
    pub sequence_naks: u64,
    /// RNR NAKs received.
    pub rnr_naks: u64,
    /// Implied NAKs.
    pub implied_naks: u64,
    /// Expiries of the ACK timer.
    pub timeouts: u64,
    /// Marked packets received.
    pub marked: u64,
    /// CNPs sent.
    pub cnps_sent: u64,
    /// CNPs received.
    pub cnps_handled: u64,
    /// Packets with a wrong ICRC received.
    pub corrupt: u64,
    /// Packets discarded.
    pub discarded: u64,
}

/// Results of a world.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Trace, metadata and what the hosts say of each message; no counters.
    pub observation: Observation,
    /// Counters of both hosts.
    pub tallies: [Tally; 2],
    /// Connections (from 0) whose requester gave up.
    pub gave_up: Vec<usize>,
}

/// Next step in some part of the world.
#[derive(Clone, Copy, Debug)]
enum Step {
    RequesterSends(usize),
    GoesBack(usize),
    Expires(usize, u64),
    ResponderSends(usize),
    /// A packet enters the switch.
    Enters(Packet),
    /// A packet leaves the switch, `usize` its record.
    Leaves(Packet, u8, bool, bool),
    /// A packet arrives: true if it is corrupt, true if the host discards it.
    Arrives(Packet, bool, bool),
}

struct Runner<'a> {
    spec: &'a World,
    dice: Dice,
    now: u64,
    order: u64,
    steps: Vec<Step>,
    agenda: BinaryHeap<Reverse<(u64, u64, usize)>>,
    requesters: Vec<Requester>,
    responders: Vec<Responder>,
    notifier: Notifier,
    injector: Injector,
    /// Time at which each host's port is free again, and arrival of the last packet of each link: to the
    /// switch in two queues (CNPs overtake), and from it.
    port_free: [u64; 2],
    up: [[u64; 2]; 2],
    down: [u64; 2],
    records: Vec<(Record, Extra)>,
    flows: Vec<Flow>,
    flow_ids: BTreeMap<(usize, Direction), FlowId>,
    /// A packet held back until the next one of its connection and direction.
    held: BTreeMap<(usize, Direction), (Packet, usize)>,
    tallies: [Tally; 2],
    wishes: Vec<Wish>,
}

/// Runs a world to its end.
pub fn run(spec: &World) -> Outcome {
    let timer = if spec.timeout == 0 { 0 } else { spec.timer() };
    let mut runner = Runner {
        spec,
        dice: Dice::new(spec.seed),
        now: 0,
        order: 0,
        steps: Vec::new(),
        agenda: BinaryHeap::new(),
        requesters: spec
            .connections
            .iter()
            .map(|connection| Requester::new(connection, spec.mtu, timer, spec.rnr_wait()))
            .collect(),
        responders: spec
            .connections
            .iter()
            .map(|connection| Responder::new(connection, spec.mtu, spec.rnr_timer))
            .collect(),
        notifier: Notifier::default(),
        injector: Injector::default(),
        port_free: [0; 2],
        up: [[0; 2]; 2],
        down: [0; 2],
        records: Vec::new(),
        flows: Vec::new(),
        flow_ids: BTreeMap::new(),
        held: BTreeMap::new(),
        tallies: [Tally::default(); 2],
        wishes: Vec::new(),
    };
    for (at, connection) in spec.connections.iter().enumerate() {
        runner.requesters[at].want_to_send(START + connection.starts_at, connection, &mut runner.wishes);
        runner.grant(at);
    }
    runner.run();
    runner.finish()
}

impl Runner<'_> {
    fn plan(&mut self, at: u64, step: Step) {
        self.order += 1;
        self.steps.push(step);
        self.agenda.push(Reverse((at, self.order, self.steps.len() - 1)));
    }

    fn grant(&mut self, connection: usize) {
        let wishes = std::mem::take(&mut self.wishes);
        for wish in wishes {
            match wish {
                Wish::Send { at } => self.plan(at, Step::RequesterSends(connection)),
                Wish::GoBack { at } => self.plan(at, Step::GoesBack(connection)),
                Wish::Expire { at, generation } => self.plan(at, Step::Expires(connection, generation)),
            }
        }
    }

    fn run(&mut self) {
        for _ in 0..MAX_STEPS {
            let Some(Reverse((at, _, index))) = self.agenda.pop() else { return };
            self.now = at;
            self.step(self.steps[index]);
        }
        let undone: Vec<usize> =
            (0..self.requesters.len()).filter(|at| !self.requesters[*at].is_done()).collect();
        unreachable!("the world does not end; undone: {undone:?}");
    }

    fn step(&mut self, step: Step) {
        let spec = self.spec;
        let now = self.now;
        match step {
            Step::RequesterSends(at) => {
                let connection = &spec.connections[at];
                let sent = self.requesters[at].send(now, at, connection, &mut self.dice, &mut self.wishes);
                self.grant(at);
                if let Some(packet) = sent {
                    self.leave_host(packet);
                }
            }
            Step::GoesBack(at) => {
                self.requesters[at].go_back(now, &spec.connections[at], &mut self.dice, &mut self.wishes);
                self.grant(at);
            }
            Step::Expires(at, generation) => {
                let connection = &spec.connections[at];
                self.requesters[at].expire(now, generation, connection, &mut self.dice, &mut self.wishes);
                self.grant(at);
            }
            Step::ResponderSends(at) => {
                let connection = &spec.connections[at];
                if let Some(packet) = self.responders[at].send(at, connection, &mut self.dice) {
                    self.leave_host(packet);
                    let pace = self.dice.within(connection.habits.responder.pace.clone());
                    if let Some(at_time) = self.responders[at].wants_to_send(now + pace) {
                        self.plan(at_time, Step::ResponderSends(at));
                    }
                }
            }
            Step::Enters(packet) => self.enter_switch(packet),
            Step::Leaves(packet, copies, corrupt, discarded) => {
                for _ in 0..copies {
                    self.leave_switch(packet, corrupt, discarded);
                }
            }
            Step::Arrives(packet, corrupt, discarded) => self.arrive(&packet, corrupt, discarded),
        }
    }

    fn sender(&self, packet: &Packet) -> Side {
        let requester = self.spec.connections[packet.connection].requester_side;
        match packet.direction {
            Direction::Forth => requester,
            Direction::Back => requester.other(),
        }
    }

    /// A packet leaves its host: after those before it, CNPs after the one that is being sent.
    fn leave_host(&mut self, packet: Packet) {
        let side = self.sender(&packet).index();
        self.tallies[side].sent += 1;
        let takes = packet.wire_bytes() * self.spec.links.byte_time_ps / 1_000;
        let is_cnp = packet.op == Op::Cnp;
        let departs = if is_cnp {
            let busy = self.port_free[side].saturating_sub(self.now);
            let longest = u64::from(self.spec.mtu + 74) * self.spec.links.byte_time_ps / 1_000;
            self.now + busy.min(longest) + takes
        } else {
            self.port_free[side] = self.port_free[side].max(self.now) + takes;
            self.port_free[side]
        };
        let delay = self.dice.within(self.spec.links.up[side].clone());
        let queue = &mut self.up[side][usize::from(is_cnp)];
        *queue = (*queue + 1).max(departs + delay);
        let at = *queue;
        self.plan(at, Step::Enters(packet));
    }

    fn enter_switch(&mut self, packet: Packet) {
        let action = self.injector.action(&self.spec.faults, &packet);
        let index = self.write(&packet);
        let key = (packet.connection, packet.direction);
        let unchanged = Exit {
            time: Nanos(self.now),
            copies: 1,
            plain: 0,
            corrupt: false,
            ce: false,
            mig_req: None,
            rewritten: false,
        };
        let (event, exit) = match action {
            None | Some(Action::Discard) => (Event::None, None),
            Some(Action::Drop) => (Event::Action(ActionKind::Drop), None),
            Some(Action::Corrupt) => {
                (Event::Action(ActionKind::Corrupt), Some(Exit { corrupt: true, ..unchanged }))
            }
            Some(Action::Ecn) => (Event::Action(ActionKind::Ecn), Some(Exit { ce: true, ..unchanged })),
            Some(Action::Delay(by)) => {
                (Event::Action(ActionKind::Delay), Some(Exit { time: Nanos(self.now + by), ..unchanged }))
            }
            Some(Action::Reorder) => (Event::Action(ActionKind::Reorder), Some(unchanged)),
            Some(Action::Duplicate(copies)) => {
                (Event::Action(ActionKind::Duplicate), Some(Exit { copies, ..unchanged }))
            }
            Some(Action::EcnAndDelay(by)) => {
                (Event::Several, Some(Exit { ce: true, time: Nanos(self.now + by), ..unchanged }))
            }
        };
        let (record, extra) = &mut self.records[index];
        record.set_event(event);
        extra.exit = exit;
        let marked = exit.is_some_and(|exit| exit.ce);
        let packet = Packet { marked, ..packet };
        match (event, exit) {
            (Event::Action(ActionKind::Drop), _) => {}
            (Event::Action(ActionKind::Reorder), _) => {
                // One at a time: a second one releases the first.
                self.release(key);
                self.held.insert(key, (packet, index));
                return;
            }
            (_, exit) => {
                let exit = exit.unwrap_or(unchanged);
                let leaves = Step::Leaves(packet, exit.copies, exit.corrupt, action == Some(Action::Discard));
                if exit.time.0 > self.now {
                    self.plan(exit.time.0, leaves);
                } else {
                    self.step(leaves);
                }
            }
        }
        self.release(key);
    }

    /// Sends the packet that was held back for this one, right behind it.
    fn release(&mut self, key: (usize, Direction)) {
        if let Some((packet, index)) = self.held.remove(&key) {
            let left = self.now + 1;
            if let Some(exit) = &mut self.records[index].1.exit {
                exit.time = Nanos(left);
            }
            self.plan(left, Step::Leaves(packet, 1, false, false));
        }
    }

    fn leave_switch(&mut self, packet: Packet, corrupt: bool, discarded: bool) {
        let side = self.sender(&packet).other().index();
        let delay = self.dice.within(self.spec.links.down[side].clone());
        self.down[side] = (self.down[side] + 1).max(self.now + delay);
        let at = self.down[side];
        self.plan(at, Step::Arrives(packet, corrupt, discarded));
    }

    fn arrive(&mut self, packet: &Packet, corrupt: bool, discarded: bool) {
        let receiver = self.sender(packet).other();
        let tally = &mut self.tallies[receiver.index()];
        if corrupt {
            tally.corrupt += 1;
            return;
        }
        if discarded {
            tally.discarded += 1;
            return;
        }
        tally.received += 1;
        tally.marked += u64::from(packet.marked);
        let at = packet.connection;
        let spec = &self.spec.connections[at];
        let mut out_of_order = false;
        match packet.op {
            Op::Cnp => self.tallies[receiver.index()].cnps_handled += 1,
            Op::Acknowledge(aeth) => {
                self.requesters[at].hears(packet.at, aeth, self.now, spec, &mut self.dice, &mut self.wishes);
            }
            Op::Response(_) => {
                out_of_order = self.requesters[at].hears_response(
                    packet.at,
                    packet.payload,
                    self.now,
                    spec,
                    &mut self.dice,
                    &mut self.wishes,
                );
            }
            Op::Data { .. } | Op::ReadRequest { .. } | Op::AtomicRequest { .. } => {
                out_of_order = self.responders[at].takes(packet, spec, &mut self.dice);
                let delay = self.dice.within(spec.habits.responder.delay.clone());
                if let Some(at_time) = self.responders[at].wants_to_send(self.now + delay) {
                    self.plan(at_time, Step::ResponderSends(at));
                }
            }
        }
        self.grant(at);
        self.notify(packet, out_of_order, receiver);
    }

    /// The notification point of a host that received a packet.
    fn notify(&mut self, packet: &Packet, out_of_order: bool, receiver: Side) {
        let Some(notifications) = self.spec.notifications else { return };
        let reason = packet.marked || (notifications.on_loss && out_of_order && packet.is_data());
        let connection = &self.spec.connections[packet.connection];
        let peer = match packet.direction {
            Direction::Forth => connection.requester,
            Direction::Back => connection.responder,
        };
        let key = (receiver.index(), packet.connection, peer.address);
        if packet.op != Op::Cnp && reason && self.notifier.notifies(notifications, key, self.now) {
            self.tallies[receiver.index()].cnps_sent += 1;
            let direction = match packet.direction {
                Direction::Forth => Direction::Back,
                Direction::Back => Direction::Forth,
            };
            self.leave_host(Packet {
                connection: packet.connection,
                direction,
                opcode: Opcode::Cnp,
                at: 0,
                op: Op::Cnp,
                payload: 16,
                marked: false,
            });
        }
    }

    /// Writes a packet's record and returns its index.
    fn write(&mut self, packet: &Packet) -> usize {
        let connection = &self.spec.connections[packet.connection];
        let (from, to) = match packet.direction {
            Direction::Forth => (connection.requester, connection.responder),
            Direction::Back => (connection.responder, connection.requester),
        };
        let flows = &mut self.flows;
        let flow = *self.flow_ids.entry((packet.connection, packet.direction)).or_insert_with(|| {
            flows.push(Flow {
                source: address(from.address),
                destination: address(to.address),
                dest_qpn: to.qpn,
                vlan: None,
            });
            FlowId(flows.len() as u32 - 1)
        });
        let psn = match packet.op {
            Op::Cnp => Psn::new(0),
            _ => Psn::new(connection.initial_psn.wrapping_add(packet.at as u32)),
        };
        let sequence = self.records.len() as u32 + 1;
        let mut record = Record::new(Nanos(self.now), sequence, flow, packet.opcode, psn);
        record.src_port = from.port;
        record.payload_len = packet.payload as u16;
        record.frame_len = packet.wire_bytes() as u32;
        record.traffic_class = Ecn::Ect0 as u8;
        if let Op::Data { message, ack_req, .. } = packet.op {
            record.flags |= u8::from(ack_req) * flags::ACK_REQ;
            if matches!(packet.opcode, Opcode::WriteFirst | Opcode::WriteOnly) {
                record.dma_length = connection.messages[message].bytes;
            }
        }
        match packet.op {
            Op::ReadRequest { bytes, .. } => {
                record.flags |= flags::ACK_REQ;
                record.dma_length = bytes;
                record.virtual_address = 0x10_0000 + packet.at * u64::from(self.spec.mtu);
            }
            Op::AtomicRequest { .. } => record.flags |= flags::ACK_REQ,
            Op::Acknowledge(aeth) | Op::Response(Some(aeth)) => record.aeth = aeth.into(),
            Op::Cnp => record.flags |= flags::BECN,
            Op::Data { .. } | Op::Response(None) => {}
        }
        self.records.push((record, Extra::default()));
        self.records.len() - 1
    }

    fn finish(mut self) -> Outcome {
        // Held back for a packet that never came: lost for good.
        for (_, index) in std::mem::take(&mut self.held).into_values() {
            let (record, extra) = &mut self.records[index];
            record.set_event(Event::Action(ActionKind::Drop));
            extra.exit = None;
        }
        for (at, connection) in self.spec.connections.iter().enumerate() {
            let asks = self.requesters[at].counts;
            let tally = &mut self.tallies[connection.requester_side.index()];
            tally.sequence_naks += asks.naks;
            tally.rnr_naks += asks.rnr_naks;
            tally.implied_naks += asks.implied_naks;
            tally.timeouts += asks.timeouts;
            let answers = self.responders[at].counts;
            let tally = &mut self.tallies[connection.requester_side.other().index()];
            tally.duplicates += answers.duplicates;
            tally.out_of_sequence += answers.out_of_sequence;
        }
        let mut trace = Trace::new(Origin::Mirror);
        for flow in &self.flows {
            trace.add_flow(*flow);
        }
        for (record, extra) in &self.records {
            if *extra == Extra::default() {
                trace.push(*record);
            } else {
                trace.push_with(*record, *extra);
            }
        }
        let end = |host: super::Host, initial_psn| Endpoint {
            ip: address(host.address),
            qpn: Some(host.qpn),
            initial_psn,
        };
        let connections = self
            .spec
            .connections
            .iter()
            .map(|connection| dumper::Connection {
                requester: end(connection.requester, Some(Psn::new(connection.initial_psn))),
                responder: end(connection.responder, None),
            })
            .collect();
        let mut observation = Observation::of_trace(trace, connections);
        self.log(&mut observation);
        let gave_up = (0..self.requesters.len()).filter(|at| self.requesters[*at].is_dead()).collect();
        Outcome { observation, tallies: self.tallies, gave_up }
    }
}

impl Runner<'_> {
    /// Writes what the hosts say of each message; its times are the world's.
    fn log(&self, observation: &mut Observation) {
        let (mut completions, mut deliveries) = (Vec::new(), Vec::new());
        for (at, connection) in self.spec.connections.iter().enumerate() {
            let number = at as u32 + 1;
            let (requester, responder) = (&self.requesters[at], &self.responders[at]);
            for ((message, spec), status) in (1..).zip(&connection.messages).zip(requester.statuses()) {
                completions.push(Completion {
                    connection: number,
                    message,
                    posted_ns: Nanos(START),
                    completed_ns: Nanos(self.now),
                    bytes: u64::from(spec.bytes),
                    status,
                });
            }
            for ((message, there), back) in (1..).zip(responder.taken()).zip(requester.taken()) {
                let bytes = there + back;
                if bytes > 0 {
                    deliveries.push(Delivery { connection: number, message, bytes, intact: true });
                }
            }
        }
        (observation.completions, observation.deliveries) = (Some(completions), Some(deliveries));
    }
}

/// Address of a host.
fn address(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}
