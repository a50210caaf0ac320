//! Kernel faults in the log of a host: oops, BUG, panic, WARN; hung task, soft lockup, RCU stall.
//!
//! The log comes from whatever host was under test, so every line is taken for hostile.

use dumper::observation::kernel::{Kind, Trouble, troubles};
use dumper::{Connection, LogLine, Observation};

use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::rules::Rule;

/// Most distinct faults of one log.
const MAX_FAULTS: usize = 16;

/// Longest name of a function that is kept (`KSYM_NAME_LEN` is 512; those of drivers have 20 to 40).
const MAX_NAME: usize = 64;

/// Most functions of a call trace that are named.
const MAX_NAMED: usize = 6;

/// One fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) rule: Rule,
    /// The first line of its report.
    pub(crate) headline: String,
    /// The function that it happened in, without offset and compilers' suffixes; empty where no line has it.
    pub(crate) function: String,
    /// Functions of the call trace, the innermost first.
    pub(crate) trace: Vec<String>,
}

/// The rule that a trouble breaks; `None` for troubles that may be the host's own doing.
const fn broken_by(kind: Kind) -> Option<Rule> {
    match kind {
        Kind::Oops | Kind::Panic | Kind::Bug => Some(Rule::KernelCrashes),
        Kind::Warning => Some(Rule::KernelWarns),
        Kind::HungTask | Kind::RcuStall | Kind::SoftLockup | Kind::HardLockup => Some(Rule::KernelHangs),
        Kind::AgentEnded => Some(Rule::AgentEnds),
        Kind::Silent => Some(Rule::HostSilent),
        Kind::Rebooted => Some(Rule::HostRestarts),
        Kind::UnfoundedCompletion => Some(Rule::CompletionUnfounded),
        Kind::OutOfMemory => None,
    }
}

/// The faults of a log, in order. A panic after a crash is part of it.
pub(crate) fn faults(log: &[LogLine]) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for trouble in &troubles(log) {
        let Some(rule) = broken_by(trouble.kind) else { continue };
        let crashed = faults.iter().any(|fault| fault.rule == Rule::KernelCrashes);
        if faults.len() < MAX_FAULTS && !(crashed && trouble.kind == Kind::Panic) {
            faults.push(fault(rule, trouble));
        }
    }
    faults
}

fn fault(rule: Rule, trouble: &Trouble) -> Fault {
    let mut trace: Vec<String> = trouble.calls().filter_map(|frame| name(&frame.function)).collect();
    trace.dedup();
    let function = trouble.function().and_then(name).unwrap_or_default();
    Fault { rule, headline: trouble.headline.trim().to_owned(), function, trace }
}

/// The name of a function without compilers' suffixes (`.cold`, `.isra.0`); `None` for a text that is not a
/// name.
fn name(function: &str) -> Option<String> {
    let name = function.split('.').next().unwrap_or(function);
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| name.to_owned())
}

/// Judges the logs of both hosts; whether one was lost, so that nothing after it says anything of its NIC.
pub(crate) fn judge(observation: &Observation, anomalies: &mut Anomalies) -> bool {
    let ends: Option<&Connection> = observation.connections.first();
    let hosts = [
        (Role::Requester, ends.map(|ends| ends.requester.ip), &observation.requester_log),
        (Role::Responder, ends.map(|ends| ends.responder.ip), &observation.responder_log),
    ];
    let mut crashed = false;
    for (role, address, log) in hosts {
        for fault in faults(log) {
            crashed |= matches!(
                fault.rule,
                Rule::KernelCrashes | Rule::AgentEnds | Rule::HostSilent | Rule::HostRestarts
            );
            let who = Who { role, address, connection: None };
            let what = words(&fault);
            let evidence = Evidence::default();
            anomalies.push(Anomaly { rule: fault.rule, who, state: fault.function.into(), what, evidence });
        }
    }
    crashed
}

