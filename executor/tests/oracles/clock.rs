//! The same packets, said to be stamped by an emulated machine: functional rules judge alike, latencies are not judged.

use std::path::Path;

use corpus::Role;
use dumper::Clock;
use dumper::observation::LogLine;
use executor::NicProfile;

use crate::{nic, signatures, support, test};

/// Signatures of a test by the clock that its observation is said to have.
fn by_clock(text: &str, nics: &[NicProfile; 2]) -> [Vec<String>; 2] {
    let config = test(text);
    [Clock::Exact, Clock::Emulated].map(|clock| {
        let observation = executor::sim::run(&config, nics.clone()).unwrap();
        let observation = dumper::Observation { clock, ..observation };
        signatures(&support::assess(&config, nics, &observation))
    })
}

const LOSS: &str = "event = [{ qpn = 1, psn = 5, type = \"drop\" }]";

#[test]
fn latencies_are_those_of_the_emulation() {
    let slow = || executor::profile::load("cx4-lx", Path::new(".")).unwrap();
    let [exact, emulated] = by_clock(LOSS, &[slow(), slow()]);
    assert!(exact.iter().any(|one| one.starts_with("slow-retransmission/")), "{exact:?}");
    assert!(!emulated.iter().any(|one| one.starts_with("slow-retransmission/")), "{emulated:?}");
}

#[test]
fn rules_of_packets_hold_on_every_clock() {
    let again = || nic("[quirks]\nnak-repeats = 2\n");
    let [exact, emulated] = by_clock(LOSS, &[again(), again()]);
    assert_eq!(exact, ["gbn-violation/responder/nak-again"]);
    assert_eq!(emulated, exact);
}

/// Findings where a host's log has these lines, with NICs of these profiles.
fn logged(profiles: [&str; 2], role: Role, lines: &[&str]) -> Vec<String> {
    let (config, nics) = (test(LOSS), profiles.map(nic));
    let mut observation = executor::sim::run(&config, nics.clone()).unwrap();
    let log = match role {
        Role::Requester => &mut observation.requester_log,
        Role::Responder => &mut observation.responder_log,
    };
    log.extend(lines.iter().map(|line| LogLine::new(1, line)));
    signatures(&support::assess(&config, &nics, &observation))
}

const REPEATS_NAKS: &str = "[quirks]\nnak-repeats = 2\n";

#[test]
fn what_a_kernel_says_is_found_and_a_crash_is_all_there_is() {
    let logged = |lines: &[&str]| logged([REPEATS_NAKS; 2], Role::Responder, lines);
    let warning = "WARNING: CPU: 1 PID: 9 at rxe_pool.c:116 rxe_pool_cleanup+0x3a/0x40 [rdma_rxe]";
    let place = "RIP: 0010:rxe_pool_cleanup+0x3a/0x40 [rdma_rxe]";
    let mut found = logged(&[warning, place]);
    found.sort();
    assert_eq!(found, ["crash/responder/kernel-warns/rxe_pool_cleanup", "gbn-violation/responder/nak-again"]);
    let oops = "BUG: kernel NULL pointer dereference, address: 0000000000000010";
    assert_eq!(logged(&[oops, place]), ["crash/responder/kernel-crashes/rxe_pool_cleanup"]);
    let hang = "INFO: task lumina-agent:77 blocked for more than 20 seconds.";
    assert!(logged(&[hang]).iter().any(|one| one.starts_with("stall/responder/kernel-hangs")));
}

#[test]
fn a_host_that_is_lost_is_all_there_is() {
    let logged = |line| logged([REPEATS_NAKS, ""], Role::Requester, &[line]);
    assert_eq!(logged("guest: agent ended with status 139"), ["crash/requester/agent-ends"]);
    assert_eq!(logged("testbed: no answer: to Finish within 30s"), ["stall/requester/host-silent"]);
}

#[test]
fn a_completion_of_nothing_is_found_and_other_words_of_an_agent_are_none() {
    let logged = |line| logged([""; 2], Role::Requester, &[line]);
    let again = "agent: unfounded completion: message 3 is not outstanding (status 0) (connection 1)";
    assert_eq!(logged(again), ["data-corruption/requester/completion-unfounded"]);
    let failed = "agent: message 3 of connection 1 ended with status 12, vendor error 0x81";
    assert_eq!(logged(failed), Vec::<String>::new());
}

#[test]
fn a_request_that_never_completes_is_found() {
    let (config, nics) = (test("traffic = { num-connections = 2 }"), [nic(""), nic("")]);
    let mut observation = executor::sim::run(&config, nics.clone()).unwrap();
    let last = observation.completions().iter().rposition(|one| one.connection == 2).unwrap();
    observation.completions.as_mut().unwrap().remove(last);
    let found = signatures(&support::assess(&config, &nics, &observation));
    assert_eq!(found, ["stall/requester/completion-missing"]);
}
