//! The built switch with a pool of dumpers, in a namespace that the test makes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dumper::integrity::{self, Verdict};
use dumper::pool::{Collected, Dumper, Losses, Options, Pool, routes};
use dumper::serve::{self, Address, Bound};
use dumper::testing::{Root, in_namespace_of};
use dumper::{ActionKind, Event, Nanos, Psn, SwitchCounters};
use p4::{Tables, translate};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::interfaces::{ACCESS, Rig, of};
use crate::support::{config, connections};

/// Packets of a test.
const PACKETS: u32 = 3_000;

/// Packets that a host has room for.
const PER_TURN: u32 = 300;

#[test]
fn a_pool_has_every_packet_and_its_exit() {
    in_namespace_of(Root::OfUser, 4, "pool::every_packet", &[(ACCESS, "packet")]);
}

/// Lumina §3.4: mirrored packets of one connection come to one core of a dumper unless each has a port of its own, and a dumper that is
/// slower than another one needs a smaller share.
#[test]
fn balancing_and_weights_decide_if_a_trace_is_complete() {
    in_namespace_of(Root::OfUser, 4, "pool::comparison", &[(ACCESS, "packet")]);
}

/// At the highest rate at which nothing is lost, a hundred traces are complete: the rate falls until a hundred runs in a row are.
#[test]
#[ignore = "takes minutes of an idle machine: ci/long rate"]
fn at_the_highest_rate_without_loss_every_trace_is_complete() {
    in_namespace_of(Root::OfUser, 4, "pool::rate", &[(ACCESS, "packet")]);
}

/// Two dumpers at h3 and h4, in threads of this process.
struct Dumpers {
    pool: Pool,
    addresses: Vec<Address>,
    runtime: Runtime,
    _folder: TempDir,
}

impl Dumpers {
    /// Dumpers with so many threads, and room for so many packets.
    fn start(dumpers: [(u16, u32); 2]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let addresses: Vec<_> = ["h3", "h4"].map(|name| Address::Unix(folder.path().join(name))).into();
        for ((name, address), (threads, packets)) in ["h3", "h4"].into_iter().zip(&addresses).zip(dumpers) {
            let options = Options { interfaces: vec![name.to_owned()], threads, packets };
            let routes = routes(Arc::new(Dumper::start(options).unwrap()));
            let bound = runtime.block_on(Bound::listen(address)).unwrap();
            runtime.spawn(async move {
                // All of it: its path is there as long as it is.
                let bound = bound;
                serve::serve("test", bound.listener, None, routes, serve::Limits::default()).await
            });
        }
        let pool = runtime.block_on(Pool::connect(&addresses, None)).unwrap();
        Self { pool, addresses, runtime, _folder: folder }
    }
}

/// Runs a test of so many packets of one connection; what all dumpers have of it, and the counters of the switch.
fn run(rig: &mut Rig, dumpers: &mut Dumpers, tables: &Tables, leaving: u32) -> (Collected, SwitchCounters) {
    rig.begin(tables);
    dumpers.runtime.block_on(dumpers.pool.begin()).unwrap();
    for first in (1..=PACKETS).step_by(PER_TURN as usize) {
        (first..first + PER_TURN).for_each(|psn| rig.hosts[0].send(&of(psn, 1024)));
        (0..leaving * PER_TURN / PACKETS).for_each(|_| drop(rig.hosts[1].receive()));
    }
    let captured = rig.runtime.block_on(rig.client.collect()).unwrap();
    assert_eq!(captured.losses, []);
    let exit = |sequence| {
        let record = captured.trace.records().iter().find(|record| record.sequence == sequence)?;
        captured.trace.exit(record)
    };
    let mirrored = captured.counters.mirrored();
    let collected = dumpers.runtime.block_on(dumpers.pool.collect(mirrored, 1, exit)).unwrap();
    (collected, captured.counters)
}

