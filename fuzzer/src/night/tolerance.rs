//! The loss that the NICs of a campaign tolerate, for its report.

use corpus::config::fields::MIN_RETRANSMIT_TIMEOUT;
use corpus::{Mtu, Network, Verb};
use scoring::theory::corruption::{Frames, Links, Protection};

use super::Night;
use crate::predict::{Messages, Nics, Slo, ToleranceQuestion, tolerated};

/// Bytes of the messages that a report has the tolerance for: one packet, and many.
const SIZES: [u64; 2] = [1_024, 65_536];
/// Their path MTU.
const MTU: Mtu = Mtu::B1024;
/// How far the ends of an interval may be from the answer, as a part of it.
const WITHIN: f64 = 0.25;

/// The section of a report.
pub(super) struct Tolerated {
    /// What is asked of completion times.
    pub(super) slo: String,
    /// Messages, and the loss with which they keep that.
    pub(super) answers: Vec<(String, String)>,
    /// What came of losses, by kind.
    pub(super) kinds: Vec<Kind>,
}

/// Losses of a kind.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) occasions: u64,
    pub(super) time_outs: u64,
    /// The share, with its interval.
    pub(super) share: String,
    pub(super) by_standard: f64,
}

/// None where too few losses were seen for any answer.
pub(super) fn of(night: &Night) -> Option<Tolerated> {
    let nics = Nics {
        settings: night.settings.clone(),
        executions: night.progress.executions,
        losses: night.losses.clone(),
    };
    let of_bytes = Network::default().reference_bytes(MTU.bytes());
    let answer = |bytes| {
        let messages = Messages::Same(Frames::of(Verb::Write, bytes, MTU.bytes()));
        let question = ToleranceQuestion {
            links: Links { loss: 0.0, of_bytes, links: 1, corrupted: 1.0 },
            messages: &messages,
            protection: Protection::default(),
            slo: Slo::USUAL,
            timeout: MIN_RETRANSMIT_TIMEOUT.default as u8,
            within: WITHIN,
        };
        let answer = nics.tolerate(&question).ok()?;
        Some((format!("Writes of {bytes} bytes, one in flight, over one link"), tolerated(&answer)))
    };
    let answers: Vec<_> = SIZES.into_iter().filter_map(answer).collect();
    let kinds = nics.kinds().into_iter().map(|kind| Kind {
        name: kind.kind.name(),
        meaning: kind.kind.meaning(),
        occasions: kind.occasions,
        time_outs: kind.time_outs,
        share: kind.share(),
        by_standard: kind.by_standard,
    });
    (!answers.is_empty()).then(|| Tolerated { slo: Slo::USUAL.to_string(), answers, kinds: kinds.collect() })
}
