//! From a fresh boot, a test gives the same packets at the same nanoseconds, and the same words on both consoles.

use corpus::TestConfig;
use dumper::Observation;
use dumper::observation::CompletionStatus;
use executor::guests::{Outcome, Site as _};
use executor::uml::{Cache, Campaigns, Mode, Site};
use executor::{History, Testbed, TestbedError};
use sha2::{Digest as _, Sha256};

use super::environment::number;
use super::pair::{alone, test};
use super::site::{KERNELS, Kernel};

/// Digest of the packets of a test in guests that have just booted, and the lines of their consoles.
fn first_run(config: &TestConfig) -> (String, [Vec<String>; 2]) {
    let mut site = Site::find(&Cache::open(None).unwrap(), &kernels()).unwrap();
    let Outcome::Ran(observed) = site.run(config) else { panic!("it does not run") };
    (digest(&observed), site.consoles().clone())
}

fn digest(observed: &Observation) -> String {
    let text = format!("{:?}\n{:?}\n{:?}", observed.trace, observed.completions, observed.deliveries);
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The kernel that `LUMINA_KERNEL` names, or that of the other tests, for both guests.
fn kernels() -> [Kernel; 2] {
    let named = std::env::var("LUMINA_KERNEL").ok().map(|name| name.parse::<Kernel>().unwrap());
    named.map_or(KERNELS, |kernel| [kernel.clone(), kernel])
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

/// A driver whose queue of frames is full waits to be told that there is room: Linux 6.1, whose responder sends all responses at
/// once, waited for ever in fast mode.
#[test]
fn a_host_that_sends_more_than_its_queue_holds_goes_on() {
    let config = test(
        "rdma-verb = \"read\"\nnum-connections = 6\nnum-msgs-per-qp = 5\nmessage-size = 17000\ntx-depth = 5\n",
        "",
    );
    let _alone = alone();
    let test_of = |_| None;
    for mode in [Mode::Exact, Mode::Fast] {
        let mut testbed = Campaigns::new(kernels(), mode).testbed();
        for number in [4, 8] {
            let history = History { number, test_of: &test_of };
            let observed = testbed.run_after(&history, &config).unwrap();
            let done = observed.completions().iter().filter(|one| one.status == CompletionStatus::Success);
            assert_eq!(done.count(), 30, "{mode:?}");
            for line in observed.requester_log.iter().chain(&observed.responder_log) {
                let is_of_boot = line.text.contains("Linux version");
                assert!(!line.text.contains("timed out") && !is_of_boot, "{mode:?}: {}", line.text);
            }
        }
    }
}

/// The tests of a campaign: each is larger than the one before, and some lose a packet.
fn of_campaign(number: u64) -> TestConfig {
    let event = if number.is_multiple_of(3) { "[[event]]\nqpn = 1\npsn = 2\ntype = \"drop\"\n" } else { "" };
    test(&format!("rdma-verb = \"send\"\nnum-msgs-per-qp = {}\nmessage-size = 2048\n", number + 1), event)
}

#[test]
fn a_test_of_a_campaign_is_the_same_after_the_tests_before_it_and_after_those_were_run_again() {
    let test_of = |number| Some(of_campaign(number));
    let run = |testbed: &mut dyn Testbed, number| {
        let history = History { number, test_of: &test_of };
        digest(&testbed.run_after(&history, &of_campaign(number)).unwrap())
    };
    let _alone = alone();
    for mode in [Mode::Exact, Mode::Fast] {
        let first = Campaigns::new(kernels(), mode);
        // Those of two lanes, in turns.
        let numbers = [5, 6, 9, 10, 13, 14, 17, 18];
        let mut seen: Vec<String> =
            numbers.iter().map(|number| run(&mut *first.testbed(), *number)).collect();
        let again = Campaigns::new(kernels(), mode);
        let mut testbed = again.testbed();
        assert_eq!(
            [run(&mut *testbed, 18), run(&mut *testbed, 17)],
            [seen.remove(7), seen.remove(6)],
            "{mode:?}"
        );
        // What is confirmed is so on guests that have just booted.
        let alone = testbed.run(&of_campaign(18)).unwrap();
        assert_eq!(digest(&alone), first_run(&of_campaign(18)).0);
    }
}

/// A test that would find guests in another state than the campaign's is not run.
#[test]
fn a_test_is_not_run_when_one_before_it_in_its_lane_is_not_known() {
    let _alone = alone();
    let mut testbed = Campaigns::new(kernels(), Mode::Fast).testbed();
    let test_of = |_| None;
    let error = testbed.run_after(&History { number: 8, test_of: &test_of }, &of_campaign(8)).unwrap_err();
    assert!(matches!(error, TestbedError::Broken(_)), "{error}");
    assert!(error.to_string().contains("execution 8 runs on the guests of execution 4"), "{error}");
}
