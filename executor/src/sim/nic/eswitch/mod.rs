//! The NIC's own switch: each packet is looked up in the flow table that the host has offloaded, before it goes on the cable and after
//! it has come from there (ScalaCN §4.1 and §4.2).

mod credit;
mod hyper;
mod lookups;
mod recent;
mod tables;

use std::collections::VecDeque;

use corpus::{Direction, IpVersion, Offload, Scheduler};
use dumper::Nanos;

use crate::profile::Eswitch as Profile;
use crate::sim::packet::Packet;
pub(in crate::sim) use credit::Credit;
use hyper::Hyper;
use lookups::Lookups;
use recent::Recent;
use tables::{EGRESS, Entry, INGRESS, Tables};

/// The switch of a NIC.
#[derive(Debug)]
pub(in crate::sim) struct Eswitch {
    profile: Profile,
    /// Time of a mask in each direction, in all tables that a packet is looked up in, in ns.
    mask_ns: [u64; 2],
    /// Time of the actions on a packet.
    actions: Nanos,
    tunnels: bool,
    tables: Tables,
    /// Entries by flow, from 0; the first are those of the QPs.
    entries: Vec<Option<Entry>>,
    /// By QP.
    qps: Vec<Flow>,
    /// Of each direction, if the host has it; apart, as few tests have it.
    hyper: Option<Box<[Hyper; 2]>>,
    /// Flows of each direction whose entries are on the chip, if not all are; apart likewise.
    on_chip: Option<Box<[Recent; 2]>>,
    /// True once entries have changed, so that the costs of packets are due anew.
    changed: bool,
    egress: Lookups<Packet>,
    ingress: Lookups<Packet>,
    /// Time at which the host's software can forward the next packet, in ps.
    software_free: u64,
    /// QPs whose packets had no entry since the host last looked.
    upcalls: VecDeque<u32>,
}

/// The packets of a QP.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Masks that a packet is looked up in, in each direction, and its own.
    searched: [u32; 2],
    masks: [u32; 2],
    has_entry: bool,
    /// True once the host knows that it has none.
    called: bool,
    /// Time of the last packet.
    last: Nanos,
    /// End of the last look-up in each direction, which the next one does not overtake.
    done: [Nanos; 2],
}

/// An entry that the NIC does not create.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sim) enum Refusal {
    /// There are as many masks as it can have.
    Masks,
    /// There is no context for one more tunnel.
    Contexts,
}

impl Eswitch {
    /// The switch of a profile with a host's flow table, before it has an entry, for so many QPs with addresses of a version of IP; none if a
    /// table makes no difference, and the host never operates on it.
    pub(in crate::sim::nic) fn new(
        profile: &Profile,
        offload: Option<&Offload>,
        operates: bool,
        (qps, ip_version): (u32, IpVersion),
    ) -> Option<Self> {
        let offload = offload.filter(|_| profile.is_on() || operates)?;
        let mask_ns = |query: u64, direction| query * u64::from(offload.tables_of(direction, ip_version));
        Some(Self {
            profile: *profile,
            mask_ns: [
                mask_ns(profile.egress_query_ns, Direction::Egress),
                mask_ns(profile.ingress_query_ns, Direction::Ingress),
            ],
            actions: Nanos(profile.action_ns * u64::from(offload.all_actions())),
            tunnels: offload.vxlan,
            tables: Tables::new(profile),
            entries: Vec::new(),
            qps: (0..qps).map(|_| Flow::default()).collect(),
            hyper: (offload.scheduler == Scheduler::Hyper)
                .then(|| Box::new([EGRESS, INGRESS].map(|_| Hyper::new(offload.hyper_entries)))),
            // Flows of no QP have no packets.
            on_chip: (profile.entry_cache > 0)
                .then(|| Box::new([EGRESS, INGRESS].map(|_| Recent::new(profile.entry_cache.min(qps))))),
            changed: true,
            egress: Lookups::new(profile),
            ingress: Lookups::new(profile),
            software_free: 0,
            upcalls: VecDeque::new(),
        })
    }

    /// Creates the entry of a flow, with its mask in each direction.
    pub(in crate::sim) fn insert(&mut self, flow: u32, masks: [u32; 2]) -> Result<(), Refusal> {
        let contexts = self.profile.contexts;
        if self.tunnels && contexts > 0 && self.tables.entries() >= contexts {
            return Err(Refusal::Contexts);
        }
        let entry = self.tables.insert(masks).ok_or(Refusal::Masks)?;
        let flow = flow as usize;
        if self.entries.len() <= flow {
            self.entries.resize(flow + 1, None);
        }
        self.entries[flow] = Some(entry);
        self.changed = true;
        Ok(())
    }

    /// Deletes the entry of a flow, if it has one.
    pub(in crate::sim) fn delete(&mut self, flow: u32) {
        if let Some(entry) = self.entries.get_mut(flow as usize).and_then(Option::take) {
            self.tables.delete(entry);
            self.on_chip.iter_mut().flat_map(|flows| flows.iter_mut()).for_each(|flows| flows.forget(flow));
            self.changed = true;
        }
    }

    /// Number of entries.
    pub(in crate::sim) const fn entries(&self) -> u32 {
        self.tables.entries()
    }