fn none_are_lost(losses: &[(Address, Losses)]) -> bool {
    losses.iter().all(|(_, losses)| *losses == Losses::default())
}

#[test]
#[ignore = "changes the network: a test above runs it in a namespace"]
fn every_packet() {
    let mut rig = Rig::start(&["--dumper", "packet:s3*3", "--dumper", "packet:s4"]);
    let mut dumpers = Dumpers::start([(2, 2 * PACKETS), (2, 2 * PACKETS)]);
    let config = config(&format!(
        r#"traffic = {{ num-msgs-per-qp = {PACKETS}, message-size = 1024 }}
        event = [
            {{ qpn = 1, psn = 2, every = 3, type = "drop" }},
            {{ qpn = 1, psn = 3, every = 3, type = "delay", delay-us = 50 }},
        ]"#
    ));
    let tables = translate(&config, &connections(1, Psn::new(1))).unwrap();
    // Of the first test nothing is in the second.
    for _ in 0..2 {
        let (Collected { traced, losses }, counters) =
            run(&mut rig, &mut dumpers, &tables, PACKETS - PACKETS / 3);
        assert!(none_are_lost(&losses), "{losses:?}");
        let of_dumpers = [3, 4].map(|port| counters.egress[&port]);
        assert_eq!(of_dumpers, [u64::from(PACKETS) * 3 / 4, u64::from(PACKETS) / 4]);
        let integrity = integrity::check(&traced.trace, Some(&counters));
        let verdicts = integrity.conditions.iter().map(|condition| condition.verdict);
        assert!(verdicts.eq([Verdict::Pass; 4]), "{integrity:?}");
        for (psn, record) in (1..).zip(traced.trace.records()) {
            let event = match psn % 3 {
                1 => Event::None,
                2 => Event::Action(ActionKind::Drop),
                _ => Event::Action(ActionKind::Delay),
            };
            assert_eq!((record.psn.value(), record.event()), (psn, event));
            let later = traced.trace.exit(record).map(|exit| exit.time - record.time);
            assert_eq!(later.is_some_and(|later| later >= Nanos(50_000)), psn % 3 == 0, "{psn}");
        }
    }
}

#[test]
#[ignore = "changes the network: a test above runs it in a namespace"]
fn comparison() {
    // One dumper has three times the room of the other one, half of it for each of two threads.
    let (larger, smaller) = (2 * 1_300, 800);
    let mut dumpers = Dumpers::start([(2, larger), (1, smaller)]);
    let config = config(&format!("traffic = {{ num-msgs-per-qp = {PACKETS}, message-size = 1024 }}"));
    let tables = translate(&config, &connections(1, Psn::new(1))).unwrap();
    let shares = ["--dumper", "packet:s3*3", "--dumper", "packet:s4"];
    let halves = ["--dumper", "packet:s3", "--dumper", "packet:s4"];
    let one_port = [&shares[..], &["--one-mirror-port"]].concat();
    for (arguments, lost) in [
        (&shares[..], [0, 0]),
        // All of them come to one thread of the larger one.
        (&one_port, [u64::from(PACKETS * 3 / 4 - larger / 2), 0]),
        (&halves, [0, u64::from(PACKETS / 2 - smaller)]),
    ] {
        let mut rig = Rig::start(arguments);
        let (Collected { traced, losses }, counters) = run(&mut rig, &mut dumpers, &tables, PACKETS);
        let expected: Vec<_> = dumpers
            .addresses
            .iter()
            .zip(lost)
            .map(|(address, no_room)| (address.clone(), Losses { no_room, ..Losses::default() }))
            .collect();
        assert_eq!(losses, expected, "{arguments:?}");
        let integrity = integrity::check(&traced.trace, Some(&counters));
        let [consecutive, _, mirrored, received] = integrity.conditions.each_ref();
        let is_complete = lost == [0, 0];
        for condition in [consecutive, mirrored, received] {
            assert_eq!(condition.verdict == Verdict::Pass, is_complete, "{condition:?}");
        }
        let in_trace = u64::from(PACKETS) - lost.iter().sum::<u64>();
        assert!(mirrored.detail.contains(&format!("{in_trace} ")), "{}", mirrored.detail);
    }
}

