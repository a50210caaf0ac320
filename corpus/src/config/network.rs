//! The network between the hosts: losses at random, besides the events.

use serde::{Deserialize, Serialize};

use super::fields::{self, IntField};
use super::words::words;
use super::{ConnectionSet, ControlPacket, Path, Repeat, Role, Spray, SprayPackets};

/// `[network]`: packets that links lose at random, copies of packets, and paths. If a packet is lost is a function of the seed and of the packet
/// alone, so that a change to one connection moves no loss of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Losses; see [`fields::LOSS_PPB`].
    pub loss_ppb: u32,
    /// Dependence of the probability on the size of a packet.
    pub loss_model: LossModel,
    /// Size that `loss_ppb` is of; see [`fields::LOSS_BYTES`] and [`Network::reference_bytes`].
    pub loss_bytes: Option<u32>,
    /// Links of each direction, one behind the other; see [`fields::LINKS`].
    pub links: u8,
    /// Probability that a link loses packets at all; see [`fields::CORRUPTED_LINKS_PERCENT`].
    pub corrupted_links_percent: u8,
    /// Kinds of packets that can be lost.
    pub loss_packets: PacketKinds,
    /// Direction of the packets that can be lost.
    pub loss_direction: LossDirection,
    /// Connections whose packets can be lost.
    pub loss_qpn: ConnectionSet,
    /// Effect of a loss.
    pub loss_effect: LossEffect,
    /// Seed of the losses; that of the traffic if absent.
    pub seed: Option<u64>,
    /// Copies, before the losses.
    pub repeat: Repeat,
    /// Paths, behind the losses; none stands for one without delay. At most [`Path::MOST`].
    pub paths: Vec<Path>,
    /// How packets are spread over them.
    pub spray: Spray,
    /// Pause of a flow that begins another flowlet; see [`fields::FLOWLET_GAP_NS`].
    pub flowlet_gap_ns: u64,
    /// Packets that are spread.
    pub spray_packets: SprayPackets,
    /// Priority flow control on every link, all packets in one class: a receiver that runs out of buffer pauses the switch, and
    /// the switch the sender (IEEE 802.1Qbb).
    pub pfc: bool,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            loss_ppb: fields::LOSS_PPB.default as u32,
            loss_model: LossModel::PerBit,
            loss_bytes: None,
            links: fields::LINKS.default as u8,
            corrupted_links_percent: fields::CORRUPTED_LINKS_PERCENT.default as u8,
            loss_packets: PacketKinds::ALL,
            loss_direction: LossDirection::Both,
            loss_qpn: ConnectionSet::All,
            loss_effect: LossEffect::Drop,
            seed: None,
            repeat: Repeat::default(),
            paths: Vec::new(),
            spray: Spray::Flow,
            flowlet_gap_ns: fields::FLOWLET_GAP_NS.default,
            spray_packets: SprayPackets::All,
            pfc: false,
        }
    }
}

/// A number of [`Network`], for code that goes through all of them.
#[derive(Debug, Clone, Copy)]
pub struct NetworkField {
    /// Key and bounds.
    pub field: &'static IntField,
    /// Reads it; none if it is absent.
    pub get: fn(&Network) -> Option<u64>,
}

impl Network {
    /// Its numbers, in the order of the canonical text, the seed last.
    pub const NUMBERS: &[NetworkField] = &[
        NetworkField { field: &fields::LOSS_PPB, get: |network| Some(network.loss_ppb.into()) },
        NetworkField { field: &fields::LOSS_BYTES, get: |network| network.loss_bytes.map(u64::from) },
        NetworkField { field: &fields::LINKS, get: |network| Some(network.links.into()) },
        NetworkField {
            field: &fields::CORRUPTED_LINKS_PERCENT,
            get: |network| Some(network.corrupted_links_percent.into()),
        },
        NetworkField { field: &fields::SEED, get: |network| network.seed },
    ];

    /// Bytes of a packet, with frame check sequence, that `loss-ppb` is of: a full MIDDLE packet unless the test says
    /// otherwise (14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 4 ICRC, 4 FCS, and the MTU).
    #[must_use]
    pub fn reference_bytes(&self, mtu: u32) -> u32 {
        self.loss_bytes.unwrap_or(62 + mtu)
    }

    /// The same without losses.
    #[must_use]
    pub fn without_losses(&self) -> Self {
        let Self { repeat, spray, flowlet_gap_ns, spray_packets, pfc, .. } = *self;
        let (paths, seed) = (self.paths.clone(), self.seed.filter(|_| self.sprays()));
        Self { repeat, paths, spray, flowlet_gap_ns, spray_packets, pfc, seed, ..Self::default() }
    }

    /// The same without losses and paths: what is left leaves nothing to chance.
    #[must_use]
    pub fn without_chance(&self) -> Self {
        Self { repeat: self.repeat, pfc: self.pfc, ..Self::default() }
    }

    /// The same without paths.
    #[must_use]
    pub fn without_paths(&self) -> Self {
        let Self { spray, flowlet_gap_ns, spray_packets, .. } = Self::default();
        let seed = self.seed.filter(|_| self.loses());
        Self { paths: Vec::new(), spray, flowlet_gap_ns, spray_packets, seed, ..self.clone() }
    }