fn words(fault: &Fault) -> String {
    let Fault { headline, trace, .. } = fault;
    let calls = &trace[..trace.len().min(MAX_NAMED)];
    let more = if trace.len() > calls.len() { " < ..." } else { "" };
    let called = if calls.is_empty() { String::new() } else { format!(" in {}{more}", calls.join(" < ")) };
    match fault.rule {
        Rule::AgentEnds => format!("loses the program that uses the QP: `{headline}`"),
        Rule::HostRestarts => format!("restarts: `{headline}`"),
        Rule::HostSilent => format!("stops answering: `{headline}`"),
        Rule::CompletionUnfounded => format!("reports a completion without a posted request: `{headline}`"),
        _ => format!("logs `{headline}`{called}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(text: &str) -> Vec<LogLine> {
        text.lines().map(|line| LogLine::new(1, line)).collect()
    }

    fn seen(text: &str) -> Vec<(Rule, String)> {
        faults(&log(text)).into_iter().map(|fault| (fault.rule, fault.function)).collect()
    }

    const OOPS: &str = "\
BUG: kernel NULL pointer dereference, address: 0000000000000010
#PF: supervisor read access in kernel mode
#PF: error_code(0x0000) - not-present page
Oops: 0000 [#1] PREEMPT SMP NOPTI
CPU: 0 PID: 33 Comm: kworker/u2:1 Not tainted 6.1.0-13-amd64 #1  Debian 6.1.55-1
RIP: 0010:check_rkey.isra.0+0x1a2/0x300 [rdma_rxe]
Code: 48 8b 45 10 <48> 8b 40 10
Call Trace:
 <TASK>
 ? __die_body.cold+0x1a/0x1f
 rxe_responder+0x5c1/0x13d0 [rdma_rxe]
 do_task+0x6e/0xb0 [rdma_rxe]
 </TASK>
RIP: 0033:0x7f1234567890
---[ end trace 0000000000000000 ]---
RIP: 0010:check_rkey.isra.0+0x1a2/0x300 [rdma_rxe]
Kernel panic - not syncing: Fatal exception in interrupt
---[ end Kernel panic - not syncing: Fatal exception in interrupt ]---";

    #[test]
    fn an_oops_is_one_fault_down_to_its_panic() {
        assert_eq!(seen(OOPS), [(Rule::KernelCrashes, "check_rkey".into())]);
        let fault = &faults(&log(OOPS))[0];
        assert_eq!(fault.trace, ["check_rkey", "rxe_responder", "do_task"]);
        assert_eq!(
            words(fault),
            "logs `BUG: kernel NULL pointer dereference, address: 0000000000000010` in \
             check_rkey < rxe_responder < do_task"
        );
    }

    #[test]
    fn warnings_and_hangs_are_named_by_who_waits() {
        let warning = "\
------------[ cut here ]------------
WARNING: CPU: 1 PID: 9 at drivers/infiniband/sw/rxe/rxe_pool.c:116 rxe_pool_cleanup+0x3a/0x40 [rdma_rxe]
RIP: 0010:rxe_pool_cleanup+0x3a/0x40 [rdma_rxe]
Call Trace:
 <TASK>
 rxe_dealloc+0x40/0xe0 [rdma_rxe]
---[ end trace 0000000000000000 ]---
INFO: task lumina-agent:77 blocked for more than 30 seconds.
Call Trace:
 <TASK>
 __schedule+0x351/0xa20
 schedule+0x5d/0xe0
 schedule_timeout+0x118/0x150
 wait_for_completion+0x8f/0x130
 rxe_destroy_qp+0x35/0x70 [rdma_rxe]";
        assert_eq!(
            seen(warning),
            [(Rule::KernelWarns, "rxe_pool_cleanup".into()), (Rule::KernelHangs, "rxe_destroy_qp".into())]
        );
        let lockup = "\
watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [kworker/0:1:12]
RIP: 0010:native_queued_spin_lock_slowpath+0x1c/0x2c0
Call Trace:
 _raw_spin_lock_irqsave+0x44/0x50
 rxe_completer+0x2c/0xf10 [rdma_rxe]";
        assert_eq!(seen(lockup), [(Rule::KernelHangs, "rxe_completer".into())]);
        let stall =
            "rcu: INFO: rcu_preempt self-detected stall on CPU\nRIP: 0010:do_task+0x20/0xb0 [rdma_rxe]";
        assert_eq!(seen(stall), [(Rule::KernelHangs, "do_task".into())]);
        let panic = "Kernel panic - not syncing: VFS: Unable to mount root fs";
        assert_eq!(seen(panic), [(Rule::KernelCrashes, String::new())]);
    }

    #[test]
    fn a_healthy_log_has_no_faults() {
        let healthy = "rxe0: set active\nrdma_rxe: loaded\nDEBUG: nothing\nrxe0: rxe_newlink: added eth0";
        assert_eq!(seen(healthy), []);
    }

    proptest! {
        /// Whatever a guest writes: no panic, bounded results, names that can be part of a signature.
        #[test]
        fn hostile_logs_are_bounded(lines in proptest::collection::vec(
            prop_oneof![
                ".{0,60}",
                proptest::sample::select(OOPS.lines().map(String::from).collect::<Vec<_>>()),
                "RIP: 0010:.{0,80}\\+0x[0-9a-f]{0,4}",
            ], 0..120)
        ) {
            let log: Vec<LogLine> = lines.iter().map(|line| LogLine::new(0, line)).collect();
            let faults = faults(&log);
            prop_assert!(faults.len() <= MAX_FAULTS);
            for fault in faults {
                prop_assert!(fault.function.len() <= MAX_NAME && !fault.function.contains(['/', ' ']));
            }
        }
    }
}
