//! A trace: every packet that passed the switch, in mirror order, in compact records.

mod build;
mod digest;
mod record;
mod room;

use std::net::IpAddr;

pub use build::{Damage, IcrcTally, PacketError, PacketFault, Skipped, TraceBuilder, Traced};
pub use digest::Digest;
pub use record::{FlowId, Record, Vantage, flags};

use crate::event::{Event, Exit, Fate};
use crate::wire::{AtomicAckEthRepr, AtomicEthRepr, DethRepr, Ecn};
use crate::{ActionKind, Leaves};

/// One direction of one QP: everything with the same addresses and destination QPN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Flow {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// QP number at the destination, 24 bits.
    pub dest_qpn: u32,
    /// VLAN tag control information of the flow's first packet.
    pub vlan: Option<u16>,
}

/// Data of few packets, kept beside the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extra {
    /// Exit of the packet, where it left otherwise than it entered.
    pub exit: Option<Exit>,
    /// Atomic request header.
    pub atomic: Option<AtomicEthRepr>,
    /// Atomic acknowledgement header.
    pub atomic_ack: Option<AtomicAckEthRepr>,
    /// Datagram header.
    pub deth: Option<DethRepr>,
}

/// Origin of the times and sequence numbers of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Origin {
    /// Mirror metadata of an injector: packets are known to be in order, and their events are known.
    #[default]
    Mirror,
    /// An ordinary capture: file order and file time, no events, no proof of completeness.
    Plain,
}

/// Every packet of a test, in mirror order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    records: Vec<Record>,
    flows: Vec<Flow>,
    extras: Extras,
    origin: Origin,
}

/// Data of few packets, each at a place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Extras {
    /// By place: over several paths every other packet has an exit.
    exits: Vec<Option<Exit>>,
    /// Headers of the places that have some, ascending.
    headers: Vec<(u32, Headers)>,
}

impl Extras {
    /// Keeps the data of a packet; the number of its place, from 1.
    fn keep(&mut self, extra: Extra) -> u32 {
        let Extra { exit, atomic, atomic_ack, deth } = extra;
        let place = u32::try_from(self.exits.len()).expect("packets are counted in 31 bits");
        self.exits.push(exit);
        let headers = Headers { atomic, atomic_ack, deth };
        if headers != Headers::default() {
            self.headers.push((place, headers));
        }
        place + 1
    }

    /// The exit of a packet, by the number of its place, which is 0 if it has none.
    #[inline]
    fn exit(&self, number: u32) -> Option<Option<Exit>> {
        self.exits.get((number as usize).checked_sub(1)?).copied()
    }

    /// All data of a packet, likewise.
    fn get(&self, number: u32) -> Option<Extra> {
        let exit = self.exit(number)?;
        let headers = self.headers.binary_search_by_key(&(number - 1), |(place, _)| *place);
        let Headers { atomic, atomic_ack, deth } =
            headers.map_or(Headers::default(), |at| self.headers[at].1);
        Some(Extra { exit, atomic, atomic_ack, deth })
    }
}

/// Headers that hardly any packet has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Headers {
    atomic: Option<AtomicEthRepr>,
    atomic_ack: Option<AtomicAckEthRepr>,
    deth: Option<DethRepr>,
}

impl Trace {
    /// An empty trace.
    pub const fn new(origin: Origin) -> Self {
        Self {
            records: Vec::new(),
            flows: Vec::new(),
            extras: Extras { exits: Vec::new(), headers: Vec::new() },
            origin,
        }
    }

    /// Makes room for so many packets at once.
    pub fn reserve(&mut self, packets: usize) {
        room::reserve(&mut self.records, packets);
    }

    /// Packets in mirror order.
    #[inline]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Flows, in order of first appearance in the capture.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Addresses of a packet.
    pub fn flow(&self, record: &Record) -> &Flow {
        &self.flows[record.flow.index()]
    }