    /// The same over one path that is as slow as the slowest: the longest delay, the lowest rate.
    #[must_use]
    pub fn over_slowest_path(&self) -> Self {
        let delay_ns = self.longest_delay_ns();
        let limited = self.paths.iter().filter(|path| path.rate_gbps > 0);
        let narrowest = limited.min_by_key(|path| path.rate_gbps).copied().unwrap_or_default();
        let path = Path { delay_ns, weight: Path::default().weight, ..narrowest };
        Self { paths: vec![path], ..self.without_paths() }
    }

    /// Longest delay of a path, in ns; 0 without paths.
    #[must_use]
    pub fn longest_delay_ns(&self) -> u64 {
        self.paths.iter().map(|path| path.delay_ns).max().unwrap_or_default()
    }

    /// Returns true if a choice of paths is drawn.
    #[must_use]
    pub const fn sprays(&self) -> bool {
        self.paths.len() > 1 && !matches!(self.spray, Spray::RoundRobin)
    }

    /// Returns true if packets are lost at random or take paths that delay them.
    #[must_use]
    pub fn moves_packets(&self) -> bool {
        self.loses() || self.paths.iter().any(Path::delays)
    }

    /// Returns true if packets are lost at random.
    #[must_use]
    pub const fn loses(&self) -> bool {
        self.loss_ppb > 0
    }

    /// Returns true if any packet of a connection (relative QPN) can be lost.
    #[must_use]
    pub fn loses_on(&self, qpn: u32) -> bool {
        self.loses() && self.loss_qpn.contains(qpn)
    }

    /// Returns true if any packet of a connection (relative QPN) can be lost, or leave later.
    #[must_use]
    pub fn touches(&self, qpn: u32) -> bool {
        self.loses_on(qpn) || self.paths.iter().any(Path::delays)
    }
}

words! {
    /// Dependence of the probability of a loss on the size of a packet.
    LossModel:
        /// Each bit is damaged for itself: a packet of S bytes is lost with probability 1 - (1 - beta)^(S / S0), where
        /// beta is that of a packet of S0 bytes.
        PerBit "per-bit",
        /// Every packet is lost with the same probability.
        PerPacket "per-packet";
    /// Direction of the packets that can be lost.
    LossDirection:
        /// Both.
        Both "both",
        /// From the requester to the responder.
        ToResponder "to-responder",
        /// From the responder to the requester.
        ToRequester "to-requester";
    /// Effect of a loss.
    LossEffect:
        /// It does not arrive.
        Drop "drop",
        /// It arrives with a wrong ICRC.
        Corrupt "corrupt";
}

impl LossDirection {
    /// Returns true if packets towards a host can be lost.
    #[must_use]
    pub const fn has(self, towards: Role) -> bool {
        match self {
            Self::Both => true,
            Self::ToResponder => matches!(towards, Role::Responder),
            Self::ToRequester => matches!(towards, Role::Requester),
        }
    }
}

/// A set of kinds of packets, as events tell them apart: none stands for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PacketKinds(u8);

impl PacketKinds {
    /// Kinds with their names in files.
    pub const NAMES: &[(&str, Option<ControlPacket>)] = &[
        ("data", None),
        ("ack", Some(ControlPacket::Ack)),
        ("nak", Some(ControlPacket::Nak)),
        ("cnp", Some(ControlPacket::Cnp)),
        ("read-request", Some(ControlPacket::ReadRequest)),
    ];
    /// All kinds.
    pub const ALL: Self = Self((1 << Self::NAMES.len()) - 1);
    /// None.
    pub const NONE: Self = Self(0);

    /// Place of a kind in [`NAMES`](Self::NAMES).
    #[inline]
    #[must_use]
    pub const fn place(kind: Option<ControlPacket>) -> usize {
        match kind {
            None => 0,
            Some(packet) => 1 + packet as usize,
        }
    }

    /// The same with one more kind.
    #[must_use]
    pub const fn with(self, kind: Option<ControlPacket>) -> Self {
        Self(self.0 | 1 << Self::place(kind))
    }

    /// Returns true if the set has a kind.
    #[inline]
    #[must_use]
    pub const fn contains(self, kind: Option<ControlPacket>) -> bool {
        self.0 >> Self::place(kind) & 1 == 1
    }

    /// Its kinds with their names, in the order of [`NAMES`](Self::NAMES).
    pub fn named(self) -> impl Iterator<Item = (&'static str, Option<ControlPacket>)> {
        Self::NAMES.iter().copied().filter(move |(_, kind)| self.contains(*kind))
    }

    /// A bit for each kind, in the order of [`NAMES`](Self::NAMES).
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set with these bits; none if there are more than kinds.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits > Self::ALL.0 { None } else { Some(Self(bits)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_at_their_places() {
        for (at, (_, kind)) in PacketKinds::NAMES.iter().enumerate() {
            assert_eq!(PacketKinds::place(*kind), at);
            assert!(PacketKinds::ALL.contains(*kind) && !PacketKinds::NONE.contains(*kind));
        }
        assert_eq!(ControlPacket::NAMES.len() + 1, PacketKinds::NAMES.len());
    }
}
