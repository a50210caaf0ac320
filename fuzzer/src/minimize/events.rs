//! Events: their parts that could be simpler.

use dumper::Form;

use rand::RngExt as _;
use rand::seq::IteratorRandom as _;
use rand_chacha::ChaCha8Rng;

use corpus::config::fields;
use corpus::{Action, ConnectionSet, Event, Progression, Shape, Target, TestConfig, Traffic};

/// Something of an event that could be simpler.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detail {
    /// Packets before the last, of those whose number is known.
    Earlier,
    /// Packets after the first.
    Progression,
    /// Distance of these packets.
    Every,
    /// The action, if it is not drop.
    Action,
    /// Operand of the action: a time, a distance or a number.
    Operand,
    /// Round of transmission.
    Iter,
    /// Number of the packet.
    Number,
}

impl Detail {
    /// Those that a size counts, each once: earlier packets are further ones seen from the other end.
    pub(super) const COUNTED: [Self; 6] =
        [Self::Progression, Self::Every, Self::Action, Self::Operand, Self::Iter, Self::Number];
    /// All.
    pub(super) const ALL: [Self; 7] = [
        Self::Earlier,
        Self::Progression,
        Self::Every,
        Self::Action,
        Self::Operand,
        Self::Iter,
        Self::Number,
    ];

    /// Distance of an event from its simplest form.
    pub(super) fn height(self, event: &Event, traffic: &Traffic) -> u64 {
        match (self, event.target, event.action) {
            (Self::Earlier, Target::Data { .. }, _) | (Self::Progression, ..) => {
                further_packets(event, traffic)
            }
            (Self::Earlier, Target::Control { .. }, _) => 0,
            (Self::Every, ..) => event.progression.map_or(0, |progression| above_one(progression.every)),
            (Self::Action, _, action) => u64::from(action != Action::DROP),
            (Self::Operand, _, action) => match (action.kind().form(), action.operand()) {
                (_, None) => 0,
                (Form::Time, Some((_, ns))) => rung(ns),
                (_, Some((_, number))) => above_one(number),
            },
            (Self::Iter, Target::Data { iter, .. }, _) => above_one(iter),
            (Self::Iter, Target::Control { .. }, _) => 0,
            (Self::Number, Target::Data { psn: number, .. } | Target::Control { nth: number, .. }, _) => {
                above_one(number)
            }
        }
    }

    /// Takes an event to another height, below its own.
    pub(super) fn lower(self, event: &mut Event, to: u64, traffic: &Traffic) {
        match (self, &mut event.target, &mut event.action) {
            (Self::Earlier, ..) => start_later(event, to, traffic),
            (Self::Progression, ..) => {
                let count = (to > 0).then_some(to as u32 + 1);
                event.progression = event
                    .progression
                    .filter(|_| count.is_some())
                    .map(|Progression { every, .. }| Progression { every, count });
            }
            (Self::Every, ..) => {
                if let Some(progression) = &mut event.progression {
                    progression.every = to as u32 + 1;
                }
            }
            (Self::Action, _, action) => *action = Action::DROP,
            (Self::Operand, _, action) => match action.kind().form() {
                Form::Time => *action = round_delays().nth(to as usize).map_or(*action, |ns| action.with(ns)),
                _ => *action = action.with(to + 1),
            },
            (Self::Iter, Target::Data { iter, .. }, _) => *iter = to as u32 + 1,
            (Self::Iter, Target::Control { .. }, _) => {}
            (Self::Number, Target::Data { psn: number, .. } | Target::Control { nth: number, .. }, _) => {
                *number = to as u32 + 1;
            }
        }
    }
}

/// Leaves only so many packets of an event before its last, where their number is known.
fn start_later(event: &mut Event, to: u64, traffic: &Traffic) {
    let gone = further_packets(event, traffic).saturating_sub(to) as u32;
    let (Target::Data { psn, .. }, Some(Progression { every, .. })) = (&mut event.target, event.progression)
    else {
        return;
    };
    *psn = psn.saturating_add(every.saturating_mul(gone));
    event.progression = (to > 0).then_some(Progression { every, count: Some(to as u32 + 1) });
}

