//! Traces written packet by packet.

use std::net::{IpAddr, Ipv4Addr};

use corpus::TestConfig;
use dumper::trace::{Origin, Record, flags};
use dumper::wire::{AethRepr, NakCode, Opcode, Syndrome};
use dumper::{ActionKind, Event, Exit, Flow, FlowId, Nanos, Observation, Psn, Trace};
use scoring::score::{Assessment, Burst};
use scoring::{Analysis, Anomaly, Options, analyze};

pub(crate) const NAK: Syndrome = Syndrome::Nak(NakCode::PsnSequenceError);
const ACK: Syndrome = Syndrome::Ack(AethRepr::NO_CREDITS);

/// Host `n` of the test network.
pub(crate) fn host(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, n))
}

/// A trace under construction. Times are in nanoseconds, PSNs are absolute.
pub(crate) struct Hand {
    trace: Trace,
    src_ports: Vec<u16>,
}

impl Hand {
    pub(crate) fn new() -> Self {
        Self { trace: Trace::new(Origin::Mirror), src_ports: Vec::new() }
    }

    /// A flow between two hosts to a QPN, with a UDP source port.
    pub(crate) fn flow(&mut self, from: u8, to: u8, dest_qpn: u32, src_port: u16) -> FlowId {
        self.src_ports.push(src_port);
        self.trace.add_flow(Flow { source: host(from), destination: host(to), dest_qpn, vlan: None })
    }

    /// Both directions of a connection: QPN 0x11 at host 1, 0x22 at host 2.
    pub(crate) fn connection(&mut self) -> (FlowId, FlowId) {
        (self.flow(1, 2, 0x22, 0xc000), self.flow(2, 1, 0x11, 0xc000))
    }

    /// Appends a packet and returns its mirror sequence number.
    pub(crate) fn packet(&mut self, time: u64, flow: FlowId, opcode: Opcode, psn: u32) -> u32 {
        self.with(time, flow, opcode, psn, |_| ())
    }

    pub(crate) fn with(
        &mut self,
        time: u64,
        flow: FlowId,
        opcode: Opcode,
        psn: u32,
        change: impl FnOnce(&mut Record),
    ) -> u32 {
        let sequence = self.trace.records().len() as u32 + 1;
        let mut record = Record::new(Nanos(time), sequence, flow, opcode, Psn::new(psn));
        record.src_port = self.src_ports[flow.index()];
        record.payload_len = 1024;
        if opcode == Opcode::Cnp {
            record.flags |= flags::BECN;
        }
        change(&mut record);
        self.trace.push(record);
        sequence
    }

    /// A Write of four packets from PSN 10, from 1 to 1.3 µs, whose second is lost; and the flows of its connection.
    pub(crate) fn lossy_write() -> (Self, FlowId, FlowId) {
        let mut hand = Self::new();
        let (there, back) = hand.connection();
        hand.packet(1_000, there, Opcode::WriteFirst, 10);
        hand.lost(1_100, there, Opcode::WriteMiddle, 11);
        hand.packet(1_200, there, Opcode::WriteMiddle, 12);
        hand.last(1_300, there, Opcode::WriteLast, 13);
        (hand, there, back)
    }

    /// A packet that the injector drops.
    pub(crate) fn lost(&mut self, time: u64, flow: FlowId, opcode: Opcode, psn: u32) -> u32 {
        self.with(time, flow, opcode, psn, |record| record.set_event(Event::Action(ActionKind::Drop)))
    }

    /// A packet leaves at a time, so many times, of which so many are as they were without the event; returns it.
    fn leaves(&mut self, sequence: u32, left: u64, copies: u8, plain: u8) -> u32 {
        let exit = Exit {
            time: Nanos(left),
            copies,
            plain,
            corrupt: false,
            ce: false,
            mig_req: None,
            rewritten: false,
        };
        self.trace.set_exit(sequence as usize - 1, exit);
        sequence
    }

    /// A packet that the injector holds back until `left`.
    pub(crate) fn late(
        &mut self,
        [time, left]: [u64; 2],
        flow: FlowId,
        opcode: Opcode,
        psn: u32,
        change: impl FnOnce(&mut Record),
    ) -> u32 {
        let sequence = self.with(time, flow, opcode, psn, |record| {
            change(record);
            record.set_event(Event::Action(ActionKind::Reorder));
        });
        self.leaves(sequence, left, 1, 0)
    }

    /// A packet that the injector holds back until `left`, when it leaves twice.
    pub(crate) fn doubled(&mut self, [time, left]: [u64; 2], flow: FlowId, opcode: Opcode, psn: u32) -> u32 {
        let sequence = self.with(time, flow, opcode, psn, |record| record.set_event(Event::Several));
        self.leaves(sequence, left, 2, 1)
    }

