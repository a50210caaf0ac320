//! What the kernel of a host says of its own faults: oops, BUG, panic, WARN; hung task, soft lockup, RCU stall.
//!
//! The log comes from whatever host was under test, so every line is taken for hostile.

use dumper::observation::LogLine;
use dumper::{Connection, Observation};

use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::rules::Rule;

/// Most faults of one log that are told apart.
const MAX_FAULTS: usize = 16;

/// Most lines of a report that are looked at: registers, code, modules and the call trace are some 60.
const MAX_REPORT_LINES: usize = 200;

/// Longest name of a function that is kept (`KSYM_NAME_LEN` is 512; those of drivers have 20 to 40).
const MAX_NAME: usize = 64;

/// Most functions of a call trace that are named.
const MAX_NAMED: usize = 6;

/// What begins a report, by a part of its first line, and the rule that is broken. A line begins the report of the first
/// row that it has.
const STARTS: &[(&str, Rule)] = &[
    ("BUG: soft lockup", Rule::KernelHangs),
    ("INFO: rcu_", Rule::KernelHangs),
    ("rcu: INFO:", Rule::KernelHangs),
    (" blocked for more than ", Rule::KernelHangs),
    ("WARNING: CPU:", Rule::KernelWarns),
    ("kernel BUG at", Rule::KernelCrashes),
    ("BUG: ", Rule::KernelCrashes),
    ("Oops: ", Rule::KernelCrashes),
    ("general protection fault", Rule::KernelCrashes),
    ("Kernel panic - not syncing", Rule::KernelCrashes),
];

/// Functions that a task sleeps in, or that report it: what called them is to be named.
const WAITS: &[&str] = &[
    "__schedule",
    "schedule",
    "schedule_timeout",
    "schedule_preempt_disabled",
    "io_schedule",
    "wait_for_completion",
    "__wait_for_common",
    "wait_for_completion_timeout",
    "__mutex_lock",
    "mutex_lock",
    "__flush_work",
    "flush_work",
    "dump_stack",
    "dump_stack_lvl",
    "show_stack",
    "panic",
    "warn_slowpath_fmt",
    "__warn_printk",
    "kasan_report",
    "print_report",
    "__might_resched",
    "__might_sleep",
    "native_queued_spin_lock_slowpath",
    "_raw_spin_lock",
    "_raw_spin_lock_bh",
    "_raw_spin_lock_irqsave",
    "exc_page_fault",
    "asm_exc_page_fault",
    "memcpy",
    "__memcpy",
    "memcpy_orig",
];

/// One fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) rule: Rule,
    /// The first line of its report.
    pub(crate) headline: String,
    /// The function that it happened in, without offset and without what compilers append; empty where no line says.
    pub(crate) function: String,
    /// Functions of the call trace, the innermost first.
    pub(crate) trace: Vec<String>,
}

/// The faults of a log, in order. What follows an oops on its way down (`Oops:`, a panic) is part of it.
pub(crate) fn faults(log: &[LogLine]) -> Vec<Fault> {
    let begins: Vec<(usize, Rule)> = log
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, STARTS.iter().find(|(part, _)| has(&line.text, part))?.1)))
        .collect();
    let mut faults: Vec<Fault> = Vec::new();
    let mut last_end = 0;
    for (nth, (at, rule)) in begins.iter().copied().enumerate() {
        if at < last_end || faults.len() == MAX_FAULTS {
            continue;
        }
        // The next report of another kind ends this one; more lines of a crash belong to it.
        let next =
            begins[nth + 1..].iter().find(|(_, other)| *other != rule).map_or(log.len(), |(at, _)| *at);
        let end = end_of(log, at, next);
        last_end = end;
        let crashed = faults.iter().any(|fault| fault.rule == Rule::KernelCrashes);
        if crashed && log[at].text.contains("Kernel panic") {
            continue;
        }
        faults.push(read(rule, &log[at..end]));
    }
    faults
}

/// Whether a text has a part that is not the end of a longer word (`DEBUG: ` is no `BUG: `).
fn has(text: &str, part: &str) -> bool {
    let is_word = part.starts_with(char::is_alphanumeric);
    text.match_indices(part).any(|(at, _)| !(is_word && text[..at].ends_with(char::is_alphanumeric)))
}

/// One past the last line of a report: where the kernel says that it ends, or where the next one begins.
fn end_of(log: &[LogLine], at: usize, next: usize) -> usize {
    let most = next.min(at.saturating_add(MAX_REPORT_LINES));
    let ended = (at..most).find(|at| log[*at].text.contains("---[ end trace"));
    ended.map_or(most, |end| end + 1)
}

fn read(rule: Rule, report: &[LogLine]) -> Fault {
    let headline = report.first().map_or_else(String::new, |line| line.text.trim().to_owned());
    let pointer = report.iter().find_map(|line| {
        let (_, at) = line.text.split_once("RIP: 0010:")?;
        function_of(at)
    });
    let calls = report
        .iter()
        .map(|line| line.text.trim())
        .skip_while(|text| !text.starts_with("Call Trace:"))
        // Lines with a question mark are what happened to lie on the stack.
        .filter(|text| !text.starts_with('?'))
        .filter_map(function_of);
    let mut trace: Vec<String> = pointer.into_iter().chain(calls).collect();
    trace.dedup();
    let own = trace.iter().find(|name| !WAITS.contains(&name.as_str())).or(trace.first());
    Fault { rule, headline, function: own.cloned().unwrap_or_default(), trace }
}

/// The function of `name+0x1a2/0x1b0 [module]`, without what compilers append (`.cold`, `.isra.0`).
fn function_of(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    let (name, offset) = word.split_once("+0x")?;
    let is_offset = offset.bytes().all(|byte| byte.is_ascii_hexdigit() || b"/x".contains(&byte));
    let name = name.split('.').next().unwrap_or(name);
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_offset && is_name).then(|| name.to_owned())
}

/// Judges the logs of both hosts; whether a kernel crashed, so that nothing after it says anything of its NIC.
pub(crate) fn judge(observation: &Observation, anomalies: &mut Anomalies) -> bool {
    let ends: Option<&Connection> = observation.connections.first();
    let hosts = [
        (Role::Requester, ends.map(|ends| ends.requester.ip), &observation.requester_log),
        (Role::Responder, ends.map(|ends| ends.responder.ip), &observation.responder_log),
    ];
    let mut crashed = false;
    for (role, address, log) in hosts {
        for fault in faults(log) {
            crashed |= fault.rule == Rule::KernelCrashes;
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
    format!("has its kernel say `{headline}`{called}")
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
            "has its kernel say `BUG: kernel NULL pointer dereference, address: 0000000000000010` in \
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
        let healthy =
            "rxe0: set active\nrdma_rxe: loaded\nDEBUG: nothing\nrxe0: rxe_newlink: added eth0\nWARNING: at";
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
