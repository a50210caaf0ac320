//! Conforming worlds with random delays, habits and faults: the analyzers say nothing.

use std::collections::BTreeSet;

use dumper::Observation;
use dumper::trace::Origin;
use scoring::{Options, Rule, analyze};
use tests::synthetic::{self, Dice, Outcome, World, counters, random};

use crate::common::{config_of, for_all, only, part, silent};

/// Worlds of each property, and of the one that the others are variants of.
const CASES: u64 = 10_000;
const MAIN_CASES: u64 = 100_000;

/// Judges a world with all that can be known of it.
fn judged_with_config(world: &World, observation: &Observation) -> Result<(), String> {
    let config = config_of(world);
    let options = Options { config: Some(&config) };
    silent(observation, options).map_err(|failure| format!("{failure}{world:#?}"))
}

fn with_counters(outcome: Outcome) -> Observation {
    let [first, second] = outcome.tallies.map(|tally| Some(counters::nvidia(&tally)));
    Observation { requester: first, responder: second, ..outcome.observation }
}

#[test]
fn conforming_worlds_are_silent() {
    for_all("conforming", MAIN_CASES, |seed| {
        let world = random::world(seed);
        judged_with_config(&world, &synthetic::run(&world).observation)
    });
}

#[test]
fn counters_that_fit_are_silent() {
    for_all("counters", CASES, |seed| {
        let world = random::world(seed);
        judged_with_config(&world, &with_counters(synthetic::run(&world)))
    });
}

/// Packets that vanish behind the switch are not the transport's fault where the host counts them.
#[test]
fn counted_discards_are_silent() {
    for_all("counted discards", CASES, |seed| {
        let mut world = random::lossy_world(seed);
        random::hide_losses(&mut world, &mut Dice::new(!seed), 5);
        judged_with_config(&world, &with_counters(synthetic::run(&world)))
    });
}

/// In a test without counters, a packet that vanished is unexplained, and nothing else is wrong.
#[test]
fn uncounted_discards_are_unexplained() {
    for_all("uncounted discards", CASES, |seed| {
        let mut world = random::lossy_world(seed);
        random::hide_losses(&mut world, &mut Dice::new(!seed), 1);
        let outcome = synthetic::run(&world);
        let config = config_of(&world);
        let options = Options { config: Some(&config) };
        let analysis = analyze(&outcome.observation, options);
        if analysis.anomalies.kept().iter().all(|anomaly| anomaly.rule == Rule::DeliveredYetMissing) {
            return Ok(());
        }
        let trace = synthetic::trace(&outcome.observation);
        Err(format!("{}{trace}{world:#?}", synthetic::anomalies(&analysis)))
    });
}

/// A trace that ends in the middle of everything: what was not answered yet may still have been.
#[test]
fn traces_that_end_early_are_silent() {
    for_all("cut at the end", CASES, |seed| {
        let world = random::world(seed);
        let observation = synthetic::run(&world).observation;
        let length = observation.trace.records().len() as u64;
        let cut = Dice::new(!seed).within(0..=length) as usize;
        judged_with_config(&world, &part(&observation, 0..cut, Origin::Mirror, false))
    });
}

/// Without metadata and configuration, from the first packet on.
#[test]
fn bare_captures_are_silent() {
    for_all("bare", CASES, |seed| {
        let world = random::measurable_world(seed);
        let observation = synthetic::run(&world).observation;
        let length = observation.trace.records().len();
        for origin in [Origin::Mirror, Origin::Plain] {
            let bare = part(&observation, 0..length, origin, true);
            silent(&bare, Options::default()).map_err(|failure| format!("{failure}{world:#?}"))?;
        }
        Ok(())
    });
}

/// PSNs that a spectator takes for those of one connection.
const NEAR: u32 = 4_096;

/// Whether two connections between the hosts have PSNs near each other, as the boundaries of the numbers are drawn often. A
/// capture that has only the requests of one and the answers of the other cannot tell them apart; PSNs of real connections
/// are random numbers of 24 bits.
fn look_like_one(world: &World) -> bool {
    let psns = || world.connections.iter().map(|connection| connection.initial_psn).enumerate();
    let near = |a: u32, b: u32| a.abs_diff(b).min((1 << 24) - a.abs_diff(b)) < NEAR;
    psns().any(|(at, psn)| psns().any(|(other, also)| at != other && near(psn, also)))
}

/// A capture that was started in the middle of everything.
#[test]
fn captures_that_start_late_are_silent() {
    for_all("cut at the start", CASES, |seed| {
        let world = random::measurable_world(seed);
        if look_like_one(&world) {
            return Ok(());
        }
        let observation = synthetic::run(&world).observation;
        let length = observation.trace.records().len() as u64;
        let start = Dice::new(!seed).within(0..=length) as usize;
        for origin in [Origin::Mirror, Origin::Plain] {
            let late = part(&observation, start..length as usize, origin, true);
            silent(&late, Options::default()).map_err(|failure| format!("{failure}{world:#?}"))?;
        }
        Ok(())
    });
}

/// Plain captures have holes that nothing shows: packets that the capturing program missed.
#[test]
fn plain_captures_with_holes_are_silent() {
    for_all("holes", CASES, |seed| {
        let world = random::measurable_world(seed);
        let observation = synthetic::run(&world).observation;
        let length = observation.trace.records().len();
        let mut dice = Dice::new(!seed);
        let most = dice.pick(&[1, 4, 16]);
        let holes: BTreeSet<usize> = (0..most).map(|_| dice.within(0..=length as u64) as usize).collect();
        for bare in [true, false] {
            let mut seen = part(&observation, 0..length, Origin::Plain, bare);
            seen.trace = only(&seen.trace, |at, _| !holes.contains(&at));
            let judged = match bare {
                true => silent(&seen, Options::default()).map_err(|failure| format!("{failure}{world:#?}")),
                false => judged_with_config(&world, &seen),
            };
            judged.map_err(|failure| format!("{failure}without packets {holes:?}"))?;
        }
        Ok(())
    });
}

/// Captures of one direction, judged by what the requesters sent.
#[test]
fn captures_of_one_direction_are_silent() {
    for_all("one-way", CASES, |seed| {
        let world = random::measurable_world(seed);
        let observation = synthetic::run(&world).observation;
        let length = observation.trace.records().len();
        for origin in [Origin::Mirror, Origin::Plain] {
            let mut seen = part(&observation, 0..length, origin, true);
            seen.trace = only(&seen.trace, |_, record| record.class().is_request());
            let config = config_of(&world);
            silent(&seen, Options { config: Some(&config) })
                .map_err(|failure| format!("{failure}{world:#?}"))?;
        }
        Ok(())
    });
}
