//! The capture of a switch, as a trace.

use dumper::mirror::MirrorMeta;
use dumper::trace::{IcrcTally, Origin, TraceBuilder, Traced, Vantage};
use dumper::wire::Ecn;
use dumper::wire::frame::{Frame, Parsed, UdpPorts};
use dumper::{Event, Exit, Nanos, SwitchCounters, Trace};

use corpus::config::{HeaderField, SetField};

use super::Why;
use crate::entries::schema::{self, Counter};
use crate::proto::capture::{Exit as ExitMessage, Packet, Packets, Summary};
use crate::proto::runtime::{CounterEntry, Entity, Index, entity};
use crate::server::{packet, summary};
use crate::switch::Ended;
use crate::{Actions, rewrite};

/// Packets and counters of a test, as captured by a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// Every packet as it entered, and how it left where that differs.
    pub trace: Trace,
    /// Packets that entered with the right ICRC, and with a wrong one.
    pub icrc: IcrcTally,
    /// Port counters. Where the capture was not complete, these numbers show it too, and the trace is
    /// invalid.
    pub counters: SwitchCounters,
    /// Packets that are not in the trace, as the capture was full.
    pub not_captured: u64,
    /// Packets that were still held when the capture ended; how they left is not known.
    pub held: u64,
    /// RoCE packets whose headers could not be read: they passed, and are not in the trace.
    pub unreadable: Vec<PortUnreadable>,
    /// Frames that the switch lost against its will; none on a testbed in order.
    pub losses: Vec<PortLosses>,
}

impl Captured {
    /// The capture of a switch in this process, read as that of one elsewhere.
    ///
    /// # Errors
    /// A packet that the switch captured cannot be read, in words.
    pub fn of(ended: &Ended, counters: SwitchCounters) -> Result<Self, String> {
        let mut collector = Collector::new();
        let packets = ended.capture.packets().iter().map(packet).collect();
        let added = collector.add(Packets { packets });
        added.and_then(|()| collector.finish(summary(ended), counters)).map_err(|why| why.to_string())
    }
}

/// RoCE packets that came in at a port and whose headers could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortUnreadable {
    /// The port's number.
    pub port: u32,
    /// Number of such packets.
    pub packets: u64,
    /// Fault of the first of them.
    pub first: String,
}

/// Frames that were lost at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortLosses {
    /// The port's number.
    pub port: u32,
    /// Its queue was full: the receiver stood still.
    pub overflow: u64,
    /// Nobody was there to receive them.
    pub absent: u64,
    /// Refused by the system, or longer than the switch takes.
    pub refused: u64,
    /// Dropped by the system before the switch could take them in.
    pub missed: u64,
}

/// Packets of a capture that are taken: some gigabytes, sixteen times those of a switch that was given no other limits.
const MOST_PACKETS: u64 = 1 << 24;

/// Puts the packets of a capture together: 64 bytes are kept of each.
pub(super) struct Collector {
    builder: TraceBuilder,
    packets: u64,
}

impl Collector {
    pub(super) fn new() -> Self {
        Self { builder: TraceBuilder::new(Origin::Mirror, UdpPorts::Roce), packets: 0 }
    }

    pub(super) fn add(&mut self, packets: Packets) -> Result<(), Why> {
        if self.packets + packets.packets.len() as u64 > MOST_PACKETS {
            return Err(Why::Protocol(format!("it captured more than {MOST_PACKETS} packets")));
        }
        for packet in packets.packets {
            self.packets += 1;
            let exit = packet.exit.as_ref().map(|exit| exit_of(&packet, exit)).transpose()?;
            let event = u8::try_from(packet.event).map(Event::from_code);
            let event = event.map_err(|_| Why::Protocol(format!("{} is no event's code", packet.event)))?;
            let meta = MirrorMeta { sequence: packet.sequence, time: Nanos(packet.time_ns), event };
            let mut frame = packet.frame.to_vec();
            rewrite::mirror(&mut frame, meta);
            self.builder.push(
                (0, self.packets),
                &frame,
                frame.len() as u32,
                meta.time,
                (Vantage::FIRST, exit),
            );
        }
        Ok(())
    }

