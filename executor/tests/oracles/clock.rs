//! The same packets, said to be stamped by an emulated machine: functional rules judge alike, latencies are not judged.

use std::path::Path;

use corpus::Role;
use dumper::Clock;
use dumper::observation::LogLine;
use dumper::timers::ack_timeout;
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

/// A host may stand still for as long as an ACK timer of 67 ms runs, but not three times until it expires.
#[test]
fn a_gap_that_is_left_to_the_timer_again_and_again_is_ignored() {
    let of = |gaps: usize, profile: &str, timeout: u8| {
        // Reads of four responses each, of which the second is lost, after as many rounds.
        let lost = |read: usize| {
            format!("{{ qpn = 1, psn = {}, iter = {}, type = \"drop\" }}", 4 * read + 2, read + 1)
        };
        let events = (0..gaps).map(lost);
        let events: Vec<String> = events.collect();
        let text = format!(
            "traffic = {{ rdma-verb = \"read\", num-msgs-per-qp = 8, message-size = 4096, min-retransmit-timeout = {timeout} }}\n\
             event = [{}]",
            events.join(", ")
        );
        by_clock(&text, &[nic(profile), nic(profile)])
    };
    let ignores = "[timeout]\nfirst = 1.0\n[quirks]\nimplied-nak-ignored = true\n";
    let ignored = ["gbn-violation/requester/implied-nak-missing"];
    for (gaps, on_emulated) in [(1, &ignored[..0]), (2, &ignored[..0]), (3, &ignored), (8, &ignored)] {
        let [exact, emulated] = of(gaps, ignores, 14);
        assert_eq!(exact, ignored, "{gaps}");
        assert_eq!(emulated, on_emulated, "{gaps}");
    }
    // Within 50 ms the timer may only have been faster than the NIC.
    assert_eq!(of(8, ignores, 13)[1], [""; 0]);
    assert_eq!(of(8, "", 14), [vec![], Vec::<String>::new()]);
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
    assert_eq!(logged("testbed: agent started again: another process"), ["crash/requester/agent-ends"]);
    assert_eq!(logged("testbed: started again: another boot id"), ["crash/requester/host-restarts"]);
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
    let mut found = |stopped_after| {
        observation.stopped_after = stopped_after;
        signatures(&support::assess(&config, &nics, &observation))
    };
    assert_eq!(found(None), ["stall/requester/completion-missing"]);
    // A test may be stopped while the ACK timer still runs, and at the latest it expires after 4 T.
    let latest = ack_timeout(config.traffic.min_retransmit_timeout).unwrap().times(4);
    assert_eq!(found(Some(latest)), [""; 0]);
    assert_eq!(found(Some(latest.times(2))), ["stall/requester/completion-missing"]);
}