fn above_one(number: impl Into<u64>) -> u64 {
    number.into().saturating_sub(1)
}

/// Packets that an event names after the first.
fn further_packets(event: &Event, traffic: &Traffic) -> u64 {
    match event.progression {
        None => 0,
        Some(Progression { count: Some(count), .. }) => above_one(count),
        // To the end. How many control packets there will be is not known; about as many as data packets.
        Some(Progression { count: None, .. }) => {
            let end = u32::try_from(traffic.shape().packets()).unwrap_or(u32::MAX);
            event.points(end).map_or(0, |points| above_one(points.count())).max(1)
        }
    }
}

/// Round numbers of nanoseconds up to the longest delay, to which a delay is shortened, as no fault of
/// interest depends on its last digits.
fn round_delays() -> impl Iterator<Item = u64> {
    (0..=10).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)))
}

/// Number of [`round_delays`] that are shorter.
fn rung(ns: u64) -> u64 {
    round_delays().take_while(|round| *round < ns).count() as u64
}

/// The same action with any operand, orders of magnitude alike; the longest delays more often.
pub(super) fn with_any_operand(action: Action, rng: &mut ChaCha8Rng) -> Action {
    let Some((operand, _)) = action.operand() else { return action };
    let value = match action.kind().form() {
        Form::Time if rng.random_ratio(1, 4) => Some(fields::DELAY_NS.max),
        Form::Time => round_delays().take_while(|ns| *ns <= fields::DELAY_NS.max).choose(rng),
        _ => {
            let most = operand.field.max.max(1);
            let magnitude = rng.random_range(0..=most.ilog2());
            Some(rng.random_range(1..=most >> magnitude))
        }
    };
    value.map_or(action, |value| action.with(value))
}

/// Moves an event to a message: to its first data packet, its last or any, of any or the first round of transmission. Of control
/// packets there is about one for each message, as of Read requests.
pub(super) fn move_to(event: &mut Event, message: u32, shape: Shape, rng: &mut ChaCha8Rng) {
    match &mut event.target {
        Target::Data { psn, iter } => {
            let Some(psns) = shape.message_psns(message) else { return };
            *psn = match rng.random_range(0..3) {
                0 => *psns.start(),
                1 => *psns.end(),
                _ => rng.random_range(psns),
            };
            if rng.random_ratio(1, 2) {
                *iter = 1;
            }
        }
        Target::Control { nth, .. } => *nth = message.saturating_add(1),
    }
}

/// Puts an event on its place in every message of so many packets, from the first on; one of control packets on all of them.
pub(super) fn on_every_message(event: &mut Event, packets: u32) {
    match &mut event.target {
        Target::Data { psn, .. } => *psn = psn.saturating_sub(1) % packets.max(1) + 1,
        Target::Control { nth, .. } => *nth = 1,
    }
    on_messages(event, 1, packets);
}

/// Repeats an event in one of so many messages of so many packets, from its own on; about one control packet is a message's.
pub(super) fn on_messages(event: &mut Event, every: u32, packets: u32) {
    let packets = match event.target {
        Target::Data { .. } => packets,
        Target::Control { .. } => 1,
    };
    event.progression = Some(Progression { every: every.saturating_mul(packets).max(1), count: None });
}

/// One event instead of two: the first, on the connections of both.
pub(super) fn merge(config: &mut TestConfig, kept: usize, gone: usize) {
    let connections = config.traffic.load.connections();
    let gone = config.events.remove(gone).connections;
    let set = &mut config.events[kept].connections;
    // A member of both is listed twice here; `fit` lists it once.
    *set = ConnectionSet::List(set.members(connections).chain(gone.members(connections)).collect());
}
