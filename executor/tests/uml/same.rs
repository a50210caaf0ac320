//! From a fresh boot, a test gives the same packets at the same nanoseconds, and the same words on both consoles.

use corpus::TestConfig;
use executor::guests::{Outcome, Site as _};
use executor::uml::{Cache, Site};
use sha2::{Digest as _, Sha256};

use super::environment::number;
use super::pair::{alone, test};
use super::site::KERNELS;

/// Digest of the packets of a test in guests that have just booted, and the lines of their consoles.
fn first_run(config: &TestConfig) -> (String, [Vec<String>; 2]) {
    let mut site = Site::find(&Cache::open(None).unwrap(), &KERNELS).unwrap();
    let Outcome::Ran(observed) = site.run(config) else { panic!("it does not run") };
    let text = format!("{:?}\n{:?}\n{:?}", observed.trace, observed.completions, observed.deliveries);
    let digest = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    (digest, site.consoles().clone())
}

/// `LUMINA_RUNS` says how often.
#[test]
fn a_test_from_a_fresh_boot_is_always_the_same() {
    let events =
        "[[event]]\nqpn = 1\npsn = 3\ntype = \"drop\"\n[[event]]\nqpn = 2\npsn = 2\ntype = \"corrupt\"\n";
    let config =
        test("rdma-verb = \"send_read\"\nnum-connections = 4\nnum-msgs-per-qp = 6\ntx-depth = 3\n", events);
    let _alone = alone();
    let (first, consoles) = first_run(&config);
    for run in 1..number("LUMINA_RUNS", 20) {
        let (digest, same_consoles) = first_run(&config);
        assert_eq!(digest, first, "run {run}");
        assert_eq!(same_consoles, consoles, "run {run}");
    }
}
