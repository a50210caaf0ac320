//! Intel E810: `irdma` on `ice`.

use corpus::RoceSetting;

use super::super::roots::Root;
use super::place::{Place, Radix};
use super::row::{Counter, Family, Group, Judged, Setting};

const HW: &str = "drivers/infiniband/hw/irdma/verbs.c";
const ETHTOOL: &str = "drivers/net/ethernet/intel/ice/ice_ethtool.c";

/// One switch for both ends of DCQCN, as Lumina sets it.
const DCQCN: Place = Place {
    root: Root::Config,
    path: "irdma/{device}/roce_dcqcn_enable",
    radix: Radix::Decimal,
    apply: None,
    source: "Intel's irdma (out of tree), configfs.c",
};

const NO_DCQCN: &str = "Linux's irdma keeps DCQCN off on every QP; with Intel's driver (out of tree), \
                        mkdir /sys/kernel/config/irdma/DEVICE before the agent starts";

const NVIDIA_ALONE: &str = "NVIDIA NICs alone have it";

const fn hw(name: &'static str, judged: Judged, meaning: &'static str) -> Counter {
    Counter { group: Group::Hw, name, judged, meaning, source: HW }
}

const fn ethtool(name: &'static str, judged: Judged, meaning: &'static str) -> Counter {
    Counter { group: Group::Ethtool, name, judged, meaning, source: ETHTOOL }
}

pub(super) const FAMILY: Family = Family {
    name: "irdma",
    drivers: &["ice"],
    own_file: None,
    named_in: "drivers/infiniband/hw/irdma/main.c, drivers/net/ethernet/intel/ice/ice_main.c",
    firmware: HW,
    counters: &[
        hw("RxECNMrkd", Judged::As("marked-delivered"), "packets received with an ECN mark"),
        hw("cnpSent", Judged::As("cnps-sent"), "CNPs sent; 32 bits"),
        hw("cnpHandled", Judged::As("cnps-delivered"), "CNPs that slowed a sender down; 32 bits"),
        hw("cnpIgnored", Judged::Recorded, "CNPs received and ignored; 32 bits"),
        hw("ip4InDiscards", Judged::Discards, "IPv4 packets discarded; 32 bits"),
        hw("ip6InDiscards", Judged::Discards, "IPv6 packets discarded; 32 bits"),
        hw("RxUDP", Judged::Recorded, "UDP packets received"),
        hw("TxUDP", Judged::Recorded, "UDP packets sent"),
        ethtool("rx_priority_{priority}_xoff.nic", Judged::Pauses, "PFC pauses received"),
        ethtool("tx_priority_{priority}_xoff.nic", Judged::Pauses, "PFC pauses sent"),
        ethtool("link_xoff_rx.nic", Judged::Pauses, "pauses of the link received"),
        ethtool("link_xoff_tx.nic", Judged::Pauses, "pauses of the link sent"),
        ethtool(
            "rx_dropped.nic",
            Judged::Recorded,
            "packets discarded at the port; analyzers go by names with discard, and take this for none",
        ),
        ethtool("rx_crc_errors.nic", Judged::Recorded, "frames received with a wrong FCS"),
    ],
    settings: &[
        Setting { key: RoceSetting::ReactionPoint, places: &[DCQCN], otherwise: NO_DCQCN },
        Setting { key: RoceSetting::NotificationPoint, places: &[DCQCN], otherwise: NO_DCQCN },
        Setting {
            key: RoceSetting::CnpInterval,
            places: &[],
            otherwise: "no interface of the kernel or of Intel's driver sets it",
        },
        Setting { key: RoceSetting::AdaptiveRetrans, places: &[], otherwise: NVIDIA_ALONE },
        Setting { key: RoceSetting::SlowRestart, places: &[], otherwise: NVIDIA_ALONE },
    ],
    left_out: &[
        "Parameters of the module `irdma`: Linux's has none, and those of Intel's (out of tree), such as `dcqcn_enable` and \
         `dcqcn_min_rate_MBps`, are read when it is loaded (mode 0444).",
        "`enable_roce` and `enable_iwarp` of devlink (Documentation/networking/devlink/ice.rst): they choose the protocol of the device, \
         and take it away while they do.",
        "Sequence NAKs, duplicates and time-outs: the driver has no counters of them.",
        "X722 (`i40e`): it has iWARP alone.",
    ],
};
