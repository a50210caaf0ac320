//! Random tests with copies, dummies and many losses on random conforming NICs: none is harmed, whatever it loses of what mitigation adds.

use std::sync::Mutex;

use corpus::{LossEffect, LossModel, Network, Repeat};
use dumper::observation::CompletionStatus;
use executor::TestbedError;
use rand::RngExt;
use scoring::Analyzer;

use super::environment::number;
use super::{Case, each_seed, profiles};

/// A random test, if it has none of the circumstances that `stress` adds, with copies, dummies and losses of one in ten to a thousand packets.
fn draw(seed: u64) -> Option<Case> {
    let mut case = Case::draw(seed);
    let rng = &mut profiles::stream(seed, "mitigated");
    let copies = |rng: &mut rand_chacha::ChaCha8Rng| rng.random_range(1..=4);
    let (naks, retransmissions, tails) = (copies(rng), copies(rng), copies(rng));
    let paths = std::mem::take(&mut case.config.network.paths);
    let spray = if paths.len() > 1 { case.config.network.spray } else { Network::default().spray };
    case.config.network = Network {
        loss_ppb: 10f64.powf(rng.random_range(6.0..8.0)) as u32,
        loss_model: [LossModel::PerBit, LossModel::PerPacket][rng.random_range(0..2)],
        loss_effect: [LossEffect::Drop, LossEffect::Corrupt][rng.random_range(0..2)],
        repeat: Repeat { naks, retransmissions, tails, ..Repeat::default() },
        paths,
        spray,
        ..Network::default()
    };
    case.config.traffic.dummy_headers = rng.random_range(0..=3);
    case.config.traffic.max_retransmit_retry = [1, 2, 4, 7][rng.random_range(0..4)];
    if rng.random_bool(0.5) {
        case.config.events.clear();
    }
    (case.config.is_valid() && case.config.mitigates()).then_some(case)
}

/// What the tests went through.
#[derive(Default, Debug)]
struct Seen {
    tests: u64,
    long: u64,
    compared: u64,
    failing: u64,
    timing_out: u64,
    harmed: Vec<String>,
}

fn look_at(seed: u64, seen: &Mutex<Seen>) {
    let Some(Case { config, profiles }) = draw(seed) else { return };
    let observation = match executor::sim::run(&config, profiles.clone()) {
        // Go-back-N over paths that are far apart repeats nearly all.
        Err(TestbedError::TooManyPackets { .. }) => {
            seen.lock().unwrap().long += 1;
            return;
        }
        ran => ran.unwrap(),
    };
    let analysis = super::support::analyze(&config, &observation);
    let asks = scoring::score::references_needed(&config, &observation, &analysis);
    let assessment = super::support::assess(&config, &profiles, &observation);
    let harm = assessment.anomalies.iter().find(|anomaly| anomaly.rule.analyzer() == Analyzer::Mitigation);
    let mut seen = seen.lock().unwrap();
    seen.tests += 1;
    seen.compared += u64::from(asks.contains(&scoring::score::Reference::WithoutMitigation));
    let fails = |one: &dumper::Completion| one.status == CompletionStatus::RetryExceeded;
    seen.failing += u64::from(observation.completions().iter().any(fails));
    seen.timing_out += u64::from(!analysis.timeout_causes().is_empty());
    seen.harmed.extend(harm.map(|anomaly| format!("LUMINA_SEED={seed}: {anomaly:?}\n{config}")));
}

#[test]
fn conforming_nics_are_not_harmed_by_copies_and_dummies() {
    let (first, cases) = (number("LUMINA_SEED", 1), number("LUMINA_CASES", 2_000));
    let seen = Mutex::new(Seen::default());
    each_seed(first, cases, |seed| look_at(seed, &seen));
    let Seen { tests, long, compared, failing, timing_out, harmed } = seen.into_inner().unwrap();
    println!(
        "{tests} tests: {timing_out} time out, in {failing} a QP fails, {compared} are compared; {long} more are too long"
    );
    assert!(long * 1_000 <= tests, "{long} beside {tests} are too long");
    assert!(harmed.is_empty(), "{} of {tests} are harmed, the first:\n{}", harmed.len(), harmed[0]);
    assert!(tests * 2 > cases && timing_out * 10 > tests && failing * 50 > tests, "too little happens");
}
