//! The analyzers, for the command line to list and explain.

use serde::Serialize;

use crate::gbn::{table, tables};
use crate::rules::Rule;

/// Description of one analyzer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Analyzer {
    /// Name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Input that it needs beside the trace.
    pub needs: &'static str,
    /// Explanation for the reader of its remarks.
    pub explanation: &'static str,
    /// Rules that it holds a NIC to.
    #[serde(skip)]
    pub rules: &'static [Rule],
}

/// Every analyzer.
pub const ALL: &[Analyzer] = &[
    Analyzer {
        name: "go-back-n",
        summary: "holds requester and responder to the go-back-N state machines",
        needs: "a trace; a configuration, to judge time-outs against T and 4T and retries against their budgets",
        explanation: "Follows each connection through four transition tables: what the requester sends, what the \
            responder acknowledges and NAKs, how Reads are answered, and when a Read is re-issued. A packet counts \
            for its receiver only once it was delivered, and an answer may cross it on the way, so that nothing is \
            called wrong that a conforming NIC could have done.",
        rules: &[
            Rule::NakAgain,
            Rule::NakWrongPsn,
            Rule::NakWithoutCause,
            Rule::NakMissing,
            Rule::AckBeyondData,
            Rule::AckRegresses,
            Rule::AckPassesRead,
            Rule::AckMissing,
            Rule::ReackMissing,
            Rule::RereadMissing,
            Rule::RetransmissionWithoutCause,
            Rule::ResumeLate,
            Rule::ResumeEarly,
            Rule::NakIgnored,
            Rule::PsnSkipped,
            Rule::RequestPosition,
            Rule::ReissueAddress,
            Rule::RnrWaitShort,
            Rule::RequestAfterFatalNak,
            Rule::RetryAfterFatalNak,
            Rule::MsnWrong,
            Rule::ResponseMsn,
            Rule::RnrUndelivered,
            Rule::ResponseGap,
            Rule::ResponseUnrequested,
            Rule::ResponsePosition,
            Rule::ResponseLength,
            Rule::RtoBelowMinimum,
            Rule::RtoAboveMaximum,
            Rule::RetriesBeyondBudget,
            Rule::RetriesBelowBudget,
            Rule::RnrRetriesBeyondBudget,
            Rule::RnrRetriesBelowBudget,
            Rule::RequestNeverAnswered,
            Rule::DeliveredYetMissing,
        ],
    },
    Analyzer {
        name: "retransmission",
        summary: "divides each retransmission into NACK generation and NACK reaction, or time-out",
        needs: "a trace",
        explanation: "Generation is the time from the next delivered packet after a loss to the NACK, reaction from \
            the NACK to the first repeated packet; a Read's NACK is its re-issued request. Times are the switch's: \
            each phase is off by half a round trip. It measures and does not judge.",
        rules: &[],
    },
    Analyzer {
        name: "cnp",
        summary: "compares CNPs with ECN marks",
        needs: "a trace; a configuration, to judge the interval between CNPs",
        explanation: "Every CNP needs a delivered ECN-marked packet (or an out-of-order one, as NICs that treat loss \
            as congestion notify those too); a host that receives marks sends CNPs; CNPs to one QP keep the \
            configured interval, and a mark that comes later than that is answered. By which scope (QP, destination \
            address, port) and interval a host limits its CNPs is inferred from marks and CNPs alone.",
        rules: &[
            Rule::EcnWithoutCnp,
            Rule::CnpWithoutEcn,
            Rule::CnpForm,
            Rule::CnpTooEarly,
            Rule::CnpWithheld,
        ],
    },
    Analyzer {
        name: "counters",
        summary: "compares hardware counters with the trace",
        needs: "a result folder with counters of both hosts",
        explanation: "Each counter of known meaning should move as often as the trace shows its cause. Counters that \
            moved and whose meaning is not known are listed, not judged.",
        rules: &[Rule::CounterDiffers],
    },
    Analyzer {
        name: "data",
        summary: "compares the receiver's memory with the data sent",
        needs: "a result folder of a testbed that reads the hosts' memory",
        explanation: "Every byte of a message that completes is written once and as the sender has it; of a message \
            that does not complete no byte is written twice. A Write that is executed again shows here and nowhere else.",
        rules: &[Rule::DeliveredNotOnce, Rule::DeliveredWrong],
    },
    Analyzer {
        name: "messages",
        summary: "message completion times and goodput of each QP, and requests that never complete",
        needs: "completions; a configuration, to know which are missing",
        explanation: "Mean, median, 99th percentile and longest message completion time, and goodput, by QP. A \
            connection of which no request failed has as many completions as messages, if its timer can expire.",
        rules: &[Rule::CompletionMissing],
    },
    Analyzer {
        name: "host-log",
        summary: "reads the hosts' logs for crashes, warnings and hangs",
        needs: "a result folder of a testbed that reads them",
        explanation: "Oops, BUG, panic and WARN; hung task, soft lockup and RCU stall. A fault is named by the function \
            that it happened in, without offsets: the instruction's, or else the innermost caller that is no way of \
            waiting. Of a test whose host crashed nothing else is judged. A program or host that is lost each time that \
            the test is run is so because of it. What agents report stands there too, such as completions of what was not \
            posted.",
        rules: &[
            Rule::KernelCrashes,
            Rule::KernelWarns,
            Rule::KernelHangs,
            Rule::AgentEnds,
            Rule::HostSilent,
            Rule::CompletionUnfounded,
        ],
    },
    Analyzer {
        name: "latency",
        summary: "finds slow NACKs and slow retransmissions after NACKs",
        needs: "a test that was run",
        explanation: "Takes the generation and the reaction of each NACK, and leaves out what may have waited: behind \
            other packets on the slowest link, behind what its sender was sending without a break, behind other \
            connections that recover at the same time. An oracle: judges tests, in campaigns.",
        rules: &[Rule::SlowNack],
    },
    Analyzer {
        name: "noisy-neighbor",
        summary: "compares uninvolved connections with the same test without events",
        needs: "a test that was run, and its run without events",
        explanation: "Message completion times of connections that no event names, against the same connections' where \
            nothing happens to anyone. What all packets of the test together take on the slowest link is no reason, \
            nor is a time-out that is too short for the path, nor what a receiver cannot take. An oracle: judges \
            tests, in campaigns.",
        rules: &[Rule::InnocentSuffers],
    },
    Analyzer {
        name: "interoperability",
        summary: "compares the discards of two different NICs with those of equal NICs",
        needs: "a test that was run, and the same between two NICs of each kind",
        explanation: "Packets that a host's counters say it threw away, where neither NIC throws any away in the same \
            test with its own kind. Where a testbed has no such pair, it says that nothing explains them. An oracle: \
            judges tests, in campaigns.",
        rules: &[Rule::PairDiscards, Rule::DiscardsUnexplained],
    },
    Analyzer {
        name: "sharing",
        summary: "finds traffic classes that do not get the bandwidth that others leave idle",
        needs: "a test that was run with transmission selection, and the same without",
        explanation: "In the middle of a message, while nobody else of the host sends, the link stands idle no longer \
            than in the same test without transmission selection. Connections that CNPs or losses slow down are left \
            out. An oracle: judges tests, in campaigns.",
        rules: &[Rule::BandwidthWithheld],
    },
    Analyzer {
        name: "end",
        summary: "finds tests that never end",
        needs: "a testbed that stops them",
        explanation: "A test that goes on after so many packets that its QPs must be repeating themselves. An oracle: \
            judges tests, in campaigns.",
        rules: &[Rule::NeverEnds],
    },
];

/// The analyzer of a name.
pub fn find(name: &str) -> Option<&'static Analyzer> {
    ALL.iter().find(|analyzer| analyzer.name == name)
}

/// Returns true if a rule belongs to the go-back-N machines.
pub(crate) fn of_go_back_n(rule: Rule) -> bool {
    ALL[0].rules.contains(&rule)
}

/// The go-back-N tables, each with its title, as text and as a Mermaid state diagram.
pub fn go_back_n_tables() -> [(&'static str, String, String); 3] {
    macro_rules! show {
        ($title:literal, $machine:ident) => {
            ($title, table::describe(tables::$machine::ROWS), table::diagram(tables::$machine::ROWS))
        };
    }
    [
        show!("Requester: what it sends", requester),
        show!("Responder: what it acknowledges", responder),
        show!("Responder: how it answers Reads and atomics", answers),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_belongs_to_one_analyzer() {
        for rule in Rule::ALL {
            let owners = ALL.iter().filter(|analyzer| analyzer.rules.contains(rule)).count();
            assert_eq!(owners, 1, "{}", rule.name());
        }
    }
}
