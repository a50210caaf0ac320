//! The analyzers, for the command line to list and explain.

use serde::Serialize;

/// Description of one analyzer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct About {
    /// Name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Input that it needs beside the trace.
    pub needs: &'static str,
    /// Explanation for the reader of its remarks.
    pub explanation: &'static str,
}

/// Declares the analyzers, each with its description.
macro_rules! analyzers {
    ($($(#[$doc:meta])* $analyzer:ident { $($description:tt)* })*) => {
        /// An analyzer of a test: it measures, and holds NICs to its rules.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        pub enum Analyzer {
            $($(#[$doc])* $analyzer,)*
        }

        impl Analyzer {
            /// Description of the analyzer.
            pub const fn about(self) -> About {
                match self { $(Self::$analyzer => About { $($description)* },)* }
            }
        }
    };
}

analyzers! {
    /// Requester and responder of the reliable connection.
    GoBackN {
        name: "go-back-n",
        summary: "holds requester and responder to the go-back-N state machines",
        needs: "a trace; a configuration, to judge time-outs against T and 4T and retries against their budgets",
        explanation: "Follows each connection through three transition tables: requests of the requester, ACKs and \
            NAKs of the responder, and responses to Reads. A packet counts for its receiver only after its delivery, \
            and answers may cross it on the way: behaviour that a conforming NIC could have shown is no anomaly.",
    }

    /// Requester and responder that repeat selectively.
    SelectiveRepeat {
        name: "selective-repeat",
        summary: "holds requester and responder to selective repeat, where the test asks for it",
        needs: "a trace and the configuration of a test with `loss-recovery = \"selective-repeat\"`",
        explanation: "Follows each PSN through two transition tables: at the end that sends it, and at the end that receives it. A \
            receiver asks for a packet once, and only after a later one; a requester sends again what was asked for, and \
            nothing else until its timer expires.",
    }

    /// Packets that overtake each other.
    Reordering {
        name: "reordering",
        summary: "measures how far packets were reordered, and NAKs and retransmissions of packets that were not lost",
        needs: "a trace",
        explanation: "Share, extent, late time and n-reordering of the packets of each direction of a connection as they left the \
            switch (RFC 4737), first transmissions only. A NAK or retransmission is spurious if the last transmission of its \
            packet left the switch intact. It measures and does not judge.",
    }

    /// Phases of retransmissions.
    Retransmission {
        name: "retransmission",
        summary: "divides each retransmission into NACK generation and NACK reaction, or time-out",
        needs: "a trace",
        explanation: "Generation is the time from the next delivered packet after a loss to the NACK, reaction from \
            the NACK to the first retransmitted packet; a Read's NACK is its re-issued request. Times are taken at the \
            switch: each phase includes half a round trip. It measures and does not judge.",
    }

    /// Congestion notification.
    Cnp {
        name: "cnp",
        summary: "compares CNPs with ECN marks",
        needs: "a trace; a configuration, to judge the interval between CNPs",
        explanation: "Every CNP needs a delivered ECN-marked packet (or an out-of-order one, as NICs that treat loss \
            as congestion notify those too); a host that receives marks sends CNPs; CNPs to one QP keep the \
            configured interval, and a later mark is answered. The scope (QP, destination address, port) and the \
            interval of a host's CNPs are inferred from marks and CNPs alone.",
    }

    /// Hardware counters.
    Counters {
        name: "counters",
        summary: "compares hardware counters with the trace",
        needs: "a result folder with counters of both hosts",
        explanation: "Each counter of known meaning increases by the number of its events in the trace. Counters of \
            unknown meaning that increased are listed, not judged.",
    }

    /// The receiver's memory.
    Data {
        name: "data",
        summary: "compares the receiver's memory with the data sent",
        needs: "a result folder of a testbed that reads the hosts' memory",
        explanation: "Every byte of a completed message is written once and unchanged; no byte of an incomplete \
            message is written twice. Only this analyzer sees a Write that is executed twice.",
    }

    /// Completions.
    Messages {
        name: "messages",
        summary: "message completion times and goodput of each QP, and requests that never complete",
        needs: "completions; a configuration, to know which are missing",
        explanation: "Mean, median, 99th percentile and longest message completion time, and goodput, by QP. A \
            connection without a failed request has as many completions as messages, if its ACK timer is on. A success \
        needs an acknowledgement in the trace, and a remote error a NAK.",
    }

    /// Rewritten requests.
    Rewritten {
        name: "rewritten",
        summary: "finds rewritten requests that a responder accepts and must not",
        needs: "a trace and the configuration of a test that rewrites one field of a connection's packets",
        explanation: "What follows a rewritten packet is not held to go-back-N. A request that leaves the switch with \
            another partition key must be dropped, one with another R_Key or length refused: an ACK or response that \
            covers it before it was sent again as it should be accepts it.",
    }

    /// The hosts' flow tables.
    FlowTable {
        name: "flow-table",
        summary: "follows the entries of the NICs' flow tables, and their links",
        needs: "a result folder of a testbed that logs operations on flow tables, and the configuration of the test",
        explanation: "An entry is created when its flow is offloaded, once, and deleted when its connection was idle for \
            max-idle-ms. One that had a message in nine tenths of that time before was in use: its packets then go through \
            software. All connections that were in use for long lose theirs, or some, now and then. A test whose link went down \
            is not judged otherwise.",
    }

    /// The price of flow tables.
    OffloadCost {
        name: "offload-cost",
        summary: "compares tests with flow tables with fewer flows, and connections with each other",
        needs: "a test with a flow table that was run, without losses and events; the same with fewer flows",
        explanation: "A connection of a paced test whose median message takes three times as long as those of the others; goodput or \
            latency that is worse by 13 % or 27 % than with nine tenths of the flows, or, after flows were removed, than with \
            the flows that are left from the start; an operation that takes three times as long as on the smallest table. \
            An oracle: judges tests.",
    }

    /// The hosts' logs.
    HostLog {
        name: "host-log",
        summary: "reads the hosts' logs for crashes, warnings and hangs",
        needs: "a result folder of a testbed that reads them",
        explanation: "Oops, BUG, panic and WARN; hung task, soft lockup and RCU stall. A fault is named by its function, \
            without offset: that of the instruction pointer, or else the innermost caller that does not only wait. A \
            test whose host crashed is not judged otherwise. A program or host that every run of a test loses is \
            lost because of the test. Reports of the agents are in the log too, such as completions without a posted \
            request.",
    }

    /// Slow NACKs.
    Latency {
        name: "latency",
        summary: "finds slow NACKs and slow retransmissions after NACKs",
        needs: "a test that was run",
        explanation: "Measures generation and reaction of each NACK without queueing: behind other packets on the \
            slowest link, behind an uninterrupted train of the sender, behind other connections that recover at the \
            same time. An oracle: judges tests.",
    }

    /// Goodput under reordering.
    ReorderCollapse {
        name: "reorder-collapse",
        summary: "compares goodput under reordering with that over the slowest path alone",
        needs: "a test that was run, and its run over the slowest path alone",
        explanation: "Where packets overtook each other and none was lost, goodput should stay near that of the slowest path: less \
            than half of it is a collapse. Go-back-N collapses by its nature: the finding then says how much reordering the \
            NIC takes. An oracle: judges tests.",
    }

    /// Uninvolved connections.
    NoisyNeighbor {
        name: "noisy-neighbor",
        summary: "compares uninvolved connections with the same test without events",
        needs: "a test that was run, and its run without events",
        explanation: "Compares message completion times of uninvolved connections (without events) with those in \
            the same test without any events. Delays that all packets of the test explain on the slowest link, \
            ACK timers too short for the path, and bursts beyond the receive buffer are excused. An oracle: judges \
            tests.",
    }

    /// Pairs of different NICs.
    Interoperability {
        name: "interoperability",
        summary: "compares the discards of two different NICs with those of equal NICs",
        needs: "a test that was run, and the same between two NICs of each kind",
        explanation: "Discards in a host's counters, where neither NIC discards packets of its own kind in the same \
            test. Without a pair of equal NICs on the testbed, it reports the discards as unexplained. An oracle: \
            judges tests.",
    }

    /// Traffic classes.
    Sharing {
        name: "sharing",
        summary: "finds traffic classes that do not get the bandwidth that others leave idle",
        needs: "a test that was run with transmission selection, and the same without",
        explanation: "In the middle of a message, while no other connection of the host sends, the link is idle no \
            longer than in the same test without transmission selection. Connections slowed down by CNPs or losses are \
            excluded. An oracle: judges tests.",
    }

    /// Copies and dummies.
    Mitigation {
        name: "mitigation",
        summary: "compares tests with copies of packets, or with dummies, with the same losses without them",
        needs: "a test that was run with [network.repeat] or dummy-headers, and the same without",
        explanation: "A connection is harmed that completes without copies and dummies, and with them fails at a copy of \
            a NAK with retries left, has wrong data, has more time-outs that no loss explains, or takes half as long again \
            for its median message as the added packets take. What the losses of the test explain is no harm: a dummy can \
            be lost as well. An oracle: judges tests.",
    }

    /// Tests that never end.
    End {
        name: "end",
        summary: "finds tests that never end",
        needs: "a testbed that stops them",
        explanation: "A test that exceeds the testbed's limit of packets, because its QPs retransmit for ever. An \
            oracle: judges tests.",
    }
}