    /// Origin of times and sequence numbers.
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// Rare facts about a packet.
    pub fn extra(&self, record: &Record) -> Option<Extra> {
        self.extras.get(record.extra)
    }

    /// Exit of a packet, where it left otherwise than it entered and the trace shows it.
    #[inline]
    pub fn exit(&self, record: &Record) -> Option<Exit> {
        self.extras.exit(record.extra)?
    }

    /// Fate of a packet after the switch.
    #[inline]
    pub fn fate(&self, record: &Record) -> Fate {
        let unchanged = Fate::Delivered { left: record.time, copies: 1 };
        if record.event == 0 {
            return unchanged;
        }
        if let Some(exit) = self.exit(record) {
            return match (exit.copies, exit.plain) {
                (0, _) => Fate::Lost,
                (_, 0) if exit.corrupt => Fate::Lost,
                (_, plain) if exit.corrupt => Fate::Delivered { left: exit.time, copies: plain },
                _ if exit.rewritten => Fate::Unknown,
                (copies, _) => Fate::Delivered { left: exit.time, copies },
            };
        }
        match record.event().leaves() {
            None | Some(Leaves::Marked | Leaves::Rewritten) => unchanged,
            Some(Leaves::Lost) => Fate::Lost,
            Some(Leaves::Otherwise) => Fate::Unknown,
        }
    }

    /// Time at which the packet left, and how many left for it, those with a wrong ICRC as well: where the trace does not say so, one
    /// at once.
    pub fn departure(&self, record: &Record) -> (crate::Nanos, u8) {
        self.exit(record).map_or((record.time, 1), |exit| (exit.time, exit.copies))
    }

    /// Returns true if the packet carried Congestion Experienced when it left the switch; of several that were delivered, the one with
    /// this number, from 0 in the order in which they left.
    pub fn marked(&self, record: &Record, copy: u8) -> bool {
        let is_plain = |exit: &Exit| exit.corrupt || copy >= exit.copies.saturating_sub(exit.plain);
        match self.exit(record) {
            Some(exit) if exit.plain > 0 && is_plain(&exit) => record.ecn() == Ecn::Ce,
            Some(exit) => exit.ce,
            None => record.event() == Event::Action(ActionKind::Ecn) || record.ecn() == Ecn::Ce,
        }
    }

    /// Appends a flow and returns its index.
    pub fn add_flow(&mut self, flow: Flow) -> FlowId {
        self.flows.push(flow);
        FlowId(
            u32::try_from(self.flows.len() - 1)
                .expect("a flow takes a packet, and packets are counted in 31 bits"),
        )
    }

    /// Appends a packet. Packets are appended in mirror order; the flow is one of this trace's.
    pub fn push(&mut self, record: Record) {
        debug_assert!(record.flow.index() < self.flows.len(), "the record's flow was added first");
        self.records.push(record);
    }

    /// Appends a packet with its rare data.
    pub fn push_with(&mut self, mut record: Record, extra: Extra) {
        record.extra = self.extras.keep(extra);
        self.push(record);
    }

    /// Notes how the packet at an index left, which may be known only after others have entered.
    pub fn set_exit(&mut self, index: usize, exit: Exit) {
        let number = &mut self.records[index].extra;
        match number.checked_sub(1) {
            Some(at) => self.extras.exits[at as usize] = Some(exit),
            None => *number = self.extras.keep(Extra { exit: Some(exit), ..Extra::default() }),
        }
    }

    /// The packet with this mirror sequence number.
    pub fn find(&self, sequence: u32) -> Option<&Record> {
        self.position(sequence).map(|at| &self.records[at])
    }

    /// Index of the packet with this mirror sequence number.
    pub fn position(&self, sequence: u32) -> Option<usize> {
        let first = self.records.first()?.sequence;
        let distance = |sequence| crate::mirror::sequence_distance(sequence, first);
        self.records.binary_search_by_key(&distance(sequence), |record| distance(record.sequence)).ok()
    }
}
