//! Logs of the guests' kernels in observations.

use corpus::Role;
use dumper::observation::kernel::AGENT_ENDED;
use dumper::{LogLine, Observation};

use super::Console;
use crate::remote::log_of;

/// Observation of a test that ran to its end, without the ends of agents: an agent that was killed before the
/// test, while no test used it, had been restarted by then.
pub(crate) fn without_ends_of_agents(mut observed: Box<Observation>) -> Box<Observation> {
    for role in Role::ALL {
        log_of(&mut observed, role).retain(|line| !line.text.starts_with(AGENT_ENDED));
    }
    observed
}

/// Puts the lines that a guest's kernel logged since a mark before the lines of its agent, which have no
/// times of their own.
pub(crate) fn put_log_since(console: &Console, mark: u64, log: &mut Vec<LogLine>) {
    let logged: Vec<_> = console.since(mark).iter().filter_map(|line| LogLine::parse(line)).collect();
    let last_us = logged.last().map_or(0, |line| line.time_us);
    log.iter_mut().for_each(|line| line.time_us = last_us);
    log.splice(..0, logged);
}
