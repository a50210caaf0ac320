//! The switch's mirror: a record of every packet as it entered, in the order of entering.

use dumper::trace::{Origin, Vantage, flags};
use dumper::{Event, Exit, Flow, Nanos, Record, Trace};

use super::route::Route;
use crate::sim::packet::Packet;

/// Packets that room is made for at the start, at the most: a trace that grows is copied. Room that is not used costs no memory.
const MOST_RESERVED: u64 = 1 << 21;

/// The trace that the mirrored packets make.
pub(super) struct Mirror {
    vantage: Vantage,
    trace: Trace,
}

impl Mirror {
    /// The mirror of a switch that no packet has entered, and about so many will.
    pub(super) fn new(vantage: Vantage, packets: u64) -> Self {
        let mut trace = Trace::new(Origin::Mirror);
        trace.reserve(packets.min(MOST_RESERVED) as usize);
        Self { vantage, trace }
    }

    /// Adds a packet as it entered; returns its place in the trace.
    #[inline]
    pub(super) fn see(
        &mut self,
        packet: &Packet,
        route: &mut Route,
        now: Nanos,
        sequence: u32,
        event: Event,
    ) -> usize {
        let flow = *route.traced.get_or_insert_with(|| {
            self.trace.add_flow(Flow {
                source: route.source,
                destination: route.destination,
                dest_qpn: route.dest_qpn,
                vlan: None,
            })
        });
        debug_assert!(
            self.trace.records().last().is_none_or(|last| last.time <= now),
            "a packet enters before one that has entered"
        );
        let mut record = Record::new(now, sequence, flow, packet.opcode, packet.psn);
        record.frame_len = packet.frame_len;
        record.payload_len = packet.payload;
        record.src_port = route.src_port;
        record.traffic_class = packet.traffic_class;
        record.set_event(event);
        record.flags =
            [(packet.ack_req, flags::ACK_REQ), (packet.becn, flags::BECN), (packet.mig_req, flags::MIG_REQ)]
                .into_iter()
                .fold(0, |bits, (set, bit)| bits | if set { bit } else { 0 });
        record.set_vantage(self.vantage);
        record.set_extensions(packet.reth, packet.aeth);
        self.trace.push(record);
        self.trace.records().len() - 1
    }

    /// The record at a place in the trace.
    pub(super) fn record(&self, at: usize) -> &Record {
        &self.trace.records()[at]
    }

    /// The packet at a place in the trace left the switch otherwise than it entered.
    pub(super) fn left(&mut self, at: usize, exit: Exit) {
        self.trace.set_exit(at, exit);
    }

    /// Packets so far.
    #[inline]
    pub(super) fn packets(&self) -> usize {
        self.trace.records().len()
    }

    /// The whole trace.
    pub(super) fn into_trace(self) -> Trace {
        self.trace
    }
}
