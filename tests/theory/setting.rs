//! A setting of the theory, and the test that has it.

use corpus::{Load, LossModel, Network, Repeat, TestConfig, Traffic, Verb};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use scoring::theory::corruption::{
    Behaviour, Conditions, Frames, Links, Protection, TimeOuts, beyond, of_message,
};

const MTU: u32 = 1024;

/// A connection with one message in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) links: Links,
    pub(crate) verb: Verb,
    /// Packets of each message, and bytes of the last one.
    pub(crate) packets: u32,
    pub(crate) last: u32,
    pub(crate) protection: Protection,
    /// Packets of the whole test, about.
    pub(crate) in_all: u32,
}

impl Setting {
    pub(crate) fn drawn(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let links = rng.random_range(1..=4);
        // Half of all have none: with copies there is little to count.
        let mut number = |none: u8, most| if rng.random() { none } else { rng.random_range(none..=most) };
        let repeat = Repeat {
            naks: number(1, 4),
            retransmissions: number(1, 4),
            tails: number(1, 4),
            ..Repeat::default()
        };
        let dummies = number(0, 3);
        // All orders of magnitude alike.
        let packets = 10_f64.powf(rng.random_range(0.0..=2.0)).round() as u32;
        Self {
            links: Links {
                // At most 1/32 on the whole way.
                loss: 1.0 / (32.0 * f64::from(links)) / rng.random_range(1.0..4.0),
                of_bytes: Network::default().reference_bytes(MTU),
                links,
                corrupted: 1.0,
            },
            verb: if rng.random() { Verb::Write } else { Verb::Send },
            packets,
            last: rng.random_range(1..=MTU),
            protection: Protection { repeat, dummies },
            in_all: 300_000,
        }
    }

    /// The same without copies and dummies.
    pub(crate) fn bare(self) -> Self {
        Self { protection: Protection::default(), ..self }
    }

    pub(crate) fn with_dummies(self, dummies: u8) -> Self {
        Self { protection: Protection { dummies, ..self.protection }, ..self }
    }

    fn message_size(&self) -> u32 {
        (self.packets - 1) * MTU + self.last
    }

    /// Time-outs of a message.
    pub(crate) fn expected(&self, behaviour: Behaviour) -> TimeOuts {
        of_message(&self.frames(), &self.conditions(behaviour))
    }

    /// Share of the messages that have a time-out.
    pub(crate) fn late(&self, behaviour: Behaviour) -> f64 {
        beyond(0, &self.frames(), &self.conditions(behaviour))
    }

    fn frames(&self) -> Frames {
        Frames::of(self.verb, self.message_size().into(), MTU)
    }

    fn conditions(&self, behaviour: Behaviour) -> Conditions {
        Conditions { links: self.links, protection: self.protection, behaviour }
    }

    pub(crate) fn test(&self, seed: u64) -> TestConfig {
        let traffic = Traffic {
            load: Load::Same { verb: self.verb, connections: 1 },
            num_msgs_per_qp: (self.in_all / self.packets).max(1),
            message_size: self.message_size(),
            // Longer than every NAK takes, and short beside the test.
            min_retransmit_timeout: 8,
            dummy_headers: self.protection.dummies,
            seed,
            ..Traffic::default()
        };
        let network = Network {
            loss_ppb: (self.links.loss * 1e9) as u32,
            loss_model: LossModel::PerBit,
            links: self.links.links,
            corrupted_links_percent: (self.links.corrupted * 100.0) as u8,
            repeat: self.protection.repeat,
            ..Network::default()
        };
        TestConfig { traffic, network, ..TestConfig::default() }
    }
}
