//! Broadcom NetXtreme-E: `bnxt_re` on `bnxt_en`.

use corpus::RoceSetting;

use super::super::roots::Root;
use super::place::{Place, Radix};
use super::row::{Counter, Family, Group, Judged, Setting};

const HW: &str = "drivers/infiniband/hw/bnxt_re/hw_counters.c";
const ETHTOOL: &str = "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c";

const NVIDIA_ALONE: &str = "NVIDIA NICs alone have it";

const fn hw(name: &'static str, judged: Judged, meaning: &'static str) -> Counter {
    Counter { group: Group::Hw, name, judged, meaning, source: HW }
}

const fn ethtool(name: &'static str, judged: Judged, meaning: &'static str) -> Counter {
    Counter { group: Group::Ethtool, name, judged, meaning, source: ETHTOOL }
}

pub(super) const FAMILY: Family = Family {
    name: "bnxt_re",
    drivers: &["bnxt_en"],
    own_file: None,
    named_in: "drivers/infiniband/hw/bnxt_re/main.c, drivers/net/ethernet/broadcom/bnxt/bnxt.h",
    firmware: "drivers/infiniband/hw/bnxt_re/ib_verbs.c",
    counters: &[
        hw("seq_err_naks_rcvd", Judged::As("sequence-naks-heard"), "sequence NAKs received by requesters"),
        hw("rnr_naks_rcvd", Judged::As("rnr-naks-heard"), "RNR NAKs received by requesters"),
        hw("dup_req", Judged::As("duplicate-requests"), "duplicate requests at responders"),
        hw("rx_ecn_marked_pkts", Judged::As("marked-delivered"), "RoCE packets received with an ECN mark"),
        hw("tx_cnp_pkts", Judged::As("cnps-sent"), "CNPs sent"),
        hw("rx_cnp_pkts", Judged::As("cnps-delivered"), "CNPs received"),
        hw("to_retransmits", Judged::Recorded, "retransmissions after time-outs"),
        hw("missing_resp", Judged::Recorded, "responses missed by requesters"),
        hw("max_retry_exceeded", Judged::Recorded, "requests whose retries were used up"),
        hw("oos_drop_count", Judged::Recorded, "packets dropped because they were out of sequence"),
        hw("rx_roce_discards", Judged::Discards, "RoCE packets discarded"),
        hw("rx_out_of_buffer", Judged::Discards, "RoCE packets dropped for lack of a Receive"),
        hw("rx_roce_errors", Judged::Recorded, "RoCE packets received with an error"),
        hw("tx_roce_discards", Judged::Recorded, "RoCE packets discarded before they were sent"),
        hw("rx_pkts", Judged::Recorded, "unicast packets received"),
        hw("tx_pkts", Judged::Recorded, "unicast packets sent"),
        hw("rx_roce_only_pkts", Judged::Recorded, "RoCE packets received"),
        hw("rx_roce_good_pkts", Judged::Recorded, "RoCE packets received without an error"),
        hw("tx_roce_only_pkts", Judged::Recorded, "RoCE packets sent"),
        ethtool("rx_stat_discard", Judged::Discards, "packets discarded at the port"),
        ethtool(
            "rx_pfc_ena_frames_pri{priority}",
            Judged::Recorded,
            "PFC frames received that name the priority",
        ),
        ethtool(
            "tx_pfc_ena_frames_pri{priority}",
            Judged::Recorded,
            "PFC frames sent that name the priority",
        ),
        ethtool("rx_pause_frames", Judged::Pauses, "pauses of the link received"),
        ethtool("tx_pause_frames", Judged::Pauses, "pauses of the link sent"),
        ethtool(
            "continuous_roce_pause_events",
            Judged::Pauses,
            "pauses of RoCE that continue, as the firmware tells of them",
        ),
        ethtool("resume_roce_pause_events", Judged::Pauses, "ends of these"),
        ethtool("rx_fcs_err_frames", Judged::Recorded, "frames received with a wrong FCS"),
    ],
    settings: &[
        Setting {
            key: RoceSetting::ReactionPoint,
            places: &[
                Place {
                    root: Root::Debug,
                    path: "bnxt_re/{function}/cc_config/enable_cc",
                    radix: Radix::Decimal,
                    apply: None,
                    source: "drivers/infiniband/hw/bnxt_re/debugfs.c (Linux after 6.12: commit 0eaed89c18ae)",
                },
                Place {
                    root: Root::Config,
                    path: "bnxt_re/{device}/ports/{port}/cc/ecn_enable",
                    radix: Radix::Hexadecimal,
                    apply: Some("apply"),
                    source: "Broadcom's bnxt_re (out of tree), configfs.c",
                },
            ],
            otherwise: "bnxt_re of Linux 6.12 has no switch of it; use a newer kernel with debugfs mounted, or with Broadcom's driver \
                        (out of tree) mkdir /sys/kernel/config/bnxt_re/DEVICE before the agent starts",
        },
        Setting {
            key: RoceSetting::NotificationPoint,
            places: &[],
            otherwise: "no interface sets it by itself: enable_cc and ecn_enable turn congestion control on, and no source says \
                        whether that decides on CNPs too",
        },
        Setting {
            key: RoceSetting::CnpInterval,
            places: &[],
            otherwise: "Linux's bnxt_re has no interface for it; Broadcom's driver (out of tree) has cc/min_time_bet_cnp in \
                        configfs, in a unit that its source does not name",
        },
        Setting { key: RoceSetting::AdaptiveRetrans, places: &[], otherwise: NVIDIA_ALONE },
        Setting { key: RoceSetting::SlowRestart, places: &[], otherwise: NVIDIA_ALONE },
    ],
    left_out: &[
        "Counters behind `res_` and of resources (`active_qps`, `watermark_mrs`; drivers/infiniband/hw/bnxt_re/hw_counters.c): they are \
         recorded, and no analyzer has a use for them.",
        "`to_retransmits`, `missing_resp` and `oos_drop_count` are not compared with the trace: no source says whether they count \
         events or packets.",
        "`rx_pfc_ena_frames_pri{priority}` are recorded: analyzers take counters with pause or xoff in their names for pauses.",
        "The other files of `cc_config/` and `cc/`: no test asks for them.",
    ],
};