/// Packets of a run.
const OF_A_RUN: u32 = 20_000;

/// Runs in a row without loss.
const RUNS: u32 = 100;

/// Packets a second: a rate that is beyond the machine's, and the least that it has to have.
const RATES: [f64; 2] = [400_000.0, 10_000.0];

/// Packets that are sent at once.
const BURST: u32 = 20;

/// A part of the rate by which it falls.
const STEP: f64 = 0.9;

#[test]
#[ignore = "changes the network: a test above runs it in a namespace"]
fn rate() {
    let mut rig = Rig::start(&["--dumper", "packet:s3*3", "--dumper", "packet:s4"]);
    let mut dumpers = Dumpers::start([(1, OF_A_RUN), (1, OF_A_RUN)]);
    let tables = crate::conformance::many::tables();
    let frames: Vec<_> = (1..=OF_A_RUN).map(|psn| of(psn, 1024)).collect();
    let ([mut rate, least], mut complete, mut all) = (RATES, 0, 0);
    while complete < RUNS {
        assert!(rate >= least, "packets are lost at {rate:.0} packets a second");
        all += 1;
        match lost_at(rate, &frames, &mut rig, &mut dumpers, &tables) {
            None => complete += 1,
            Some(why) => {
                println!("{rate:.0} packets a second: {complete} runs are complete, then {why}");
                (complete, rate) = (0, rate * STEP);
            }
        }
    }
    println!(
        "{rate:.0} packets a second: {RUNS} runs of {OF_A_RUN} packets are complete ({all} runs in all)"
    );
}

/// Sends frames at a rate through the switch with its tables; what was lost, if anything.
fn lost_at(
    rate: f64,
    frames: &[Vec<u8>],
    rig: &mut Rig,
    dumpers: &mut Dumpers,
    tables: &Tables,
) -> Option<String> {
    rig.begin(tables);
    dumpers.runtime.block_on(dumpers.pool.begin()).unwrap();
    let begun = Instant::now();
    for (sent, burst) in (0..).step_by(BURST as usize).zip(frames.chunks(BURST as usize)) {
        let due = Duration::from_secs_f64(f64::from(sent) / rate);
        while begun.elapsed() < due {
            std::hint::spin_loop();
        }
        burst.iter().for_each(|frame| rig.hosts[0].send(frame));
    }
    let took = begun.elapsed();
    // What waits in the switch is on its way, as long as any of it comes.
    let mut before = u64::MAX;
    loop {
        let arrived = rig.runtime.block_on(rig.client.counters()).unwrap().egress[&2];
        if arrived == frames.len() as u64 || arrived == before {
            break;
        }
        before = arrived;
        std::thread::sleep(Duration::from_millis(50));
    }
    let captured = rig.runtime.block_on(rig.client.collect()).unwrap();
    let mirrored = captured.counters.mirrored();
    let collected = dumpers.runtime.block_on(dumpers.pool.collect(mirrored, 1, |_| None)).unwrap();
    let integrity = integrity::check(&collected.traced.trace, Some(&captured.counters));
    let failed = integrity.conditions.iter().find(|condition| condition.verdict != Verdict::Pass);
    let arrived = captured.counters.egress[&2] as usize;
    let late = took.as_secs_f64() / (frames.len() as f64 / rate);
    if late > 1.05 {
        return Some(format!("the host takes {late:.2} times as long to send"));
    }
    let is_whole = arrived == frames.len() && captured.losses.is_empty() && none_are_lost(&collected.losses);
    (failed.is_some() || !is_whole).then(|| {
        format!(
            "{arrived} of {} arrive, {:?}, {:?}, {failed:?}",
            frames.len(),
            captured.losses,
            collected.losses
        )
    })
}
