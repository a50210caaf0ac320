//! Random conforming worlds: every freedom is a choice of the dice.

use std::ops::RangeInclusive;

use super::dice::Dice;
use super::faults::{Action, Fault, Target};
use super::packet::Kind;
use super::spec::{
    Connection, Habits, Host, Links, Message, Notifications, RequesterHabits, ResponderHabits, Scope, Side,
    Verb, World,
};

/// The largest PSN plus one.
const PSN_SPACE: u64 = 1 << 24;

/// Any world. The seed says all.
pub fn world(seed: u64) -> World {
    let mut dice = Dice::new(seed);
    let dice = &mut dice;
    let mtu = dice.pick(&[256, 512, 1024, 2048, 4096]);
    let count = dice.pick(&[1, 1, 1, 2, 2, 3, 4]);
    let both_ways = dice.chance(15);
    // With traffic both ways, two addresses a host would not tell which two are one host.
    let addresses = if both_ways { 1 } else { dice.pick(&[1, 1, 1, 2]) };
    let (retry_count, rnr_retries) =
        (dice.pick(&[0, 1, 3, 7, 7, 7]), dice.pick(&[None, None, Some(0), Some(1), Some(2)]));
    let connections: Vec<Connection> = (1..=count)
        .map(|number| {
            let mut connection = connection(number, mtu, dice);
            connection.habits.requester.retry_count = retry_count;
            connection.habits.requester.rnr_retries = rnr_retries;
            let offset = (number as u8 - 1) % addresses * 2;
            connection.requester.address += offset;
            connection.responder.address += offset;
            if both_ways && number > 1 && dice.chance(50) {
                connection.requester_side = Side::B;
                std::mem::swap(&mut connection.requester, &mut connection.responder);
            }
            connection
        })
        .collect();
    let timeout = if dice.chance(10) { 0 } else { dice.pick(&[1, 2, 3, 4, 5, 6, 8, 10, 12, 14]) };
    let notifications = dice.chance(40).then(|| Notifications {
        interval_us: dice.pick(&[0, 4, 10, 50]),
        scope: Scope::Qp,
        on_loss: dice.chance(30),
    });
    let mut world = World {
        seed: dice.number(),
        mtu,
        timeout,
        rnr_timer: dice.pick(&[1, 11, 25]),
        faults: Vec::new(),
        links: links(dice, notifications.is_some()),
        connections,
        notifications,
    };
    let lossless = timeout == 0;
    for number in 1..=world.connections.len() {
        let packets = packets_of(&world.connections[number - 1], mtu);
        for _ in 0..dice.pick(&[0, 0, 1, 1, 2, 3, 6]) {
            let fault = fault(number, packets, &world, dice);
            if !(lossless && (fault.action.loses() || fault.action == Action::Reorder)) {
                world.faults.push(fault);
            }
        }
        if dice.chance(10) && !lossless {
            // The same packet again and again: until retries are exhausted, or nearly.
            let psn = dice.within(1..=packets) as u32;
            let times = dice.within(1..=9) as u32;
            let action = dice.pick(&[Action::Drop, Action::Corrupt]);
            let drop = |round| Fault { connection: number, target: Target::Psn(psn, round), action };
            world.faults.extend((1..=times).map(drop));
        }
        if dice.chance(8) && world.notifications.is_some() {
            let mark =
                |psn| Fault { connection: number, target: Target::Psn(psn as u32, 1), action: Action::Ecn };
            world.faults.extend((1..=packets).map(mark));
        }
    }
    world
}

/// Any world in which packets may be lost: timers run.
pub fn lossy_world(seed: u64) -> World {
    let mut world = world(seed);
    world.timeout = world.timeout.max(4);
    world
}

/// Any world whose timers are long enough for a spectator who does not know them: longer than what links and
/// queues can hide of the shortest one.
pub fn measurable_world(seed: u64) -> World {
    let mut world = world(seed);
    if (1..4).contains(&world.timeout) {
        world.timeout = 4;
    }
    world
}

/// PSNs of a connection's work.
pub fn packets_of(connection: &Connection, mtu: u32) -> u64 {
    connection.messages.iter().map(|message| u64::from(message.bytes.div_ceil(mtu).max(1))).sum()
}

