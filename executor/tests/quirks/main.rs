//! Wrong transports are caught: each quirk is found by the analyzers in a test that flips only its field, and the same
//! test finds nothing on NICs that conform.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod cases;
mod conditions;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use cases::{CASES, Case, Side, TWINS};
use corpus::TestConfig;
use executor::NicProfile;
use executor::profile::{FIELDS, Field};
use scoring::{Analyzer, Options, Rule};

/// A profile that is `reference` but for some fields.
fn profile(fields: &str) -> NicProfile {
    fields.parse().unwrap_or_else(|error| panic!("{fields}: {error}"))
}

fn config(case: &Case) -> TestConfig {
    corpus::from_toml("test.toml", case.test).unwrap_or_else(|errors| panic!("{}: {errors}", case.quirk))
}

/// Rules that are broken when the requester and the responder have these profiles.
fn rules(case: &Case, profiles: &[NicProfile; 2]) -> BTreeSet<&'static str> {
    let config = config(case);
    let observation = executor::sim::run(&config, profiles.clone()).unwrap();
    let integrity = dumper::integrity::check(&observation.trace, observation.switch.as_ref());
    assert!(!integrity.is_invalid(), "{integrity:?}");
    let analysis = scoring::analyze(&observation, Options { config: Some(&config) });
    // Rules of one NIC, and that of a test that is compared with itself.
    let compared = support::assess(&config, profiles, &observation).anomalies;
    let compared = compared.into_iter().map(|anomaly| anomaly.rule);
    let compared = compared.filter(|rule| rule.analyzer() == Analyzer::Mitigation);
    let own = analysis.anomalies.kept().iter().map(|anomaly| anomaly.rule);
    own.chain(compared).map(Rule::name).collect()
}

/// Both hosts' profiles as the case has them, the quirk on its side.
fn with_quirk(case: &Case) -> [NicProfile; 2] {
    let quirky = profile(&format!("{}\n[quirks]\n{}\n", case.hosts, case.quirk));
    match case.side {
        Side::Requester => [quirky, profile(case.hosts)],
        Side::Responder => [profile(case.hosts), quirky],
    }
}

/// Both hosts' profiles as the case has them, with another legal choice.
fn twin(case: &Case, choice: &str) -> [NicProfile; 2] {
    let mut table: toml::Table = choice.parse().unwrap();
    // Fields that the case needs of its hosts are fixed.
    table.extend(case.hosts.parse::<toml::Table>().unwrap());
    let profile = NicProfile::from_table(table).unwrap();
    [profile.clone(), profile]
}

#[test]
fn every_quirk_is_found() {
    for case in CASES {
        let found = rules(case, &with_quirk(case));
        assert!(found.contains(case.rule), "{}: {} is to be found, and {found:?} is", case.quirk, case.rule);
    }
}

#[test]
fn the_same_test_finds_nothing_on_conforming_nics() {
    for case in CASES {
        for choice in [""].iter().chain(TWINS) {
            let found = rules(case, &twin(case, choice));
            assert!(found.is_empty(), "{} off, {choice}: {found:?}", case.quirk);
        }
    }
}

/// Other rules that a quirk breaks: a remark too many would be one that blames the wrong side.
#[test]
fn what_each_quirk_is_called() {
    let found: Vec<String> = CASES
        .iter()
        .map(|case| {
            let found = rules(case, &with_quirk(case)).into_iter().collect::<Vec<_>>();
            format!("{:40} {}", case.quirk, found.join(", "))
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn every_quirk_has_a_case() {
    let quirks = FIELDS.iter().filter(|field| field.path.starts_with("quirks.")).map(Field::section_and_key);
    for (_, key) in quirks {
        assert!(CASES.iter().any(|case| case.quirk.starts_with(key)), "no case flips {key}");
    }
}