    /// A NAK of a sequence error that leaves at once, and so many copies of it.
    pub(crate) fn copied_nak(&mut self, time: u64, flow: FlowId, psn: u32, copies: u8) -> u32 {
        let sequence = self.with(time, flow, Opcode::Acknowledge, psn, |record| {
            record.aeth = AethRepr { syndrome: NAK, msn: 0 }.into();
            record.set_event(Event::Action(ActionKind::Duplicate));
        });
        self.leaves(sequence, time, 1 + copies, copies)
    }

    /// The last packet of a message: it asks for an acknowledgement.
    pub(crate) fn last(&mut self, time: u64, flow: FlowId, opcode: Opcode, psn: u32) -> u32 {
        self.with(time, flow, opcode, psn, |record| record.flags |= flags::ACK_REQ)
    }

    /// A Read request for `packets` packets of 1024 bytes.
    pub(crate) fn read(&mut self, time: u64, flow: FlowId, psn: u32, packets: u32) -> u32 {
        self.with(time, flow, Opcode::ReadRequest, psn, asks_for(psn, packets))
    }

    pub(crate) fn ack(&mut self, time: u64, flow: FlowId, psn: u32, msn: u32) -> u32 {
        self.answer(time, flow, psn, ACK, msn)
    }

    pub(crate) fn answer(&mut self, time: u64, flow: FlowId, psn: u32, syndrome: Syndrome, msn: u32) -> u32 {
        self.with(time, flow, Opcode::Acknowledge, psn, |record| {
            record.aeth = AethRepr { syndrome, msn }.into();
        })
    }

    /// Analysis of the trace alone.
    pub(crate) fn analyze(self) -> Analysis {
        self.analyze_with(Options::default())
    }

    /// Analysis of the trace with the test's configuration.
    pub(crate) fn analyze_with(self, options: Options<'_>) -> Analysis {
        analyze(&self.observation(), options)
    }

    /// The trace, and nothing else.
    pub(crate) fn observation(self) -> Observation {
        let whole = &self.trace;
        let mut trace = Trace::new(Origin::Mirror);
        for flow in whole.flows() {
            trace.add_flow(*flow);
        }
        for (at, record) in whole.records().iter().enumerate() {
            let mut sent = *record;
            if matches!(record.opcode(), Opcode::WriteFirst | Opcode::WriteOnly) {
                sent.dma_length = length(record, &whole.records()[at..]);
            }
            let extra = whole.extra(record).unwrap_or_default();
            trace.push_with(sent, extra);
        }
        Observation::of_trace(trace, Vec::new())
    }
}

/// RETH length of a Write from its first packet on: it ends with the next LAST, or is longer than the trace.
fn length(first: &Record, from: &[Record]) -> u32 {
    let payload = u32::from(first.payload_len);
    if first.opcode() == Opcode::WriteOnly {
        return payload;
    }
    let ends = |record: &&Record| record.flow == first.flow && record.opcode() == Opcode::WriteLast;
    let last = from.iter().filter(ends).find(|record| record.psn.is_after(first.psn));
    last.map_or(64 * payload, |last| {
        last.psn.since(first.psn).unsigned_abs() * payload + u32::from(last.payload_len)
    })
}

/// Makes a record that of a Read request for `packets` packets of 1024 bytes.
pub(crate) fn asks_for(psn: u32, packets: u32) -> impl FnOnce(&mut Record) {
    move |record| {
        record.dma_length = packets * 1024;
        record.virtual_address = 0x10_0000 + u64::from(psn) * 1024;
        record.flags |= flags::ACK_REQ;
    }
}

/// A test.
pub(crate) fn config(text: &str) -> TestConfig {
    corpus::from_toml("test.toml", text).unwrap()
}

/// Analysis of an observation of a test.
pub(crate) fn analysis(config: &TestConfig, observation: &Observation) -> Analysis {
    analyze(observation, Options { config: Some(config) })
}

/// Signatures of the findings, in order.
pub(crate) fn signatures(assessment: &Assessment) -> Vec<String> {
    assessment.findings().map(Anomaly::signature).collect()
}

/// Rules that were broken, in order.
pub(crate) fn rules(analysis: &Analysis) -> Vec<&'static str> {
    analysis.anomalies.kept().iter().map(|anomaly| anomaly.rule.name()).collect()
}

/// A burst of a reference run that has so many bytes, and no fewer packets than any test here.
pub(crate) fn burst_of(bytes: u64) -> Burst {
    Burst { bytes, packets: 1_000 }
}