    pub(super) fn finish(self, summary: Summary, counters: SwitchCounters) -> Result<Captured, Why> {
        let Traced { trace, skipped, icrc, .. } = self.builder.finish();
        if summary.captured != self.packets || trace.records().len() as u64 != self.packets {
            let first =
                skipped.errors.first().map(|error| format!("; packet {}: {}", error.packet, error.error));
            return Err(Why::Protocol(format!(
                "it told of {} packets, sent {}, and {} of them can be read{}",
                summary.captured,
                self.packets,
                trace.records().len(),
                first.unwrap_or_default()
            )));
        }
        let losses = summary.losses.into_iter().map(|losses| PortLosses {
            port: losses.port,
            overflow: losses.overflow,
            absent: losses.absent,
            refused: losses.refused,
            missed: losses.missed,
        });
        let unreadable = summary.unreadable.into_iter().map(|unreadable| PortUnreadable {
            port: unreadable.port,
            packets: unreadable.packets,
            first: unreadable.first,
        });
        Ok(Captured {
            trace,
            icrc,
            counters,
            not_captured: summary.not_captured,
            held: summary.held,
            unreadable: unreadable.collect(),
            losses: losses.collect(),
        })
    }
}

/// Exit of a packet, from its bytes before and after the switch.
fn exit_of(packet: &Packet, exit: &ExitMessage) -> Result<Exit, Why> {
    let copies = exit.copies.try_into();
    let copies = copies.map_err(|_| Why::Protocol(format!("{} copies of a packet left", exit.copies)))?;
    let plain = u8::try_from(exit.plain).ok().filter(|plain| *plain <= copies).ok_or_else(|| {
        Why::Protocol(format!("{} of {copies} copies of a packet left as it entered", exit.plain))
    })?;
    let entered = &packet.frame;
    let left = exit.frame.as_ref().unwrap_or(entered);
    let unknown = Exit {
        time: Nanos(exit.time_ns),
        copies,
        plain,
        corrupt: false,
        ce: false,
        mig_req: None,
        rewritten: true,
    };
    // A field that was rewritten may have made it unreadable: then it left as something else than it entered.
    let (Ok(Parsed::Roce(before)), Ok(Parsed::Roce(after))) =
        (Frame::parse(entered, UdpPorts::Roce), Frame::parse(left, UdpPorts::Roce))
    else {
        return Ok(unknown);
    };
    let corrupt = after.icrc_ok() == Some(false);
    let ce = Ecn::of(after.ip.traffic_class()) == Ecn::Ce;
    let mig_req = (after.bth.mig_req != before.bth.mig_req).then_some(after.bth.mig_req);
    // A change that mark and MigReq explain is not reported twice.
    let set_field = mig_req.map(|bit| SetField { field: HeaderField::MigReq, value: bit.into() });
    let explained = rewrite::rewrite(entered, &Actions { ecn: ce, set_field, ..Actions::default() });
    let rewritten = !corrupt && explained.as_deref().unwrap_or(entered) != &left[..];
    Ok(Exit { corrupt, ce, mig_req, rewritten, ..unknown })
}

/// Cells of counters that are read out at most: of a switch with as many ports as any that is built.
pub(super) const COUNTER_CELLS: usize = 1 << 16;

/// Adds a cell of one of the counters `known`, which have these identifiers.
pub(super) fn add_counter(
    counters: &mut SwitchCounters,
    entity: &Entity,
    known: impl IntoIterator<Item = (u32, &'static Counter)>,
) -> Result<(), Why> {
    let cell = match &entity.entity {
        Some(entity::Entity::CounterEntry(CounterEntry {
            counter_id,
            index: Some(Index { index }),
            data: Some(data),
        })) => {
            let numbers = (u32::try_from(*index), u64::try_from(data.packet_count));
            if let (Ok(port), Ok(packets)) = numbers { Some((*counter_id, port, packets)) } else { None }
        }
        _ => None,
    };
    let (counter, port, packets) = cell.ok_or_else(|| {
        Why::Protocol("it read out something else than packet counters of ports".to_owned())
    })?;
    let known = known.into_iter().find(|(id, _)| *id == counter).map(|(_, counter)| counter.id);
    let ports = match known {
        Some(id) if id == schema::PORT_INGRESS.id => &mut counters.ingress,
        Some(id) if id == schema::PORT_EGRESS.id => &mut counters.egress,
        _ => {
            return Err(Why::Protocol(format!(
                "it read out counter {counter:#010x}, which is none of these"
            )));
        }
    };
    ports.insert(port, packets);
    Ok(())
}
