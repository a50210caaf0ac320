//! NVIDIA ConnectX and BlueField: `mlx5_ib` on `mlx5_core`.

use corpus::RoceSetting;

use super::super::roots::Root;
use super::place::{Place, Radix};
use super::row::{Counter, Family, Group, Judged, Setting};

const PORT: &str = "drivers/infiniband/core/sysfs.c, drivers/infiniband/hw/mlx5/mad.c";
const HW: &str = "drivers/infiniband/hw/mlx5/counters.c";
const ETHTOOL: &str = "drivers/net/ethernet/mellanox/mlx5/core/en_stats.c";
const CONGESTION: &str = "drivers/infiniband/hw/mlx5/cong.c";
const OFED: &str = "MLNX_OFED (out of tree)";

const fn port(name: &'static str, judged: Judged, meaning: &'static str) -> Counter {
    Counter { group: Group::Port, name, judged, meaning, source: PORT }
}

const fn hw(name: &'static str, judged: Judged, meaning: &'static str) -> Counter {
    Counter { group: Group::Hw, name, judged, meaning, source: HW }
}

const fn ethtool(name: &'static str, judged: Judged, meaning: &'static str) -> Counter {
    Counter { group: Group::Ethtool, name, judged, meaning, source: ETHTOOL }
}

const fn ofed(path: &'static str) -> Place {
    Place { root: Root::Sys, path, radix: Radix::Decimal, apply: None, source: OFED }
}

pub(super) const FAMILY: Family = Family {
    name: "mlx5",
    drivers: &["mlx5_core", "mlx5_core.sf"],
    own_file: None,
    named_in: "drivers/net/ethernet/mellanox/mlx5/core/main.c, drivers/net/ethernet/mellanox/mlx5/core/sf/dev/driver.c",
    firmware: "drivers/infiniband/hw/mlx5/main.c",
    counters: &[
        port("port_xmit_packets", Judged::As("packets-sent"), "packets sent by the port"),
        port("port_rcv_packets", Judged::As("packets-delivered"), "packets received by the port"),
        hw("packet_seq_err", Judged::As("sequence-naks-heard"), "sequence NAKs received by requesters"),
        hw("out_of_sequence", Judged::As("sequence-naks-sent"), "packets out of sequence at responders"),
        hw("duplicate_request", Judged::As("duplicate-requests"), "duplicate requests at responders"),
        hw(
            "implied_nak_seq_err",
            Judged::As("implied-naks"),
            "implied NAKs: responses out of sequence at requesters",
        ),
        hw("local_ack_timeout_err", Judged::As("timeouts"), "expiries of ACK timers"),
        hw("rnr_nak_retry_err", Judged::As("rnr-naks-heard"), "RNR NAKs received by requesters"),
        hw(
            "np_ecn_marked_roce_packets",
            Judged::As("marked-delivered"),
            "RoCE packets received with an ECN mark",
        ),
        hw("np_cnp_sent", Judged::As("cnps-sent"), "CNPs sent"),
        hw("rp_cnp_handled", Judged::As("cnps-delivered"), "CNPs that slowed a sender down"),
        hw("rp_cnp_ignored", Judged::Recorded, "CNPs received and ignored"),
        hw("rx_icrc_encapsulated", Judged::As("corrupt-received"), "RoCE packets received with a wrong ICRC"),
        hw("out_of_buffer", Judged::Discards, "packets dropped for lack of a Receive"),
        hw("roce_adp_retrans", Judged::Recorded, "adaptive retransmissions"),
        hw("roce_adp_retrans_to", Judged::Recorded, "time-outs of adaptive retransmission"),
        hw("roce_slow_restart", Judged::Recorded, "slow restarts"),
        hw("roce_slow_restart_cnps", Judged::Recorded, "CNPs that slow restart made"),
        hw("roce_slow_restart_trans", Judged::Recorded, "changes of state of slow restart"),
        ethtool("rx_discards_phy", Judged::Discards, "packets discarded at the port for lack of buffers"),
        ethtool(
            "rx_out_of_buffer",
            Judged::Discards,
            "packets dropped for lack of a receive buffer of the network device",
        ),
        ethtool("rx_prio{priority}_pause", Judged::Pauses, "PFC pauses received, where PFC is on"),
        ethtool("tx_prio{priority}_pause", Judged::Pauses, "PFC pauses sent, where PFC is on"),
        ethtool("rx_global_pause", Judged::Pauses, "pauses of the link received, where they are on"),
        ethtool("tx_global_pause", Judged::Pauses, "pauses of the link sent, where they are on"),
        ethtool("rx_vport_rdma_unicast_packets", Judged::Recorded, "unicast RDMA packets received"),
        ethtool("tx_vport_rdma_unicast_packets", Judged::Recorded, "unicast RDMA packets sent"),
    ],
    settings: &[
        Setting {
            key: RoceSetting::ReactionPoint,
            places: &[ofed("class/net/{netdev}/ecn/roce_rp/enable/{priority}")],
            otherwise: "Linux's mlx5 has no switch of it; use the driver of MLNX_OFED, or mlxconfig",
        },
        Setting {
            key: RoceSetting::NotificationPoint,
            places: &[ofed("class/net/{netdev}/ecn/roce_np/enable/{priority}")],
            otherwise: "Linux's mlx5 has no switch of it; use the driver of MLNX_OFED, or mlxconfig",
        },
        Setting {
            key: RoceSetting::CnpInterval,
            places: &[
                Place {
                    root: Root::Debug,
                    path: "mlx5/{function}/cc_params/np_min_time_between_cnps",
                    radix: Radix::Decimal,
                    apply: None,
                    source: CONGESTION,
                },
                ofed("class/net/{netdev}/ecn/roce_np/min_time_between_cnps"),
            ],
            otherwise: "the device lets nobody change its congestion control, or debugfs is not mounted: \
                        mount -t debugfs none /sys/kernel/debug",
        },
        Setting {
            key: RoceSetting::AdaptiveRetrans,
            places: &[],
            otherwise: "no interface of the kernel sets it; use \
                        mlxreg -d PCI_ADDRESS --reg_name ROCE_ACCL --set roce_adp_retrans_en=1",
        },
        Setting {
            key: RoceSetting::SlowRestart,
            places: &[],
            otherwise: "no interface of the kernel sets it; use \
                        mlxreg -d PCI_ADDRESS --reg_name ROCE_ACCL --set roce_slow_restart_en=1",
        },
    ],
    left_out: &[
        "The other files of `cc_params/` (drivers/infiniband/hw/mlx5/cong.c), such as `rp_ai_rate` and `np_cnp_dscp`: no test asks for \
         them.",
        "Counters `vport_*` of representors (drivers/infiniband/hw/mlx5/counters.c): tests run on the functions themselves.",
        "The optional counters `cc_rx_ce_pkts`, `cc_rx_cnp_pkts` and `cc_tx_cnp_pkts` (drivers/infiniband/hw/mlx5/counters.c): they \
         are off until `rdma statistic set` turns them on, and are recorded then.",
        "Counters of hw_counters are of the device's default counter set: QPs that `rdma statistic` binds to another one are not \
         in them.",
    ],
};
