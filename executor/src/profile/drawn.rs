//! Profiles by seed that nobody tuned anything to: one quirk each, under one to four conditions, drawn from the tables below.
//! They are the yardstick of searches (docs/search.md): a search that finds them finds what it was not made for.

use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Most conditions of a drawn profile.
pub const MAX_CONDITIONS: u32 = 4;

/// Packets of the smallest test in which all conditions may hold, at the most: a quarter of those that a target allows, so that
/// there is room for others.
const MOST_PACKETS: u64 = 5_000;

/// A host of a test, as a part of which a NIC has a quirk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Requester,
    Responder,
}
use Side::{Requester, Responder};

/// A quirk, and the conditions that it may have: those under which it can show.
struct Effect {
    quirk: &'static str,
    side: Side,
    verbs: &'static [&'static str],
    /// Positions of the packets that it is about; none where those have all the same, or none.
    positions: &'static [&'static str],
    /// Packets of a message in which it can show, at the least.
    packets: u64,
    /// True if it can show while retries are spent: a missing packet is NAKed once, and what is lost again is timed out on.
    retries: bool,
}

const ANY: &[&str] = &["first", "middle", "last", "only"];
const ENDS: &[&str] = &["last", "only"];
const NO_POSITION: &[&str] = &[];
const DATA: &[&str] = &["write", "send"];
const READ: &[&str] = &["read"];
const ALL: &[&str] = &["write", "send", "read"];

const fn effect(
    quirk: &'static str,
    side: Side,
    verbs: &'static [&'static str],
    positions: &'static [&'static str],
) -> Effect {
    Effect { quirk, side, verbs, positions, packets: 1, retries: false }
}

impl Effect {
    const fn of_packets(self, packets: u64) -> Self {
        Self { packets, ..self }
    }

    const fn with_retries(self) -> Self {
        Self { retries: true, ..self }
    }

    /// Counters that move in the tests in which it can show.
    fn counters(&self) -> &'static [&'static str] {
        match self.side {
            Requester if self.verbs == READ => &["local_ack_timeout_err", "implied_nak_seq_err"],
            Requester if self.verbs == ALL => &["local_ack_timeout_err"],
            Requester => &["packet_seq_err", "local_ack_timeout_err", "rp_cnp_handled"],
            Responder if self.verbs.contains(&"read") => &["out_of_sequence", "duplicate_request"],
            Responder => {
                &["out_of_sequence", "duplicate_request", "np_ecn_marked_roce_packets", "np_cnp_sent"]
            }
        }
    }
}

const EFFECTS: &[Effect] = &[
    effect("nak-repeats = 1", Responder, DATA, ANY),
    effect("nak-psn-offset = 1", Responder, DATA, ANY),
    effect("nak-suppressed = true", Responder, DATA, ANY),
    effect("nak-syndrome-reserved = true", Responder, DATA, ANY),
    effect("reack-missing = true", Responder, DATA, ENDS),
    effect("reread-missing = true", Responder, READ, NO_POSITION),
    effect("ack-missing-every = 1", Responder, DATA, ENDS),
    effect("ack-psn-offset = 1", Responder, DATA, ENDS),
    effect("msn-offset = 1", Responder, ALL, NO_POSITION),
    effect("duplicate-write-executed = true", Responder, &["write"], ANY),
    effect("response-gap-every = 1", Responder, READ, ANY),
    effect("response-never-ends = true", Responder, READ, NO_POSITION).of_packets(2),
    effect("resume-offset = 1", Requester, DATA, ANY),
    // What is before the first packet of a message has completed.
    effect("resume-offset = -1", Requester, DATA, &["middle", "last"]).of_packets(2),
    effect("nak-ignored = true", Requester, DATA, ANY),
    effect("implied-nak-ignored = true", Requester, READ, ANY).with_retries(),
    effect("read-address-not-advanced = true", Requester, READ, NO_POSITION).of_packets(2).with_retries(),
    effect("retry-offset = -1", Requester, ALL, NO_POSITION).with_retries(),
    effect("retransmits-unprovoked-every = 3", Requester, DATA, &["middle", "last", "only"]).with_retries(),
    effect("first-in-the-middle-every = 1", Requester, DATA, NO_POSITION).of_packets(3).with_retries(),
    effect("rnr-wait-short-percent = 50", Requester, &["send"], NO_POSITION),
    effect("cnp-suppressed = true", Responder, DATA, ANY),
    effect("cnp-unprovoked-every = 1", Responder, DATA, ANY),
];

const MTUS: [u32; 5] = [256, 512, 1_024, 2_048, 4_096];

/// A kind of condition.
#[derive(Clone, Copy)]
enum Condition {
    Verb,
    Position,
    Message,
    MessageSize,
    Mtu,
    Class,
    Connections,
    Recovering,
    Retries,
    Counters,
}

const CONDITIONS: [Condition; 10] = [
    Condition::Verb,
    Condition::Position,
    Condition::Message,
    Condition::MessageSize,
    Condition::Mtu,
    Condition::Class,
    Condition::Connections,
    Condition::Recovering,
    Condition::Retries,
    Condition::Counters,
];

/// The tests in which all conditions drawn so far may hold.
struct Tests {
    /// At the least.
    connections: u64,
    messages: u64,
    /// Packets of a message at the least, and at the most.
    packets: (u64, u64),
    /// Bytes of a message at the least, and at the most.
    size: (u64, u64),
    mtu: (u64, u64),
}

