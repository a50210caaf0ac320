//! The unit T of scripts.

use corpus::Traffic;
use dumper::Nanos;
use dumper::script::{Operand, Problem, Script, Span, Window};
use dumper::timers::ack_timeout;

/// T: the shortest ACK timeout that the test permits. Zero where the timer is off; scripts that count in T have
/// been refused then.
pub(super) fn timeout(traffic: &Traffic) -> Nanos {
    ack_timeout(traffic.min_retransmit_timeout).unwrap_or(Nanos::ZERO)
}

/// Errors in the times of a script.
pub(super) fn problems(script: &Script, traffic: &Traffic) -> Vec<Problem> {
    let timeout = timeout(traffic);
    let mut problems = Vec::new();
    let mut known = |at, span: Span| {
        let known = !span.counts_timeouts() || timeout != Nanos::ZERO;
        if !known {
            let help = "set min-retransmit-timeout, or count in ns, us, ms or s";
            problems.push(Problem::new(
                at,
                "T is no time: min-retransmit-timeout 0 switches the timer off",
                help,
            ));
        }
        known
    };
    let mut backwards = Vec::new();
    for packet in script.packets() {
        let Window { least, most } = packet.time;
        if packet.time.ends().all(|end| known(packet.at, end))
            && most.is_some_and(|most| most.nanos(timeout) < least.nanos(timeout))
        {
            let message = format!("the time {} ends before it begins", packet.time);
            backwards.push(Problem::new(packet.at, message, "write the shorter time first"));
        }
    }
    let injected = script.injections.iter().flat_map(|injection| &injection.actions);
    for action in script.packets().flat_map(|packet| &packet.actions).chain(injected) {
        if let Operand::Time(span) = action.value.operand {
            known(action.at, span);
        }
    }
    problems.extend(backwards);
    problems
}
