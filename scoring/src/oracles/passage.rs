//! Queues and links that all packets of a test pass.

use dumper::Fate;
use dumper::wire::{Class, Syndrome};
use dumper::{ActionKind, Event, Nanos, Trace};
use serde::{Deserialize, Serialize};

use crate::see::sides::{Side, Sides};
use crate::see::slowest::link_time;
use crate::thresholds::{MORE_AT_ONCE_PERCENT, RECEIVER_JITTER, SLOWEST_SENDER, SMALLEST_BUFFER};

/// Parts of the test between which throughput is compared.
pub(crate) const WINDOWS: usize = 16;

/// Totals of a trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passage {
    /// Time that all packets take one after the other, on the slowest link and in the slowest NIC.
    pub(crate) one_after_the_other: Nanos,
    /// The longest time in which no packet passed, and after which one did.
    pub(crate) silence: Nanos,
    /// Payload of the busiest of the parts of the test over that of the mean one; 1 where there is none.
    pub(crate) unevenness: f64,
    /// Of each flow, whether an RNR NAK is on it.
    pub(crate) refused: Vec<bool>,
}

impl Passage {
    pub(crate) fn of(trace: &Trace) -> Self {
        let records = trace.records();
        let refused = vec![false; trace.flows().len()];
        let mut passage = Self { refused, unevenness: 1.0, ..Self::default() };
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return passage };
        let span = (last.time - first.time).0 / WINDOWS as u64 + 1;
        let (mut windows, mut window, mut window_ends) = ([0_u64; WINDOWS], 0, first.time + Nanos(span));
        let mut latest = first.time;
        let (mut packets, mut bytes) = (0_u64, 0_u64);
        for record in records {
            passage.silence = passage.silence.max(record.time - latest);
            latest = latest.max(record.time);
            let mut copies = 1;
            if record.event() != Event::None
                && let Fate::Delivered { left, copies: several } = trace.fate(record)
            {
                // While the injector holds a packet, silence is its doing.
                latest = latest.max(left);
                copies = u64::from(several);
            }
            while record.time >= window_ends && window + 1 < WINDOWS {
                window += 1;
                window_ends += Nanos(span);
            }
            windows[window] += u64::from(record.payload_len);
            packets += copies;
            bytes += copies * u64::from(record.frame_len);
            if record.class() == Class::Acknowledge && matches!(record.aeth().syndrome, Syndrome::RnrNak(_)) {
                passage.refused[record.flow.index()] = true;
            }
        }
        passage.one_after_the_other = SLOWEST_SENDER.times(packets) + link_time(packets, bytes);
        let (sum, most) = (windows.iter().sum::<u64>(), windows.iter().max().copied().unwrap_or(0));
        if sum > 0 {
            passage.unevenness = (most * WINDOWS as u64) as f64 / sum as f64;
        }
        passage
    }
}

/// A packet as it leaves the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) left: Nanos,
    /// Index among the records.
    pub(crate) record: u32,
    pub(crate) copies: u8,
}

/// Packets that leave the switch towards a host, in order. Corrupted ones are among them: the receiver finds out only after
/// they have taken room in its buffer.
pub(crate) fn departures(trace: &Trace, sides: &Sides, to: Side) -> Vec<Departure> {
    let wanted: Vec<bool> =
        trace.flows().iter().map(|flow| sides.at(flow.source) == Some(to.other())).collect();
    let mut departures = Vec::new();
    for (record, at) in trace.records().iter().zip(0..) {
        if !wanted[record.flow.index()] {
            continue;
        }
        match trace.fate(record) {
            Fate::Lost if record.event() == Event::Action(ActionKind::Drop) => {}
            // Those with a wrong ICRC take time as well; several events at once may be a drop.
            Fate::Delivered { .. } | Fate::Lost | Fate::Unknown => {
                let (left, copies) = trace.departure(record);
                if copies > 0 {
                    departures.push(Departure { left, record: at, copies });
                }
            }
        }
    }
    departures.sort_by_key(|departure| departure.left);
    departures
}

/// The most that leaves the switch towards a host while a receiver may take nothing, as its latency varies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Burst {
    /// Bytes of frames.
    pub bytes: u64,
    /// Packets: a receiver takes time for each of them, also for the smallest.
    pub packets: u64,
}

impl Burst {
    /// The largest burst towards a host, by bytes and, maybe at another time, by packets.
    pub(crate) fn towards(host: Side, trace: &Trace, sides: &Sides) -> Self {
        let of = |departure: &Departure| {
            let (packets, record) =
                (u64::from(departure.copies), &trace.records()[departure.record as usize]);
            Self { bytes: u64::from(record.frame_len) * packets, packets }
        };
        let departures = departures(trace, sides, host);
        let (mut first, mut now, mut most) = (0, Self::default(), Self::default());
        for departure in &departures {
            let more = of(departure);
            (now.bytes, now.packets) = (now.bytes + more.bytes, now.packets + more.packets);
            while departure.left - departures[first].left > RECEIVER_JITTER {
                let less = of(&departures[first]);
                (now.bytes, now.packets) = (now.bytes - less.bytes, now.packets - less.packets);
                first += 1;
            }
            most.bytes = most.bytes.max(now.bytes);
            most.packets = most.packets.max(now.packets);
        }
        most
    }

    /// Returns true if the smallest receive buffer holds it.
    pub(crate) const fn fits(self) -> bool {
        self.bytes <= SMALLEST_BUFFER
    }

    /// Returns true if it is larger than the usual one, by more than chance makes it.
    pub(crate) const fn exceeds(self, usual: Self) -> bool {
        self.bytes * 100 > usual.bytes * MORE_AT_ONCE_PERCENT
            || self.packets * 100 > usual.packets * MORE_AT_ONCE_PERCENT
    }
}
