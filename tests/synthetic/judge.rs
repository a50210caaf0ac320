//! Verdict of the analyzers on a tape.

use corpus::TestConfig;
use dumper::observation::{CompletionStatus, Delivery};
use dumper::{Completion, HostCounters, Nanos, Observation};
use scoring::{Options, analyze};
use tests::synthetic::{self, Dice, Tape, counters};

/// Random delays under which a conforming twin stays silent.
const STRETCHES: u64 = 100;

/// Judge of a tape, with its options.
pub(crate) struct Judge {
    pub(crate) config: TestConfig,
    /// Packets that the requester's and the responder's host count as discarded.
    pub(crate) discards: [Option<u64>; 2],
    /// Counters besides that one, under vendors' names.
    pub(crate) counted: [&'static [(&'static str, u64)]; 2],
    /// Completions that the hosts report, if any.
    pub(crate) completions: Option<Vec<Completion>>,
    pub(crate) deliveries: Option<Vec<Delivery>>,
}

impl Judge {
    /// MTU 1024, timeout 14 (T = 67.1 ms), CNPs 50 µs apart by QP, hosts that discard nothing.
    pub(crate) fn new() -> Self {
        let mut config = TestConfig::default();
        config.traffic.min_retransmit_timeout = 14;
        for host in [&mut config.requester, &mut config.responder] {
            host.roce.min_time_between_cnps = 50;
        }
        Self { config, discards: [Some(0); 2], counted: [&[]; 2], completions: None, deliveries: None }
    }

    /// With the completion of the next message of the first connection.
    #[must_use]
    pub(crate) fn completing(mut self, bytes: u64, status: CompletionStatus) -> Self {
        let completions = self.completions.get_or_insert_default();
        let message = completions.len() as u32 + 1;
        let (posted_ns, completed_ns) = (Nanos(0), Nanos(1));
        completions.push(Completion { connection: 1, message, posted_ns, completed_ns, bytes, status });
        self
    }

    pub(crate) fn observed(&self, tape: &Tape) -> Observation {
        let [requester, responder] = [0, 1].map(|side| -> Option<HostCounters> {
            let discards = self.discards[side].map(|count| ("rx_discards_phy", count));
            let counted: Vec<_> = discards.into_iter().chain(self.counted[side].iter().copied()).collect();
            (!counted.is_empty()).then(|| counters::of(&counted))
        });
        let (completions, deliveries) = (self.completions.clone(), self.deliveries.clone());
        Observation { requester, responder, completions, deliveries, ..tape.observation() }
    }

    /// Remarks as `signature cN @packet`.
    pub(crate) fn remarks(&self, tape: &Tape) -> Vec<String> {
        let options = Options { config: Some(&self.config) };
        analyze(&self.observed(tape), options)
            .anomalies
            .kept()
            .iter()
            .map(|anomaly| {
                let connection = anomaly.who.connection.unwrap_or(0);
                let packet = anomaly.evidence.packets.first().copied().unwrap_or(0);
                format!("{} c{connection} @{packet}", anomaly.signature())
            })
            .collect()
    }

    /// Remarks of a tape, as text.
    pub(crate) fn remarks_of(&self, text: &str) -> Vec<String> {
        self.remarks(&Tape::new(text))
    }

    /// The tape gives exactly these remarks.
    #[track_caller]
    pub(crate) fn gives(&self, text: &str, remarks: &[&str]) -> &Self {
        let tape = Tape::new(text);
        let trace = synthetic::trace(&tape.observation());
        assert_eq!(self.remarks(&tape), remarks, "\n{trace}");
        self
    }

    /// The tape is silent, also with other delays.
    #[track_caller]
    pub(crate) fn silent(&self, text: &str) -> &Self {
        self.gives(text, &[]);
        let mut dice = Dice::new(7);
        for _ in 0..STRETCHES {
            let tape = Tape::new(text).stretched(&mut dice);
            let trace = synthetic::trace(&tape.observation());
            assert_eq!(self.remarks(&tape), Vec::<String>::new(), "\n{trace}");
        }
        self
    }
}
