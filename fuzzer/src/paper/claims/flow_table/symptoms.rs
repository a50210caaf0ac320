//! The symptoms of production (table 1), each at its threshold, and nothing just below it; and what they do to traffic.

use std::collections::BTreeMap;

use corpus::{Operation, Verb};
use dumper::observation::ControlEvent;

use super::{BF3, Basis, CX6, CX7, Claim, Nics, Published, Seen, TableTest, Value, claim};
use crate::judge::{InMemory, ReferenceRuns, integrity_of, judge_observed};
use crate::paper::lab;
use crate::paper::tables::{Place, Traffic};

const PACED: TableTest = TableTest::new(Traffic::Paced, Verb::Write);
const SLOW: TableTest = TableTest::new(Traffic::Slow, Verb::Write);

/// Signatures of the findings of a test, with the runs that it is compared with.
fn signatures(seen: &Seen<'_>) -> Option<Vec<String>> {
    let mut testbed = lab::testbed();
    let baselines = InMemory::on(&testbed);
    let mut references = ReferenceRuns::On { testbed: &mut testbed, baselines: &baselines, may_fail: false };
    let observation = seen.observation.clone();
    let integrity = integrity_of(&observation);
    let judged = judge_observed(Some(seen.config), observation, integrity, &mut references);
    judged.ok().map(|judged| judged.signatures())
}

const ONCE: &str = "found, not below";

/// The verdict on tests of which those below a threshold find nothing, and some beyond it one thing and no other.
fn at_threshold(below: &[Seen<'_>], beyond: &[Seen<'_>], signature: &str) -> Option<Value> {
    let found = |seen: &[Seen<'_>]| -> Option<Vec<String>> {
        let of_all = seen.iter().map(signatures).collect::<Option<Vec<_>>>()?;
        Some(of_all.into_iter().flatten().collect())
    };
    let (below, beyond) = (found(below)?, found(beyond)?);
    let holds = below.is_empty() && !beyond.is_empty() && beyond.iter().all(|one| one == signature);
    Some(Value::Words(if holds {
        ONCE.into()
    } else {
        format!("below: {}; beyond: {}", below.join(", "), beyond.join(", "))
    }))
}