impl Tests {
    fn of(effect: &Effect) -> Self {
        Self {
            connections: 1,
            messages: 1,
            packets: (effect.packets, u64::MAX),
            size: (0, u64::MAX),
            mtu: (MTUS[0].into(), MTUS[MTUS.len() - 1].into()),
        }
    }

    /// Returns true if there are some of usual size.
    fn are_usual(&self) -> bool {
        let packets = self.packets.0.max(self.size.0.div_ceil(self.mtu.1));
        let largest = self.packets.1.saturating_mul(self.mtu.1).min(self.size.1);
        (self.packets.0 - 1) * self.mtu.0 < largest
            && self.size.0 <= largest
            && self.connections * self.messages * packets <= MOST_PACKETS
    }
}

/// The text of a profile with so many conditions, from 1 to [`MAX_CONDITIONS`], by its seed.
#[must_use]
pub fn drawn(seed: u64, conditions: u32) -> String {
    let conditions = conditions.clamp(1, MAX_CONDITIONS);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(conditions.into());
    loop {
        if let Some(text) = attempt(seed, conditions as usize, &mut rng) {
            return text;
        }
    }
}

/// A profile, unless its conditions cannot hold together in a test of usual size.
fn attempt(seed: u64, conditions: usize, rng: &mut ChaCha8Rng) -> Option<String> {
    let effect = EFFECTS.choose(rng)?;
    let mut kinds = CONDITIONS;
    kinds.shuffle(rng);
    let mut tests = Tests::of(effect);
    let drawn: Vec<String> =
        kinds.into_iter().filter_map(|kind| draw(kind, effect, &mut tests, rng)).take(conditions).collect();
    (drawn.len() == conditions && tests.are_usual()).then(|| {
        format!(
            "name = \"drawn-{conditions}-{seed}\"\n\
             description = \"One quirk under {conditions} of ten kinds of conditions, drawn by seed {seed}\"\n\n\
             [[quirk]]\nwhen = {{ {} }}\n{}\n",
            drawn.join(", "),
            effect.quirk
        )
    })
}

/// A condition of a kind, if the quirk may have it.
fn draw(kind: Condition, effect: &Effect, tests: &mut Tests, rng: &mut ChaCha8Rng) -> Option<String> {
    Some(match kind {
        // One that always holds is none.
        Condition::Verb if effect.verbs.len() == 1 => return None,
        Condition::Verb => format!("verb = [\"{}\"]", effect.verbs.choose(rng)?),
        Condition::Position => {
            let position = *effect.positions.choose(rng)?;
            match position {
                "only" => tests.packets.1 = 1,
                "middle" => tests.packets.0 = 3,
                _ => tests.packets.0 = 2,
            }
            format!("position = [\"{position}\"]")
        }
        Condition::Message => {
            let from = by_magnitude(3, 60, rng);
            tests.messages = from;
            format!("message = [{from}, 1_000_000]")
        }
        Condition::MessageSize if rng.random_bool(0.5) => {
            let from = by_magnitude(2_048, 65_536, rng);
            tests.size.0 = from;
            format!("message-size = [{from}, 1_000_000]")
        }
        Condition::MessageSize => {
            tests.size.1 = by_magnitude(64, 4_096, rng);
            format!("message-size = [0, {}]", tests.size.1)
        }
        Condition::Mtu => {
            let mtu = *MTUS.choose(rng)?;
            tests.mtu = (mtu.into(), mtu.into());
            format!("mtu = [{mtu}]")
        }
        Condition::Class => format!("class = [{}]", rng.random_range(1..=3)),
        Condition::Connections => {
            let from = by_magnitude(8, 96, rng);
            tests.connections = tests.connections.max(from);
            format!("connections = [{from}, 10_000]")
        }
        Condition::Recovering => {
            let from = by_magnitude(2, 32, rng);
            tests.connections = tests.connections.max(from);
            format!("recovering = [{from}, 10_000]")
        }
        Condition::Retries if !effect.retries => return None,
        Condition::Retries => format!("retries = [{}, 64]", rng.random_range(1..=4)),
        Condition::Counters => {
            let counter = effect.counters().choose(rng)?;
            format!("counters = [\"{counter}\"], counted = {}", by_magnitude(2, 64, rng))
        }
    })
}

/// A number of a range, each order of magnitude alike.
fn by_magnitude(from: u64, to: u64, rng: &mut ChaCha8Rng) -> u64 {
    let (low, high) = ((from as f64).ln(), (to as f64).ln());
    (rng.random_range(low..=high).exp().round() as u64).clamp(from, to)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::NicProfile;

    #[test]
    fn drawn_profiles_are_valid_and_have_their_conditions() {
        let folder = tempfile::tempdir().unwrap();
        let mut quirks = BTreeSet::new();
        for conditions in 1..=MAX_CONDITIONS {
            for seed in 0..200 {
                let text = drawn(seed, conditions);
                assert_eq!(text, drawn(seed, conditions));
                std::fs::write(folder.path().join("nic.toml"), &text).unwrap();
                let nic = crate::profile::load("nic.toml", Path::new(folder.path()))
                    .unwrap_or_else(|error| panic!("{error}\n{text}"));
                assert_eq!(nic.quirks, NicProfile::default().quirks);
                let [one] = &nic.quirk[..] else { panic!("{text}") };
                let listed = toml::Table::try_from(&one.when).unwrap();
                let count = listed.keys().filter(|key| *key != "counted").count();
                assert_eq!(count, conditions as usize, "{text}");
                quirks.insert(text.lines().last().unwrap().to_owned());
            }
        }
        assert_eq!(quirks.len(), EFFECTS.len(), "each is drawn");
    }
}
