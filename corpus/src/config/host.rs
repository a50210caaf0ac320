//! A host of the test: its NIC, addresses, RoCE parameters and, on hardware, where it is.

use super::{Cidr, Offload, fields, words::words};
use serde::{Deserialize, Serialize};

/// One of the two hosts. Lumina, Listing 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Name of a NIC profile, or the path of one; resolved by the testbed.
    pub nic: String,
    /// Addresses, at least one. With `multi-gid`, connection i uses address i modulo their number.
    pub ip_list: Vec<Cidr>,
    /// Facts of a physical testbed.
    pub physical: Physical,
    /// Switches of the RoCE stack.
    pub roce: RoceParameters,
    /// Traffic class of the data that this host sends; absent means class 0 for all.
    pub traffic_class: Option<TrafficClass>,
    /// Transmission selection between traffic classes; absent means that the NIC's own stays.
    pub ets: Option<Ets>,
    /// Flows that the NIC's own switch forwards; absent means that the NIC does not switch.
    pub offload: Option<Offload>,
}

impl Host {
    /// Profile of a host that names none.
    pub const DEFAULT_NIC: &'static str = "reference";

    /// A host with default parameters, one NIC and one address.
    #[must_use]
    pub fn new(nic: impl Into<String>, address: Cidr) -> Self {
        Self {
            nic: nic.into(),
            ip_list: vec![address],
            physical: Physical::default(),
            roce: RoceParameters::default(),
            traffic_class: None,
            ets: None,
            offload: None,
        }
    }
}

/// Where a host is on a physical testbed. Lumina's keys, kept so that they round trip; nothing in
/// a simulated test reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Physical {
    /// Network interface (`enp4s0`).
    pub if_name: Option<String>,
    /// Port of the switch that the NIC is cabled to.
    pub switch_port: Option<u16>,
    /// PCI address (`0000:04:00.0`).
    pub pci_addr: Option<String>,
    /// RDMA device (`mlx5_0`).
    pub ib_device: Option<String>,
    /// Port of the RDMA device, from 1.
    pub ib_port: Option<u8>,
    /// Host name or address of the management network.
    pub control_ip: Option<String>,
    /// Working directory on the host.
    pub workspace: Option<String>,
}

/// Network stack settings of a host. Lumina, Listing 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoceParameters {
    /// DCQCN reaction point: slow down on CNPs.
    pub dcqcn_rp_enable: bool,
    /// DCQCN notification point: answer ECN marks with CNPs.
    pub dcqcn_np_enable: bool,
    /// Shortest time between two CNPs, in µs; see [`fields::MIN_TIME_BETWEEN_CNPS`].
    pub min_time_between_cnps: u32,
    /// NVIDIA's adaptive retransmission.
    pub adaptive_retrans: bool,
    /// NVIDIA's slow restart after losses.
    pub slow_restart: bool,
    /// Loss recovery, the same at both hosts.
    pub loss_recovery: LossRecovery,
}

words! {
    /// Loss recovery of a host's connections.
    LossRecovery:
    /// Go-back-N (IBA vol. 1, 9.7.5): everything from a missing packet on is repeated.
    GoBackN "go-back-n",
    /// Selective repeat: a missing packet is repeated, and no other. A NIC needs a reorder engine for it.
    SelectiveRepeat "selective-repeat";
}

impl Default for RoceParameters {
    /// DCQCN on at both ends with NVIDIA's interval; vendor extensions to recovery off.
    fn default() -> Self {
        Self {
            dcqcn_rp_enable: true,
            dcqcn_np_enable: true,
            min_time_between_cnps: fields::MIN_TIME_BETWEEN_CNPS.default as u32,
            adaptive_retrans: false,
            slow_restart: false,
            loss_recovery: LossRecovery::GoBackN,
        }
    }
}

/// Traffic class (0 to 7) of a host's data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrafficClass {
    /// One class for all connections.
    Same(u8),
    /// One class for each connection, in order.
    PerConnection(Vec<u8>),
}

impl TrafficClass {
    /// The class of a connection (relative QPN, from 1); none if a list is too short for it.
    #[must_use]
    pub fn of(&self, qpn: u32) -> Option<u8> {
        match self {
            Self::Same(class) => Some(*class),
            Self::PerConnection(classes) => classes.get(usize::try_from(qpn.checked_sub(1)?).ok()?).copied(),
        }
    }

    /// All classes in use, in no particular order, possibly repeated.
    #[must_use]
    pub fn classes(&self) -> &[u8] {
        match self {
            Self::Same(class) => std::slice::from_ref(class),
            Self::PerConnection(classes) => classes,
        }
    }
}

/// Enhanced transmission selection (IEEE 802.1Qaz): strict classes first, then weighted shares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ets {
    /// Weight of class 0, 1, 2 ...; 0 for a class that is strict or not used.
    pub weights: Vec<u8>,
    /// Classes with strict priority; among them the highest number goes first.
    pub strict: Vec<u8>,
}

impl Ets {
    /// Returns true if a class has a strict priority or a weight.
    #[must_use]
    pub fn serves(&self, class: u8) -> bool {
        self.strict.contains(&class) || self.weights.get(usize::from(class)).is_some_and(|w| *w > 0)
    }
}
