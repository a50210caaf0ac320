//! The true state of both ends lies inside the judge's beliefs, at every packet of random tests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;

use dumper::wire::{Class, Syndrome};
use executor::sim::{Truth, run_and_watch};
use scoring::go_back_n::{Belief, Beliefs, Ordered};
use scoring::{Options, beliefs};

use super::environment::number;
use super::{Case, each_seed, selective};

/// Widths of the beliefs that were held to the truth, and what was not inside.
#[derive(Default)]
struct Held {
    /// Packets of the tests, and those whose sender's state was believed something of.
    packets: [u64; 2],
    /// Tests with each circumstance.
    tests: BTreeMap<String, u64>,
    /// Packets, by the name of the belief and its width.
    widths: BTreeMap<(&'static str, i64), u64>,
    outside: Vec<String>,
}

impl Held {
    fn hold<T: Ordered + std::fmt::Debug>(
        &mut self,
        name: &'static str,
        belief: Belief<T>,
        truth: T,
        place: &str,
    ) {
        *self.widths.entry((name, belief.width())).or_default() += 1;
        if !belief.allows(truth) {
            self.outside.push(format!("{place}: {name} is {truth:?}, believed {belief:?}"));
        }
    }

    fn add(&mut self, other: Self) {
        self.packets = [self.packets[0] + other.packets[0], self.packets[1] + other.packets[1]];
        for (circumstance, tests) in other.tests {
            *self.tests.entry(circumstance).or_default() += tests;
        }
        for (width, packets) in other.widths {
            *self.widths.entry(width).or_default() += packets;
        }
        self.outside.extend(other.outside);
    }

    /// Median width of a belief.
    fn median(&self, name: &str) -> i64 {
        let of = || self.widths.iter().filter(|((of, _), _)| *of == name);
        let half = of().map(|(_, packets)| packets).sum::<u64>().div_ceil(2);
        let mut packets = 0;
        let middle = of().find(|(_, more)| {
            packets += **more;
            packets >= half
        });
        middle.map_or(0, |((_, width), _)| *width)
    }
}

/// Holds the beliefs of a test to what its NICs truly knew.
fn hold(seed: u64, draw: fn(u64) -> Case) -> Held {
    let Case { config, profiles } = draw(seed);
    let mut truths: BTreeMap<(u32, bool), VecDeque<Truth>> = BTreeMap::new();
    let observation = run_and_watch(&config, profiles, |truth| {
        if !truth.is_cnp {
            truths.entry((truth.connection, truth.requests)).or_default().push_back(truth);
        }
    })
    .unwrap_or_else(|error| panic!("{error}"));
    let mut believed: BTreeMap<usize, Beliefs> =
        beliefs(&observation, Options { config: Some(&config) }).into_iter().collect();
    let (mut held, mut seen) = (Held::default(), BTreeSet::new());
    let trace = &observation.trace;
    for (at, record) in trace.records().iter().enumerate().filter(|(_, record)| record.class() != Class::Cnp)
    {
        let flow = trace.flow(record);
        let ends = observation.connections.iter().zip(0_u32..).find_map(|(ends, connection)| {
            let is = |end: &dumper::Endpoint| end.qpn == Some(flow.dest_qpn) && end.ip == flow.destination;
            if is(&ends.responder) {
                return Some((connection, true));
            }
            is(&ends.requester).then_some((connection, false))
        });
        let Some((connection, requests)) = ends else { panic!("{seed}: {record:?} is of no connection") };
        let truth = truths.get_mut(&(connection, requests)).and_then(VecDeque::pop_front).unwrap();
        held.packets[0] += 1;
        seen.insert(record.event().to_string());
        seen.extend((record.class() == Class::ReadRequest).then(|| "Read".to_owned()));
        let is_rnr =
            record.class() == Class::Acknowledge && matches!(record.aeth().syndrome, Syndrome::RnrNak(_));
        seen.extend(is_rnr.then(|| "RNR NAK".to_owned()));
        let Some(beliefs) = believed.remove(&at) else { continue };
        held.packets[1] += 1;
        let place = format!("LUMINA_SEED={seed} packet {} connection {}", record.sequence, connection + 1);
        if !requests {
            held.hold("expected PSN", beliefs.expected, truth.expected, &place);
        } else {
            held.hold("oldest PSN", beliefs.oldest, truth.oldest, &place);
            held.hold("transport retries", beliefs.transport_retries, truth.retries, &place);
            held.hold("RNR retries", beliefs.rnr_retries, truth.rnr_retries, &place);
        }
    }
    held.tests = seen.into_iter().map(|circumstance| (circumstance, 1)).collect();
    held
}

/// Holds the beliefs of so many tests, unless `LUMINA_CASES` says how many, to the truth; returns what was seen, and the tests.
fn hold_all(tests: u64, draw: fn(u64) -> Case) -> (Held, u64) {
    let (first, cases) = (number("LUMINA_SEED", 1), number("LUMINA_CASES", tests));
    let held = Mutex::new(Held::default());
    each_seed(first, cases, |seed| {
        let of_test = hold(seed, draw);
        held.lock().unwrap().add(of_test);
    });
    let held = held.into_inner().unwrap();
    let [packets, believed] = held.packets;
    println!("{believed} of {packets} packets; tests: {:?}", held.tests);
    for name in ["expected PSN", "oldest PSN", "transport retries", "RNR retries"] {
        println!("median width of the belief of the {name}: {}", held.median(name));
    }
    let some = held.outside.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(held.outside.is_empty(), "{} of the true states lie outside:\n{some}", held.outside.len());
    assert!(believed * 10 > packets * 9, "nothing is believed of the sender of most packets");
    (held, cases)
}

#[test]
fn the_true_state_lies_inside_the_beliefs() {
    let (held, cases) = hold_all(4_000, Case::draw);
    for circumstance in ["drop", "corrupt", "delay", "reorder", "duplicate", "Read", "RNR NAK"] {
        let tests = held.tests.get(circumstance).copied().unwrap_or(0);
        assert!(tests * 50 > cases, "only {tests} of {cases} tests have {circumstance}");
    }
}

#[test]
fn the_true_state_lies_inside_the_beliefs_of_selective_repeat() {
    let (held, _) = hold_all(500, selective::draw);
    // A packet out of order is believed to have moved nothing.
    assert!(held.median("expected PSN") <= 64, "{}", held.median("expected PSN"));
}
