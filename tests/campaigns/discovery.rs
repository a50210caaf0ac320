//! The estimate of how often more of the same search goes through something new, held to the same campaigns run on.

use std::collections::BTreeSet;
use std::path::Path;

use fuzzer::campaign::{Campaign, Limits, Request, Stop};
use fuzzer::night::Night;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::campaign::SMALL;
use crate::given::given;
use crate::run::folder;

/// Runs a campaign to so many executions, from where it is.
fn run(out: &Path, request: &Request, executions: u64) -> Night {
    let limits = Limits { executions: Some(executions), ..Limits::default() };
    let request = Request { limits, ..request.clone() };
    let campaign =
        if out.exists() { Campaign::resume(out, &request) } else { Campaign::begin(out, &request) }.unwrap();
    campaign.run(&Stop::new(), &|_| {}).unwrap();
    drop(campaign);
    Night::read(out).unwrap()
}

/// Of 20 campaigns that are cut at some point and run on to twice as many executions, 18 have what is estimated, within a factor of two.
#[test]
#[ignore = "takes minutes; run by ci/long nights"]
fn more_of_the_same_finds_what_is_estimated() {
    const CAMPAIGNS: usize = 20;
    let seed = given("LUMINA_SEED").unwrap_or(1);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let folder = folder(&[("small.toml", SMALL)]);
    let small = folder.path().join("small.toml").display().to_string();
    let mut near = 0;
    for number in 0..CAMPAIGNS {
        let nic = ["cx4-lx", "cx5", "cx6-dx", "e810"][number % 4];
        let target = ["general", "noisy-neighbor", &small][number / 4 % 3];
        // From 200 to 6,400, each order of magnitude alike.
        let cut = (200.0 * 2_f64.powf(rng.random_range(0.0..5.0))) as u64;
        let request = Request {
            target: Some(target.into()),
            nics: [Some(nic.into()), Some(nic.into())],
            seed: Some(rng.random_range(0..1_000)),
            minimizer_budget: Some(0),
            ..Request::default()
        };
        let out = folder.path().join(number.to_string());
        let estimated = run(&out, &request, cut).discoveries_again();
        let on = run(&out, &request, 2 * cut);
        let new: BTreeSet<u64> =
            on.situations.iter().map(|seen| seen.first).filter(|first| *first > cut).collect();
        let came = new.len() as f64;
        let is_near = came <= 2.0 * estimated && estimated <= 2.0 * came;
        near += usize::from(is_near);
        println!("{target} on {nic}, {cut} executions: {estimated:.1} expected, {came} came");
    }
    println!("{near} of {CAMPAIGNS} within a factor of two (seed {seed})");
    assert!(near >= 18, "{near} of {CAMPAIGNS}");
}