/// The verdict on two tests, just below a threshold and beyond it.
fn twins(seen: &[Seen<'_>], signature: &str) -> Option<Value> {
    let (below, beyond) = seen.split_at_checked(1)?;
    at_threshold(below, beyond, signature)
}

const fn symptom(
    what: &'static str,
    nics: &'static [Nics],
    basis: Basis,
    tests: &'static [&'static [TableTest]],
    measure: fn(&[Seen<'_>]) -> Option<Value>,
) -> Claim {
    claim(what, nics, Published::Words(ONCE), basis, ("", "ScalaCN table 1"), tests, measure)
}

/// Seeds of the tests in which chance decides.
const SEEDS: usize = 10;

const fn seeds(test: TableTest) -> [TableTest; SEEDS] {
    let mut tests = [test; SEEDS];
    let mut at = 0;
    while at < SEEDS {
        tests[at].seed = at as u64 + 1;
        at += 1;
    }
    tests
}

/// Counters of 7,200 entries are read in ten seconds; a look at the entries may come half a second later.
const REOFFLOADED: [TableTest; 2] = [SLOW.with_flows(7_200), SLOW.with_flows(7_580)];
/// Where a reading is late by a fifth at the most, those of 6,000.
const RARELY_BELOW: [TableTest; SEEDS] = seeds(SLOW.with_flows(6_000));
const RARELY: [TableTest; SEEDS] = seeds(SLOW.with_flows(6_200));
/// A thousand operations a second, none of which may wait for longer than one.
const AT_ONCE: [TableTest; 2] = [adding(Operation::AddFlows(1_001)), adding(Operation::AddFlows(1_003))];
/// A NIC with room for 1,024 masks, of which 1,020 are there.
const MASKS: [TableTest; 2] = [masked(4), masked(5)];
/// Deletion takes three times as long with 2,500 entries.
const DELETED: [TableTest; 2] = [deleting(2_500), deleting(2_800)];
const DELETED_OF_MANY: [TableTest; 2] = [deleting(24), deleting(10_010)];
/// A connection behind so many masks, beside three with the first.
const BEHIND: [TableTest; 2] = [behind(&[1, 2, 3, 40]), behind(&[1, 2, 3, 60])];
/// A function is unbound between messages, and within one.
const UNBOUND: [TableTest; 2] =
    [PACED.operating(10, Operation::UnbindVf(2)), LONG.operating(2, Operation::UnbindVf(2))];
const LONG: TableTest = TableTest::new(Traffic::Long, Verb::Write);
/// Ten thousand tunnels, and one more.
const TUNNELS: [TableTest; 2] = [tunnels(10), tunnels(11)];

const fn adding(operation: Operation) -> TableTest {
    PACED.operating(10, operation)
}

const fn masked(more: u32) -> TableTest {
    let test = TableTest { place: Place::First, ..PACED.at([1_020, 1, 1, 1]) };
    test.operating(10, Operation::AddMasks(more))
}

const fn deleting(flows: u32) -> TableTest {
    PACED.with_flows(flows).operating(1, Operation::RemoveFlows(5))
}

const fn behind(masks: &'static [u32]) -> TableTest {
    TableTest { place: Place::Of(masks), ..PACED.at([100; 4]) }
}

const fn tunnels(more: u32) -> TableTest {
    let test = TableTest { vxlan: true, ..PACED };
    test.with_flows(9_990).operating(10, Operation::AddFlows(more))
}

/// Median time of a deletion in ns.
fn deletion(seen: &Seen<'_>) -> Option<f64> {
    let records = seen.observation.requester_control.iter();
    let of_deletions = records.filter(|record| record.event == ControlEvent::EntryDeleted);
    let mut times: Vec<u64> = of_deletions.map(|record| record.took_ns.0).collect();
    times.sort_unstable();
    times.get(times.len() / 2).map(|time| *time as f64)
}

/// The times of figure 3, a hundredth of its: the entries that can be read in a tenth of a second are 72.
const OSCILLATING: [TableTest; 1] = [TableTest {
    max_idle_ms: 100,
    revalidate_ms: 100,
    ..TableTest::new(Traffic::Steady, Verb::Write).with_flows(300)
}];

/// Goodput in each hundredth of a second, in Gb/s; the last one is not whole.
fn by_time(seen: &Seen<'_>) -> Vec<f64> {
    const BIN_NS: u64 = 10_000_000;
    let mut bits: BTreeMap<u64, u64> = BTreeMap::new();
    for one in seen.observation.completions() {
        *bits.entry(one.completed_ns.0 / BIN_NS).or_default() += one.bytes * 8;
    }
    let Some(last) = bits.keys().next_back().copied() else { return Vec::new() };
    (0..last).map(|bin| bits.get(&bin).copied().unwrap_or_default() as f64 / BIN_NS as f64).collect()
}

/// Symptoms S1 to S8.
pub(in super::super) const SYMPTOMS: &[Claim] = &[
    symptom(
        "S1, entries in use are deleted: 7,200 flows, and 5 % more",
        &[CX6],
        Basis::Calibrated,
        &[&REOFFLOADED],
        |seen| twins(seen, "offload-instability/eswitch/entries-in-use-deleted"),
    ),
    symptom(
        "S2, software stops: a thousand new flows at once, and two more",
        &[CX7],
        Basis::Calibrated,
        &[&AT_ONCE],
        |seen| twins(seen, "stall/requester/kernel-hangs/eswitch_operation_wait"),
    ),
    symptom(
        "S3, the kernel crashes: as many masks as the NIC has room for, and one more",
        &[CX7],
        Basis::Assumed,
        &[&MASKS],
        |seen| twins(seen, "crash/requester/kernel-crashes/eswitch_entry_free"),
    ),
    symptom(
        "S4, slow deletion: 2,500 entries, where it takes three times as long, and more",
        &[CX6],
        Basis::Calibrated,
        &[&DELETED],
        |seen| twins(seen, "slow-control/eswitch/operation-slower-with-entries/delete"),
    ),
    symptom(
        "S5, an entry in use is deleted now and then: readings late by a fifth, 6,000 flows and 3 % more, ten seeds",
        &[CX7],
        Basis::Assumed,
        &[&RARELY_BELOW, &RARELY],
        |seen| {
            let (below, beyond) = seen.split_at_checked(SEEDS)?;
            at_threshold(below, beyond, "offload-instability/eswitch/entry-in-use-deleted")
        },
    ),
    symptom(
        "S6, a slow flow: mask 40 beside others in the first, and mask 60",
        &[CX7],
        Basis::Derived,
        &[&BEHIND],
        |seen| twins(seen, "slow-flow/eswitch/flow-slower-than-others"),
    ),
    symptom(
        "S7, the link goes down: a function unbound between messages, and within one",
        &[CX6],
        Basis::Assumed,
        &[&UNBOUND],
        |seen| twins(seen, "link-down/eswitch/link-goes-down"),
    ),
    symptom(
        "S8, the NIC answers nothing: 10,000 tunnels, and one more",
        &[BF3],
        Basis::Calibrated,
        &[&TUNNELS],
        |seen| twins(seen, "stall/requester/host-silent"),
    ),
    claim(
        "S1, highest over lowest goodput (15 and below 1 Gb/s), times a hundredth",
        &[CX6],
        Published::Above(10.0),
        Basis::Shape,
        ("", "ScalaCN figure 3"),
        &[&OSCILLATING],
        |seen| {
            let goodputs = by_time(seen.first()?);
            let highest = goodputs.iter().copied().fold(0.0, f64::max);
            let lowest = goodputs.iter().copied().fold(f64::INFINITY, f64::min);
            (!goodputs.is_empty()).then(|| Value::Number(highest / lowest))
        },
    ),
    claim(
        "S4, deletion with 10 thousand entries, of that with 24",
        &[CX6],
        Published::About(9.0),
        Basis::Calibrated,
        ("", "ScalaCN table 1"),
        &[&DELETED_OF_MANY],
        |seen| Some(Value::Number(deletion(seen.get(1)?)? / deletion(seen.first()?)?)),
    ),
];
