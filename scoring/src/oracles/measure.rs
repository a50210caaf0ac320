//! Measures of a test.

macro_rules! measures {
    ($($measure:ident = $what:literal,)*) => {
        /// Something that is measured of a test; never negative, and larger is odder.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Measure {
            $(#[doc = $what] $measure,)*
        }

        impl Measure {
            /// Number of measures.
            pub const COUNT: usize = [$(Self::$measure),*].len();

            /// Description of the measured quantity.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$measure => $what,)* }
            }
        }
    };
}

measures! {
    InnocentSlowdown = "Slowdown of an uninvolved connection's slowest message against the same test without events",
    InnocentRepeats = "Retransmissions of uninvolved connections",
    AtOnce = "Connections in loss recovery at the same time, in a test with uninvolved connections",
    Discards = "Packets discarded by the hosts, counted or not",
    SlowestPhase = "Longest phase of a fast retransmission without queueing, in nanoseconds",
    Expiries = "Expiries of ACK timers",
    RetriesSpent = "Most expiries of an ACK timer without progress, divided by the configured retries",
    UnexplainedExpiries = "Expiries of ACK timers that no loss explains",
    BrokenTimers = "Time-outs and retries that differ from the configuration",
    BrokenRules = "Violations of go-back-N or of another rule of the reliable connection",
    Retransmissions = "Retransmissions",
    CounterDifference = "Sum of the differences between counters and the trace",
    CountersMoved = "Counters with events in the trace",
    BrokenNotifications = "CNPs, or missing CNPs, that do not match the ECN marks",
    Notifications = "ECN marks and CNPs",
    GoodputLost = "Goodput of the reference run divided by that of the test",
    Unevenness = "Payload of the busiest sixteenth of the test divided by the mean sixteenth",
    IdleShare = "Bandwidth available to a traffic class divided by the bandwidth that it used",
    Classes = "Weighted traffic classes with data",
    Silence = "Longest silence before further packets, in multiples of the longest configured wait",
    Stalls = "Stalls",
    Corruptions = "Messages not written to memory exactly once and unchanged",
    SpuriousRetransmissions = "Retransmissions of packets that were not lost",
    GoodputUnderReordering = "Goodput over the slowest path alone divided by that of the test",
    GoodputBesideFewerFlows = "Goodput with nine tenths of the flows divided by that of the test",
    SlowestFlow = "Median message of the slowest connection divided by that of the others, with a flow table",
    OperationSlowdown = "Time of an operation on a flow table divided by that on a small one",
    BrokenEntries = "Entries of flow tables that came or went as they should not, and links that went down",
    TableWork = "Entries of flow tables times masks, and operations on them",
    SlowestMessage = "Slowest completion of a message divided by the median one",
}