fn connection(number: u32, mtu: u32, dice: &mut Dice) -> Connection {
    let verbs: &[Verb] = dice.pick(&[
        &[Verb::Write],
        &[Verb::Send],
        &[Verb::Read],
        &[Verb::Send, Verb::Read],
        &[Verb::Send, Verb::Write, Verb::Read, Verb::Atomic],
        &[Verb::Atomic, Verb::Read],
    ]);
    let count = dice.within(1..=8) as usize;
    let largest = dice.pick(&[1, 3, 8, 8, 20]);
    let messages: Vec<Message> = (0..count)
        .map(|_| {
            let verb = dice.pick(verbs);
            let bytes = match verb {
                Verb::Atomic => 8,
                _ if dice.chance(5) => 0,
                _ => dice.within(1..=u64::from(mtu) * largest) as u32,
            };
            Message { verb, bytes }
        })
        .collect();
    let initial_psn = match dice.within(0..=3) {
        0 => PSN_SPACE - dice.within(1..=30),
        1 => PSN_SPACE / 2 - dice.within(0..=30),
        _ => dice.within(0..=PSN_SPACE - 1),
    };
    let sends: Vec<usize> = (0..count).filter(|message| messages[*message].verb == Verb::Send).collect();
    let not_ready = if dice.chance(12) {
        (0..dice.within(1..=2))
            .map(|_| (dice.within(0..=count as u64 - 1) as usize, dice.pick(&[1, 2, 3])))
            .collect()
    } else {
        Vec::new()
    };
    Connection {
        requester_side: Side::A,
        requester: Host { address: 1, qpn: 0x100 + number, port: 50_000 + number as u16 },
        responder: Host {
            address: 2,
            qpn: 0x200 + number,
            port: if dice.chance(50) { 50_000 } else { 60_000 } + number as u16,
        },
        initial_psn: initial_psn as u32,
        messages,
        tx_depth: dice.within(1..=8) as usize,
        ack_every: dice.pick(&[None, None, Some(1), Some(2), Some(4)]),
        not_ready,
        // A Receive may be too short for a Send; Writes and Reads have the memory that they need.
        refused: (dice.chance(8) && !sends.is_empty()).then(|| dice.pick(&sends)),
        starts_at: dice.within(0..=50_000),
        habits: habits(dice),
    }
}

fn up_to(dice: &mut Dice, most: u64) -> RangeInclusive<u64> {
    let low = dice.within(0..=most);
    low..=dice.within(low..=most)
}

fn habits(dice: &mut Dice) -> Habits {
    let slow = dice.pick(&[500, 5_000]);
    let requester_pace = 100 + dice.within(0..=500);
    let responder_pace = 100 + dice.within(0..=500);
    let least = dice.within(100..=400);
    Habits {
        requester: RequesterHabits {
            pace: requester_pace..=requester_pace + dice.within(0..=1_000),
            reaction: up_to(dice, slow * 4),
            drains_pipeline: dice.chance(70),
            repeats_for_each_nak: dice.chance(30),
            restarts_timer: dice.chance(50),
            expiry_percent: least..=dice.within(least..=400),
            max_reads: dice.pick(&[1, 2, 16]),
            ..RequesterHabits::default()
        },
        responder: ResponderHabits {
            pace: responder_pace..=responder_pace + dice.within(0..=1_000),
            delay: up_to(dice, slow),
            coalesces: dice.pick(&[0, 30, 100]),
            volunteers: dice.pick(&[0, 20, 100]),
            acknowledges_all_duplicates: dice.chance(30),
            abandons_old_stream: dice.chance(50),
            naks_after_rnr: dice.chance(30),
        },
    }
}

fn links(dice: &mut Dice, notifies: bool) -> Links {
    // A cable's delay does not change; what varies on the way up is the host's port. Intervals of CNPs are
    // judged to a microsecond, so there the variation is one of hardware.
    let jitter = if notifies { 300 } else { dice.pick(&[0, 100, 5_000]) };
    let mut up = || {
        let base = dice.within(50..=5_000);
        base..=base + jitter
    };
    let up = [up(), up()];
    let down = [up_to(dice, 20_000), up_to(dice, 20_000)];
    Links { up, down, byte_time_ps: dice.pick(&[40, 80, 200]) }
}

fn fault(connection: usize, packets: u64, world: &World, dice: &mut Dice) -> Fault {
    let kinds = [Kind::Data, Kind::Ack, Kind::Nak, Kind::ReadRequest, Kind::Atomic, Kind::Cnp];
    let target = if dice.chance(40) {
        Target::Psn(dice.within(1..=packets) as u32, dice.pick(&[1, 1, 1, 2, 3]))
    } else {
        Target::Nth(dice.pick(&kinds), dice.within(1..=packets.min(12)) as u32)
    };
    let by = dice.pick(&[100, 5_000, 300_000]);
    let mut actions = vec![
        Action::Drop,
        Action::Drop,
        Action::Corrupt,
        Action::Delay(by),
        Action::Reorder,
        Action::Duplicate(dice.pick(&[2, 3])),
    ];
    // A mark on a CNP does not ask for another CNP.
    if world.notifications.is_some() && !matches!(target, Target::Nth(Kind::Cnp, _)) {
        actions.extend([Action::Ecn, Action::Ecn, Action::EcnAndDelay(by)]);
    }
    Fault { connection, target, action: dice.pick(&actions) }
}

/// Makes some packets of a world vanish behind the switch.
pub fn hide_losses(world: &mut World, dice: &mut Dice, most: u64) {
    for _ in 0..dice.within(1..=most) {
        let connection = dice.within(1..=world.connections.len() as u64) as usize;
        let packets = packets_of(&world.connections[connection - 1], world.mtu);
        let mut fault = fault(connection, packets, world, dice);
        fault.action = Action::Discard;
        world.faults.insert(0, fault);
    }
}
