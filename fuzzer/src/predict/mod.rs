//! What is to be expected of losses, without any run: the theory of [`scoring::theory`], for people and as JSON.

mod messages;
pub mod multipath;
mod slo;
mod text;
mod tolerance;

use scoring::theory::corruption::{
    Behaviour, Conditions, Cost, Links, Plan, Protection, TimeOuts, of_message, of_sizes, plan, printed,
};
use serde::Serialize;

pub use messages::Messages;
pub use slo::Slo;
pub use text::{text, tolerance_text, tolerated};
pub use tolerance::{Kind, Nics, Tolerance, ToleranceError, ToleranceQuestion};

/// What is asked.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// Links of each direction.
    pub links: Links,
    /// Messages, each of which follows the one before it at once.
    pub messages: Messages,
    /// Copies and dummies.
    pub protection: Protection,
    /// What the NICs do about losses.
    pub behaviour: Behaviour,
    /// Find the least protection with which a message has at most so many time-outs.
    pub at_most: Option<f64>,
}

/// What is to be expected.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Forecast {
    /// Packets of a message in the mean: E(S).
    pub packets: f64,
    /// Mean of one over the number of packets: E(1/S).
    pub inverse_packets: f64,
    /// Time-outs of a message.
    pub of_message: TimeOuts,
    /// Time-outs of a packet.
    pub of_packet: TimeOuts,
    /// The same as the paper prints it.
    pub of_packet_printed: TimeOuts,
    /// Bytes added, as parts of those of the messages' packets.
    pub cost: Cost,
    /// The least protection, if that was asked for.
    pub plan: Option<Planned>,
}

/// An answer to [`Question::at_most`].
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Planned {
    /// The question.
    pub at_most: f64,
    /// The least protection that is enough; none if no protection is.
    pub least: Option<Least>,
    /// Time-outs of a message with it, or with the most that there can be.
    pub of_message: TimeOuts,
}

/// Protection that is enough.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Least {
    /// NAKs in all.
    pub naks: u8,
    /// Transmissions in all of a packet that a NAK asks for.
    pub retransmissions: u8,
    /// Dummies behind each message.
    pub dummies: u8,
    /// What they cost.
    pub cost: Cost,
}

impl Question {
    /// The answer.
    #[must_use]
    pub fn answer(&self) -> Forecast {
        let [message, packet] = self.time_outs(&self.protection);
        let inverse_packets = self.messages.inverse_packets();
        Forecast {
            packets: self.messages.packets(),
            inverse_packets,
            of_message: message,
            of_packet: packet,
            of_packet_printed: printed(&self.links, inverse_packets, &self.protection),
            cost: self.cost(&self.protection),
            plan: self.at_most.map(|at_most| self.plan(at_most)),
        }
    }

    fn conditions(&self, protection: &Protection) -> Conditions {
        Conditions { links: self.links, protection: *protection, behaviour: self.behaviour.clone() }
    }

    /// Of a message, and of a packet.
    fn time_outs(&self, protection: &Protection) -> [TimeOuts; 2] {
        let conditions = self.conditions(protection);
        match &self.messages {
            Messages::Same(frames) => {
                let message = of_message(frames, &conditions);
                [message, message * (1.0 / frames.packets as f64)]
            }
            Messages::Drawn { sizes, frames, .. } => of_sizes(frames, sizes, &conditions),
        }
    }

    fn cost(&self, protection: &Protection) -> Cost {
        Cost::of(self.messages.frames(), self.messages.inverse_packets(), &self.conditions(protection))
    }

    fn plan(&self, at_most: f64) -> Planned {
        match plan(at_most, |protection| self.time_outs(protection)[0]) {
            Ok(Plan { protection, time_outs }) => {
                let Protection { repeat, dummies } = protection;
                let (naks, retransmissions) = (repeat.naks, repeat.retransmissions);
                let cost = self.cost(&protection);
                let least = Least { naks, retransmissions, dummies, cost };
                Planned { at_most, least: Some(least), of_message: time_outs }
            }
            Err(left) => Planned { at_most, least: None, of_message: left },
        }
    }
}
