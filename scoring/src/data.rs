//! Data found in memory against data sent.

use corpus::{TestConfig, Verb};
use dumper::Observation;
use dumper::observation::CompletionStatus;
use rustc_hash::FxHashMap;

use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::known::repeats_selectively;
use crate::rewritten;
use crate::rules::Rule;

/// Hosts' report on one message.
#[derive(Clone, Copy, Debug, Default)]
struct Message {
    /// Its length, where it is known.
    bytes: Option<u64>,
    completed: bool,
    written: u64,
    damaged: bool,
}

/// Error in the amount of a message that was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Amount {
    Less,
    More,
}

impl Amount {
    /// The state in signatures.
    const fn name(self) -> &'static str {
        match self {
            Self::Less => "less",
            Self::More => "more",
        }
    }
}

impl Message {
    /// Error in the amount written, if any, where the amounts are known.
    fn misses(&self) -> Option<Amount> {
        let bytes = self.bytes?;
        if self.written > bytes {
            Some(Amount::More)
        } else if self.completed && self.written < bytes {
            Some(Amount::Less)
        } else {
            None
        }
    }
}

/// Judges every message, where the hosts have looked at the memory.
pub(crate) fn judge(observation: &Observation, config: Option<&TestConfig>, anomalies: &mut Anomalies) {
    if observation.deliveries.is_none() {
        return;
    }
    let mut messages: FxHashMap<(u32, u32), Message> = FxHashMap::default();
    for completion in observation.completions() {
        let message = messages.entry((completion.connection, completion.message)).or_default();
        message.bytes = Some(completion.bytes);
        message.completed = completion.status == CompletionStatus::Success;
    }
    for delivery in observation.deliveries() {
        let message = messages.entry((delivery.connection, delivery.message)).or_default();
        message.written += delivery.bytes;
        message.damaged |= !delivery.intact;
    }
    let length = config.map(|config| u64::from(config.traffic.message_size));
    messages.values_mut().for_each(|message| message.bytes = message.bytes.or(length));
    // Nearly all are as they should be: only the others are put in order.
    let mut odd: Vec<_> =
        messages.into_iter().filter(|(_, message)| message.damaged || message.misses().is_some()).collect();
    odd.sort_unstable_by_key(|(name, _)| *name);
    for ((connection, number), message) in odd {
        let verb = |config: &TestConfig| config.traffic.load.verb(connection, number.saturating_sub(1));
        let deception =
            config.map(|config| rewritten::deception(config, connection, verb(config))).unwrap_or_default();
        let mut wrong = |rule, state: &'static str, what| {
            let who = receiver(observation, config, connection, number);
            anomalies.push(Anomaly { rule, who, state: state.into(), what, evidence: Evidence::default() });
        };
        let (written, of) = (message.written, format!("message {number} of connection {connection}"));
        let excused = |amount| match amount {
            Amount::Less => deception.of_arrival,
            Amount::More => deception.of_data,
        };
        let misses = message.misses().filter(|amount| !excused(*amount));
        if let (Some(bytes), Some(amount)) = (message.bytes, misses) {
            let rule = match amount {
                Amount::More if config.is_some_and(repeats_selectively) => Rule::SrDeliveredTwice,
                Amount::Less | Amount::More => Rule::DeliveredNotOnce,
            };
            wrong(rule, amount.name(), format!("writes {written} bytes to memory instead of {bytes}, {of}"));
        }
        if message.damaged && !deception.of_data {
            wrong(
                Rule::DeliveredWrong,
                "differs",
                format!("writes other bytes to memory than the sender has, {of}"),
            );
        }
    }
}

/// Writer of a message to memory: the responder, or for a Read the requester. Without a configuration a
/// message is taken for no Read.
fn receiver(observation: &Observation, config: Option<&TestConfig>, connection: u32, message: u32) -> Who {
    let verb = config.map(|config| config.traffic.load.verb(connection, message.saturating_sub(1)));
    let role = if verb == Some(Verb::Read) { Role::Requester } else { Role::Responder };
    let ends = (connection as usize).checked_sub(1).and_then(|at| observation.connections.get(at));
    let address =
        ends.map(|ends| if role == Role::Requester { ends.requester.ip } else { ends.responder.ip });
    Who { role, address, connection: Some(connection as usize) }
}
