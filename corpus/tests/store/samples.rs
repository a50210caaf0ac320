//! Executions, findings and steps to write.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use corpus::store::{Decision, Progress, Store, StoreError};
use corpus::{
    Action, Answer, ConnectionSet, Evaluation, Event, FindingRecord, Key, Lineage, Minimising, Minimized,
    Outcome, Scores, Sighting, SituationSeen, Target, TestConfig,
};
use dumper::observation::Coverage;

/// A test that depends on a number.
pub(crate) fn config(number: u64) -> TestConfig {
    let mut config = TestConfig::default();
    config.traffic.seed = number;
    config.events = (0..number % 7)
        .map(|n| Event {
            connections: ConnectionSet::One(1),
            target: Target::Data { psn: n as u32 + 1, iter: 1 },
            progression: None,
            action: Action::DROP,
        })
        .collect();
    config
}

pub(crate) fn evaluation(number: u64) -> Evaluation {
    let outcome = if number.is_multiple_of(5) {
        Outcome::Invalid { reason: format!("execution {number} was cut short") }
    } else {
        Outcome::Scored(Scores {
            objectives: BTreeMap::from([("stall".to_owned(), score(number)), ("goodput".to_owned(), 0.25)]),
            sightings: vec![Sighting { signature: signature(number), objectives: vec!["stall".to_owned()] }],
            references: vec![key(number)],
            coverage: [Coverage::from_iter([number as usize]), Coverage::default()],
            situations: vec![1, number as u16],
            losses: vec![number as u8; 3],
        })
    };
    let lineage = Lineage {
        parent: number.checked_sub(3).filter(|parent| *parent > 0),
        operators: vec!["add-event".to_owned(), "move-event".to_owned()],
        seed: number * 7,
    };
    Evaluation { number, config: config(number), lineage, outcome }
}

pub(crate) fn score(number: u64) -> f64 {
    (number % 100) as f64 / 100.0
}

/// One execution in two is kept.
pub(crate) fn is_kept(number: u64) -> bool {
    number.is_multiple_of(2)
}

/// Four executions share a reference, which the first of them needs for the first time.
pub(crate) fn key(number: u64) -> Key {
    Key::of(&config((number - 1) / 4))
}

pub(crate) fn signature(number: u64) -> String {
    format!("stall requester rule-{}", number % 6)
}

pub(crate) fn finding(number: u64) -> FindingRecord {
    FindingRecord {
        id: format!("{:012x}", number % 6),
        kind: "stall".to_owned(),
        signature: signature(number),
        title: "The requester stalls".to_owned(),
        first_seen_execution: number % 6 + 1,
        sightings: number,
        config: config(number),
        reproducer: config(number / 2),
        minimized: Minimized::Pending,
        minimizer_executions: 0,
        evidence: "{\"packets\":[]}".repeat(number as usize % 40),
    }
}

#[allow(dead_code, reason = "not all tests minimise")]
pub(crate) fn minimising(number: u64) -> Minimising {
    Minimising { start: config(number), spent: number }
}

#[allow(dead_code, reason = "not all tests minimise")]
pub(crate) fn answer(number: u64) -> Answer {
    let references = (1..=number % 3).map(key).collect();
    let shows = number.is_multiple_of(2);
    Answer { test: Key::of(&config(number)), shows, runs: number % 4, packets: number * 100, references }
}

pub(crate) fn progress(executions: u64) -> Progress {
    Progress {
        executions,
        reference_executions: executions / 4,
        minimizer_executions: 0,
        invalid: executions / 5,
        elapsed_ms: executions * 3,
        runs: executions + 7,
    }
}

/// Records and decides an execution as most tests here do: kept if even, with a finding if divisible by 3.
pub(crate) fn write(store: &Store, number: u64) -> Result<(), StoreError> {
    let (references, findings) = ([key(number)], [finding(number)]);
    let first = number % 4 == 1;
    store.record(&evaluation(number))?;
    if first {
        store.put_reference(key(number), &number.to_be_bytes())?;
    }
    store.decide(&Decision {
        number,
        kept: is_kept(number).then(|| score(number)),
        new_references: if first { &references } else { &[] },
        findings: if number.is_multiple_of(3) { &findings } else { &[] },
        situations: &[situation(number)],
        losses: losses(number).as_deref(),
        progress: progress(number),
    })
}

/// Two of three executions have losses: the sum up to one is its number.
pub(crate) fn losses(number: u64) -> Option<Vec<u8>> {
    (!number.is_multiple_of(3)).then(|| number.to_be_bytes().to_vec())
}

/// The executions go through 32 situations, one after the other.
pub(crate) fn situation(number: u64) -> SituationSeen {
    let first = (number - 1) % 32 + 1;
    SituationSeen { situation: first as u16, first, again: number > first }
}

pub(crate) fn fill(store: &Store, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        write(store, number).unwrap();
    }
}

#[allow(dead_code, reason = "not all tests kill")]
/// A folder as it is now: what a process leaves behind that is killed at this moment.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            match fs::copy(entry.path(), to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{error}"),
                _ => {}
            }
        }
    }
}
