//! Measurements of the papers, experiment by experiment.

mod anomalies;
mod cnp;
mod corruption;
mod flow_table;
mod latency;
mod ping_pong;
mod reorder;
mod testbed;
mod timers;

use super::Experiment;

pub(super) use latency::by_size;
pub use testbed::HARDWARE;

/// Every experiment, in the order of the papers.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "nack-latency",
        title: "Latency of fast retransmission, one QP, one message in flight",
        claims: &[latency::PHASES],
        formulas: &[],
    },
    Experiment {
        name: "message-size",
        title: "Latency of fast retransmission by message size, fifth packet lost",
        claims: &[latency::SIZES],
        formulas: &[],
    },
    Experiment {
        name: "timeouts",
        title: "Time-outs, timeout = 14, retry_cnt = 7, tail packets lost seven times",
        claims: &[timers::TIMEOUTS],
        formulas: &[],
    },
    Experiment {
        name: "retries",
        title: "Retries until the QP fails, message by message",
        claims: &[timers::RETRIES],
        formulas: &[],
    },
    Experiment { name: "cnp", title: "CNP generation", claims: &[cnp::CLAIMS], formulas: &[] },
    Experiment {
        name: "ets",
        title: "Two QPs share the link, one of 50 packets of the first is marked",
        claims: &[anomalies::ETS],
        formulas: &[],
    },
    Experiment {
        name: "noisy-neighbor",
        title: "36 connections read, the first i lose their fifth packet",
        claims: &[anomalies::NEIGHBOURS],
        formulas: &[],
    },
    Experiment {
        name: "interop",
        title: "Five 100 KB Sends per QP, no events",
        claims: &[anomalies::PAIRS],
        formulas: &[],
    },
    Experiment {
        name: "counters",
        title: "Counters against the trace",
        claims: &[anomalies::COUNTERS],
        formulas: &[],
    },
    Experiment {
        name: "iteration",
        title: "Rounds of transmission",
        claims: &[testbed::ITERATIONS],
        formulas: &[],
    },
    Experiment {
        name: "corruption-theory",
        title: "Time-outs where links damage packets, by formula",
        claims: &[],
        formulas: corruption::THEORY,
    },
    Experiment {
        name: "corruption-testbed",
        title: "Two hosts post Writes of 1 KB in turn, 100,000 times, over a link that damages packets",
        claims: &[ping_pong::CLAIMS],
        formulas: &[],
    },
    Experiment {
        name: "reorder-throughput",
        title: "Five connections write over two paths of different length: throughput, of that over one path",
        claims: &[reorder::THROUGHPUT],
        formulas: reorder::THROUGHPUT_BY_FORMULA,
    },
    Experiment {
        name: "reorder-memory",
        title: "Memory of reorder engines on the NIC",
        claims: &[],
        formulas: reorder::MEMORY,
    },
    Experiment {
        name: "flow-table",
        title: "Flow tables of NICs: masks, entries, tunnels and flows against goodput and latency",
        claims: &[flow_table::EQUATIONS, flow_table::PREDICTIONS, flow_table::DIRECTIONS, flow_table::CLIFFS],
        formulas: flow_table::THEORY,
    },
    Experiment {
        name: "flow-table-symptoms",
        title: "Symptoms of flow tables in production, each at its threshold and just below",
        claims: &[flow_table::SYMPTOMS],
        formulas: &[],
    },
];
