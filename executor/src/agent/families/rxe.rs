//! RDMA over Ethernet in software: `rdma_rxe`.

use corpus::RoceSetting;

use super::row::{Counter, Family, Group, Judged, Setting};

const HW: &str = "drivers/infiniband/sw/rxe/rxe_hw_counters.c";

const NO_DCQCN: &str =
    "rdma_rxe has no DCQCN: no CNP is among its opcodes (drivers/infiniband/sw/rxe/rxe_opcode.c)";
const NVIDIA_ALONE: &str = "NVIDIA NICs alone have it";

const fn hw(name: &'static str, judged: Judged, meaning: &'static str) -> Counter {
    Counter { group: Group::Hw, name, judged, meaning, source: HW }
}

const fn without(key: RoceSetting, otherwise: &'static str) -> Setting {
    Setting { key, places: &[], otherwise }
}

pub(super) const FAMILY: Family = Family {
    name: "rxe",
    drivers: &[],
    own_file: Some("parent"),
    named_in: "drivers/infiniband/sw/rxe/rxe_verbs.c",
    firmware: "",
    counters: &[
        hw("sent_pkts", Judged::As("packets-sent"), "packets handed to the network device"),
        hw(
            "rcvd_pkts",
            Judged::As("packets-delivered"),
            "packets received, behind the check of headers and ICRC",
        ),
        hw("duplicate_request", Judged::As("duplicate-requests"), "duplicate requests at responders"),
        hw(
            "out_of_seq_request",
            Judged::As("sequence-naks-sent"),
            "requests out of sequence that a responder NAKs",
        ),
        hw(
            "rcvd_seq_err",
            Judged::As("sequence-naks-with-progress"),
            "sequence NAKs that a requester acts on",
        ),
        hw("rcvd_rnr_err", Judged::As("rnr-naks-heard"), "RNR NAKs that a requester acts on"),
        hw("completer_retry_err", Judged::As("retransmissions"), "retries of a requester"),
        hw("send_rnr_err", Judged::Recorded, "RNR NAKs sent"),
        hw("ack_deferred", Judged::Recorded, "packets handed to the task of a requester"),
        hw("retry_exceeded_err", Judged::Recorded, "requests whose retries were used up"),
        hw("retry_rnr_exceeded_err", Judged::Recorded, "requests whose retries after RNR NAKs were used up"),
        hw("send_err", Judged::Recorded, "packets that the network device did not take"),
        hw("link_downed", Judged::Recorded, "times that the port went down"),
        hw("rdma_sends", Judged::Recorded, "Sends completed"),
        hw("rdma_recvs", Judged::Recorded, "Receives completed"),
    ],
    settings: &[
        without(RoceSetting::ReactionPoint, NO_DCQCN),
        without(RoceSetting::NotificationPoint, NO_DCQCN),
        without(RoceSetting::CnpInterval, NO_DCQCN),
        without(RoceSetting::AdaptiveRetrans, NVIDIA_ALONE),
        without(RoceSetting::SlowRestart, NVIDIA_ALONE),
    ],
    left_out: &[
        "Counters of the network device below: `ethtool -S` has those of its driver, whatever that is.",
        "`counters/`: rdma_rxe answers no management packets, from which the kernel would fill them \
         (drivers/infiniband/core/sysfs.c).",
    ],
};
