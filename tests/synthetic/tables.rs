//! The transition tables: their snapshots, and that every transition happens in some trace.

use scoring::flow_table::tables::entry;
use scoring::go_back_n::tables::{answers, requester, responder};
use scoring::machines::table::{Next, describe, diagram};
use scoring::selective_repeat::tables::{receiver, sender};

/// State x event: where it goes, and what it breaks.
macro_rules! matrix {
    ($machine:ident) => {{
        let mut text = String::new();
        for state in $machine::State::ALL {
            for event in $machine::Event::ALL {
                let next = match state.on(*event) {
                    Next::Stay => "stays".to_owned(),
                    Next::Go(to) => format!("-> {to:?}"),
                    Next::Wrong(rule) => format!("breaks {}", rule.name()),
                    Next::WrongGo(rule, to) => format!("breaks {} -> {to:?}", rule.name()),
                    Next::Never => "never".to_owned(),
                };
                text += &format!("{:<10} {:<20} {next}\n", format!("{state:?}"), format!("{event:?}"));
            }
        }
        format!("{text}\n{}\n{}", describe($machine::ROWS), diagram($machine::ROWS))
    }};
}

#[test]
fn the_tables_are_these() {
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("requester", matrix!(requester));
        insta::assert_snapshot!("responder", matrix!(responder));
        insta::assert_snapshot!("answers", matrix!(answers));
        insta::assert_snapshot!("sender", matrix!(sender));
        insta::assert_snapshot!("receiver", matrix!(receiver));
        insta::assert_snapshot!("entry", matrix!(entry));
    });
}

#[cfg(debug_assertions)]
mod coverage {
    use dumper::trace::{Extra, Origin};
    use dumper::wire::{AethRepr, NakCode, Opcode, Syndrome};
    use dumper::{ActionKind, Event as Injected, HostCounters, Nanos, Observation, Record, Trace};
    use scoring::go_back_n::tables::{answers, requester, responder};
    use scoring::machines::table::Next;
    use scoring::{Options, analyze};
    use tests::synthetic::{self, Dice, counters, random};

    use crate::common::config_of;

    /// Worlds, and edited traces, within which every transition happens that is not said to be rare.
    const WORLDS: u64 = 20_000;
    const EDITED: u64 = 100_000;

    /// Transitions of a machine that `wanted` wants and this thread has not made, but for the rare ones.
    macro_rules! missing {
        ($machine:ident, $wanted:expr) => {{
            let wanted: fn(&Next<$machine::State>) -> bool = $wanted;
            let mut missing = Vec::new();
            for state in $machine::State::ALL {
                for event in $machine::Event::ALL {
                    let next = state.on(*event);
                    if matches!(next, Next::Never) {
                        assert!(!state.stepped(*event), "{state:?} {event:?} is said never to happen");
                        continue;
                    }
                    let line =
                        $machine::ROWS.iter().find(|row| row.event == *event && row.from.contains(state));
                    let rare = line.is_some_and(|line| line.clause.rare);
                    if wanted(&next) && !rare && !state.stepped(*event) {
                        missing.push(format!("{} {state:?} {event:?}", stringify!($machine)));
                    }
                }
            }
            missing
        }};
    }

    /// Counters of both hosts: none, or all.
    fn with_counters(outcome: synthetic::Outcome, counted: bool) -> Observation {
        let hosts = outcome.tallies.map(|tally| counted.then(|| counters::nvidia(&tally)));
        let [requester, responder]: [Option<HostCounters>; 2] = hosts;
        Observation { requester, responder, ..outcome.observation }
    }

    fn second_half(whole: &Trace) -> Trace {
        let mut trace = Trace::new(Origin::Mirror);
        for flow in whole.flows() {
            trace.add_flow(*flow);
        }
        for record in &whole.records()[whole.records().len() / 2..] {
            trace.push_with(*record, whole.extra(record).unwrap_or_default());
        }
        trace
    }

    fn run(seed: u64) -> (synthetic::World, Observation) {
        let mut world = random::lossy_world(seed);
        if seed.is_multiple_of(2) {
            random::hide_losses(&mut world, &mut Dice::new(!seed), 4);
        }
        let outcome = synthetic::run(&world);
        (world, with_counters(outcome, seed % 4 < 2))
    }

