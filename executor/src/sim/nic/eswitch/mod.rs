//! The NIC's own switch: each packet is looked up in the flow table that the host has offloaded, before it goes on the cable and after
//! it has come from there (ScalaCN §4.1 and §4.2).

mod credit;
mod lookups;

use corpus::Offload;
use dumper::Nanos;

use crate::profile::Eswitch as Profile;
use crate::sim::packet::Packet;
pub(in crate::sim) use credit::Credit;
use lookups::Lookups;

/// The switch of a NIC.
#[derive(Debug)]
pub(in crate::sim) struct Eswitch {
    /// Time of the look-up of a packet of each QP.
    qps: Vec<Costs>,
    /// Of a packet that no entry matches: all masks are looked through.
    others: Costs,
    egress: Lookups<Packet>,
    ingress: Lookups<Packet>,
}

/// Time of a look-up in each direction.
#[derive(Clone, Copy, Debug)]
struct Costs {
    egress: Nanos,
    ingress: Nanos,
}

impl Eswitch {
    /// The switch of a profile with a host's flow table, for so many QPs; none if its look-ups take no time.
    pub(in crate::sim::nic) fn new(profile: &Profile, offload: Option<&Offload>, qps: u32) -> Option<Self> {
        let offload = offload.filter(|_| profile.takes_time())?;
        let actions = profile.action_ns * u64::from(offload.actions);
        let costs = |egress: u32, ingress: u32| Costs {
            egress: Nanos(profile.egress_query_ns * u64::from(egress) + actions),
            ingress: Nanos(profile.ingress_query_ns * u64::from(ingress) + actions),
        };
        let (egress, ingress) = (offload.egress_masks, offload.ingress_masks);
        let of_qp = |qpn| {
            let mask = |masks| offload.place.mask_of(qpn, qps, masks);
            costs(mask(egress), mask(ingress))
        };
        Some(Self {
            qps: (1..=qps).map(of_qp).collect(),
            others: costs(egress, ingress),
            egress: Lookups::new(profile),
            ingress: Lookups::new(profile),
        })
    }

    fn costs(&self, qp: u32) -> Costs {
        self.qps.get(qp as usize).copied().unwrap_or(self.others)
    }

    /// Time from which on another packet can be taken out of the queues of QPs.
    #[inline]
    pub(in crate::sim) fn takes_from(&self) -> Nanos {
        self.egress.free_at()
    }

    /// A packet of a QP leaves its queue.
    pub(in crate::sim) fn leaves(&mut self, packet: Packet, now: Nanos) {
        let takes = self.costs(packet.qp).egress;
        self.egress.begin(packet, takes, now);
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
        let takes = self.costs(qp).ingress;
        self.ingress.begin(packet, takes, now);
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