    /// Time of the last packet of a QP.
    pub(in crate::sim) fn last_packet(&self, qp: u32) -> Nanos {
        self.qps[qp as usize].last
    }

    /// Returns true if there are QPs of whose packets one had no entry.
    #[inline]
    pub(in crate::sim) fn has_upcalls(&self) -> bool {
        !self.upcalls.is_empty()
    }

    /// A QP of whose packets one had no entry, once for all of them since it had one.
    pub(in crate::sim) fn take_upcall(&mut self) -> Option<u32> {
        self.upcalls.pop_front()
    }

    /// The masks that packets are looked up in by the entries that there are.
    #[cold]
    fn settle(&mut self) {
        self.changed = false;
        self.tables.settle();
        // A packet that no entry matches is looked up in all.
        let all = [EGRESS, INGRESS].map(|direction| self.tables.masks(direction));
        for (flow, number) in self.qps.iter_mut().zip(0..) {
            let entry = self.entries.get(number).copied().flatten();
            flow.has_entry = entry.is_some();
            flow.called &= !flow.has_entry;
            flow.searched = all;
            if let Some(entry) = entry {
                flow.masks = entry.masks();
                flow.searched = [EGRESS, INGRESS].map(|direction| self.tables.searched(entry, direction));
            }
        }
    }

    /// Time of a look-up in so many masks of each table.
    fn cost(&self, direction: usize, masks: u32) -> Nanos {
        Nanos(self.mask_ns[direction] * u64::from(masks) + self.actions.0)
    }

    /// The time of a look-up, and the earliest time at which the packet goes on.
    #[inline]
    fn look_up(&mut self, qp: u32, direction: usize, packet: &Packet, now: Nanos) -> (Nanos, Nanos) {
        if self.changed {
            self.settle();
        }
        let Some(flow) = self.qps.get_mut(qp as usize) else {
            return (self.cost(direction, self.tables.masks(direction)), now);
        };
        flow.last = now;
        let (mut searched, earliest) = (flow.searched[direction], flow.done[direction]);
        if flow.has_entry {
            if let Some(hyper) = &mut self.hyper {
                searched = hyper[direction].search(qp, flow.masks[direction], searched, now);
            }
            let is_there = self.on_chip.as_mut().is_none_or(|flows| flows[direction].note(qp));
            let fetched = Nanos(if is_there { 0 } else { self.profile.miss_ns });
            return (fetched + self.cost(direction, searched), earliest);
        }
        if !flow.called {
            flow.called = true;
            self.upcalls.push_back(qp);
        }
        let takes = self.cost(direction, searched);
        (takes, earliest.max(self.in_software(packet, now + takes)))
    }

    /// The host's software forwards a packet, one after another; returns the time at which it has.
    #[cold]
    fn in_software(&mut self, packet: &Packet, now: Nanos) -> Nanos {
        let bits_ps = match self.profile.software_gbps {
            0 => 0,
            rate => u64::from(packet.frame_len) * 8_000 / u64::from(rate),
        };
        self.software_free = self.software_free.max(now.0 * 1_000) + bits_ps;
        Nanos(self.software_free.div_ceil(1_000) + self.profile.software_ns)
    }

    fn note_done(&mut self, qp: u32, direction: usize, done: Nanos) {
        if let Some(flow) = self.qps.get_mut(qp as usize) {
            flow.done[direction] = done;
        }
    }

    /// Time from which on another packet can be taken out of the queues of QPs.
    #[inline]
    pub(in crate::sim) fn takes_from(&self) -> Nanos {
        self.egress.free_at()
    }

    /// A packet of a QP leaves its queue.
    pub(in crate::sim) fn leaves(&mut self, packet: Packet, now: Nanos) {
        let (takes, earliest) = self.look_up(packet.qp, EGRESS, &packet, now);
        let done = self.egress.begin(packet, takes, earliest, now);
        self.note_done(packet.qp, EGRESS, done);
    }

    /// Number of packets that have left their queue, and are not on the cable yet.
    pub(in crate::sim) const fn leaving(&self) -> usize {
        self.egress.packets()
    }

    /// Time at which the next packet is to go on the cable.
    #[inline]
    pub(in crate::sim) fn next_egress(&self) -> Option<Nanos> {
        self.egress.next_at()
    }

    /// The next packet that is to go on the cable now.
    pub(in crate::sim) fn take_egress(&mut self, now: Nanos) -> Option<Packet> {
        self.egress.take(now)
    }

    /// A packet for a QP comes from the cable.
    pub(in crate::sim::nic) fn arrives(&mut self, packet: Packet, qp: u32, now: Nanos) {
        let (takes, earliest) = self.look_up(qp, INGRESS, &packet, now);
        let done = self.ingress.begin(packet, takes, earliest, now);
        self.note_done(qp, INGRESS, done);
    }

    /// Time at which the next packet is to go on to the transport.
    #[inline]
    pub(in crate::sim::nic) fn next_ingress(&self) -> Option<Nanos> {
        self.ingress.next_at()
    }

    /// The next packet that is to go on to the transport now.
    pub(in crate::sim::nic) fn take_ingress(&mut self, now: Nanos) -> Option<Packet> {
        self.ingress.take(now)
    }
}