    #[test]
    fn every_legal_transition_happens_in_a_conforming_world() {
        for seed in 0..WORLDS {
            let (world, observation) = run(seed);
            let config = config_of(&world);
            analyze(&observation, Options { config: Some(&config) });
            // Half of the trace, and nothing known: what came before it shows, too.
            let late = Observation { trace: second_half(&observation.trace), ..Observation::default() };
            analyze(&late, Options::default());
        }
        let mut missing = missing!(requester, |next| next.broken().is_none());
        missing.extend(missing!(responder, |next| next.broken().is_none()));
        missing.extend(missing!(answers, |next| next.broken().is_none()));
        assert_eq!(missing, Vec::<String>::new());
    }

    /// Changes one packet of a trace: its PSN, its opcode, its syndrome, its fate, its place, or whether it is
    /// there at all.
    fn edit(observation: &Observation, dice: &mut Dice) -> Observation {
        let whole = &observation.trace;
        let mut packets: Vec<(Record, Extra)> =
            whole.records().iter().map(|record| (*record, whole.extra(record).unwrap_or_default())).collect();
        for _ in 0..dice.within(1..=3) {
            if packets.is_empty() {
                break;
            }
            let at = dice.within(0..=packets.len() as u64 - 1) as usize;
            let record = &mut packets[at].0;
            match dice.within(0..=7) {
                0 => record.psn = record.psn.add(dice.within(1..=3) as u32),
                1 => record.psn = record.psn.sub(dice.within(1..=3) as u32),
                2 => {
                    let syndrome = dice.pick(&[
                        Syndrome::Ack(31),
                        Syndrome::RnrNak(1),
                        Syndrome::Nak(NakCode::PsnSequenceError),
                        Syndrome::Nak(NakCode::InvalidRequest),
                    ]);
                    record.aeth = AethRepr { syndrome, msn: record.aeth().msn }.into();
                }
                3 => record.set_event(dice.pick(&[Injected::None, Injected::Action(ActionKind::Drop)])),
                4 => {
                    packets.remove(at);
                }
                5 => {
                    let copy = packets[at];
                    let to = (at + dice.within(1..=6) as usize).min(packets.len());
                    packets.insert(to, copy);
                }
                6 => {
                    let opcode = dice.pick(&[
                        Opcode::ReadResponseFirst,
                        Opcode::ReadResponseLast,
                        Opcode::ReadResponseOnly,
                        Opcode::AtomicAcknowledge,
                    ]);
                    if record.class().is_response() {
                        let mut other = Record::new(record.time, 0, record.flow, opcode, record.psn);
                        other.aeth = record.aeth;
                        *record = other;
                    }
                }
                _ => {
                    let to = dice.within(0..=packets.len() as u64 - 1) as usize;
                    packets.swap(at, to);
                }
            }
        }
        let mut trace = Trace::new(Origin::Mirror);
        for flow in whole.flows() {
            trace.add_flow(*flow);
        }
        let mut now = Nanos::ZERO;
        for ((mut record, extra), sequence) in packets.into_iter().zip(1..) {
            now = now.max(record.time);
            record.time = now;
            record.sequence = sequence;
            trace.push_with(record, extra);
        }
        Observation { trace, ..observation.clone() }
    }

    #[test]
    fn every_violation_happens_in_an_edited_trace() {
        for seed in 0..EDITED {
            let (world, observation) = run(seed);
            let mut dice = Dice::new(!seed);
            let config = config_of(&world);
            let edited = edit(&observation, &mut dice);
            let options = Options { config: Some(&config) };
            analyze(&edited, options);
            // The same from a host that counts every packet that left the switch as received.
            let received = |count| Observation {
                responder: Some(counters::of(&[("rcvd_pkts", count)])),
                ..edited.clone()
            };
            let report = analyze(&received(0), options).counters[1].clone();
            if let Some(count) = report.and_then(|report| report.compared.first().map(|one| one.expected)) {
                analyze(&received(count), options);
            }
        }
        let mut missing = missing!(requester, |next| next.broken().is_some());
        missing.extend(missing!(responder, |next| next.broken().is_some()));
        missing.extend(missing!(answers, |next| next.broken().is_some()));
        assert_eq!(missing, Vec::<String>::new());
    }
}
