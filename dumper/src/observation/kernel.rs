//! The kernel's reports of its troubles, and those of the host's other parts, read from lines of its log. The
//! log is that of whatever host is under test: every line is taken for hostile.

use serde::{Deserialize, Serialize};

use super::LogLine;

/// Troubles that are kept, the first ones.
const TROUBLES: usize = 64;

/// Calls of a trace that are kept.
const FRAMES: usize = 64;

/// Lines that a report may have; further lines belong to no report.
const REPORT: usize = 256;

/// Kinds of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A fault from which the kernel cannot continue: a bad address, `BUG()`, an invalid instruction.
    Oops,
    /// The kernel gave up by itself.
    Panic,
    /// A check failed, and the kernel goes on.
    Warning,
    /// The kernel found its own state wrong (`BUG:` lines outside of an oops).
    Bug,
    /// A task has waited for too long.
    HungTask,
    /// A processor does not come to rest.
    RcuStall,
    /// A processor is busy in the kernel for too long.
    SoftLockup,
    /// A processor takes no interrupts.
    HardLockup,
    /// A program was killed for want of memory.
    OutOfMemory,
    /// The program that drives the host's NIC ended ([`AGENT_ENDED`]).
    AgentEnded,
    /// The host did not answer any more ([`SILENT`]).
    Silent,
    /// The host was started again ([`REBOOTED`]).
    Rebooted,
    /// The host's stack completed a request that was not posted ([`UNFOUNDED_COMPLETION`]).
    UnfoundedCompletion,
}

/// Begins the line that the first process of a guest has in the kernel's log when the agent ends.
pub const AGENT_ENDED: &str = "guest: agent ended with status ";

/// Begins the line that a testbed adds to the log of a host which does not answer.
pub const SILENT: &str = "testbed: no answer: ";

/// Begins the line that a testbed adds to the log of a host that was started again in the middle of a test.
pub const REBOOTED: &str = "testbed: started again: ";

/// Begins the line that a testbed adds to the log of a host whose agent was started again in the middle of a test.
pub const AGENT_RESTARTED: &str = "testbed: agent started again: ";

/// Begins the line that a testbed adds to the log of a host whose kernel computes without end, before the place and the calls
/// that it was seen in.
pub const SPINNING: &str = "testbed: the kernel spins: ";

/// First word of the lines that a testbed adds for the reports of a host's agent.
pub const AGENT: &str = "agent: ";

/// First words of those about completions of requests that were not posted, that had completed before, or
/// that were not next.
pub const UNFOUNDED_COMPLETION: &str = "agent: unfounded completion: ";

impl Kind {
    /// Returns true if the kernel itself reports it; other kinds can have an outside cause.
    #[must_use]
    pub const fn is_of_kernel(self) -> bool {
        !matches!(self, Self::AgentEnded | Self::Silent | Self::Rebooted | Self::UnfoundedCompletion)
    }
}

/// One call of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The function.
    pub function: String,
    /// Offset in it, in bytes.
    pub offset: u64,
    /// Its length, in bytes.
    pub size: u64,
    /// The module that it is in; none of the kernel itself.
    pub module: Option<String>,
    /// True if the kernel is sure of it (no `?` before the line).
    pub certain: bool,
}

/// A trouble of a host's kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// Its kind.
    pub kind: Kind,
    /// Time by the host's clock since boot, in microseconds.
    pub at_us: u64,
    /// The line that says it.
    pub headline: String,
    /// The program that ran, or that hangs, with its process id.
    pub task: Option<(String, u32)>,
    /// The kernel's release.
    pub release: Option<String>,
    /// Place in the kernel.
    pub place: Option<Frame>,
    /// The calls that led there, the last one first.
    pub trace: Vec<Frame>,
    /// True if the kernel stopped because of it.
    pub fatal: bool,
}

impl Trouble {
    /// The functions from where it happened to who called it, as far as the kernel is sure of them.
    pub fn calls(&self) -> impl Iterator<Item = &Frame> {
        self.place.iter().chain(self.trace.iter().filter(|frame| frame.certain))
    }

    /// The function that it is about: the first of [`Self::calls`] that neither reports trouble nor waits, or
    /// else the first.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        let own = self.calls().find(|frame| !reports_or_waits(&frame.function));
        own.or(self.calls().next()).map(|frame| frame.function.as_str())
    }
}

/// Returns true for functions that report trouble, wait, or serve any caller, and so are not the cause of the
/// trouble.
fn reports_or_waits(function: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "__die",
        "__flush_work",
        "__might_",
        "__mutex_lock",
        "__schedule",
        "__wait_for_common",
        "__warn",
        "_raw_spin_",
        "asm_exc_",
        "die",
        "dump_stack",
        "exc_",
        "flush_work",
        "handle_bug",
        "io_schedule",
        "kasan_report",
        "memcpy",
        "__memcpy",
        "mutex_lock",
        "native_queued_spin_lock_slowpath",
        "oops_",
        "page_fault_oops",
        "panic",
        "print_report",
        "report_bug",
        "schedule",
        "show_stack",
        "wait_for_completion",
        "warn_slowpath_fmt",
    ];
    BEGINNINGS.iter().any(|beginning| function.starts_with(beginning))
}

/// Troubles in a log, in order.
#[must_use]
pub fn troubles(log: &[LogLine]) -> Vec<Trouble> {
    let mut reader = Reader::default();
    log.iter().for_each(|line| reader.line(line));
    reader.troubles
}

/// Reads lines of a kernel's log one by one.
#[derive(Debug, Default)]
pub struct Reader {
    troubles: Vec<Trouble>,
    /// Lines of the last trouble's report so far; none if it has ended.
    report: Option<usize>,
    /// Place in the registers that a user-mode kernel shows before it says why.
    shown: Option<Frame>,
}

impl Reader {
    /// Troubles so far, in order.
    #[must_use]
    pub fn troubles(&self) -> &[Trouble] {
        &self.troubles
    }

    /// Reads the next line.
    pub fn line(&mut self, line: &LogLine) {
        let text = without_caller(&line.text);
        if let Some(kind) = headline(text) {
            self.begin(kind, line.time_us, text);
            self.shown = None;
            return;
        }
        self.shown = instruction_pointer(text).or(self.shown.take());
        let Some(lines) = &mut self.report else { return };
        *lines += 1;
        if *lines > REPORT || text.starts_with("---[ end trace") {
            self.report = None;
        } else if let Some(trouble) = self.troubles.last_mut() {
            detail(trouble, text);
        }
    }

    fn begin(&mut self, kind: Kind, at_us: u64, text: &str) {
        let open = self.report.is_some();
        if let Some(last) = self.troubles.last_mut() {
            match kind {
                // The kernel ends because of the trouble that it has just reported.
                Kind::Panic if text.contains("Fatal exception") || text.contains("panic_on_") => {
                    last.fatal = true;
                    return;
                }
                // The same of a user-mode kernel, whose report follows.
                Kind::Panic if open && text.ends_with(": BUG!") => {
                    last.kind = Kind::Oops;
                    last.fatal = true;
                    return;
                }
                // The rest of a report that began with the fault: "BUG: …" or "kernel BUG at …", then "Oops:
                // …".
                Kind::Oops if open && matches!(last.kind, Kind::Oops | Kind::Bug) && last.place.is_none() => {
                    last.kind = Kind::Oops;
                    return;
                }
                _ => {}
            }
        }
        if self.troubles.len() == TROUBLES {
            self.report = None;
            return;
        }
        let mut trouble = Trouble {
            kind,
            at_us,
            headline: text.to_owned(),
            task: None,
            release: None,
            place: None,
            trace: Vec::new(),
            fatal: text.starts_with(PANIC),
        };
        trouble.task = task_of_headline(text);
        trouble.place = match kind {
            // "WARNING: CPU: 0 PID: 9 at file.c:12 function+0x1/0x2 [module]",
            // "BUG: KASAN: slab-out-of-bounds in function+0x1/0x2"
            Kind::Warning | Kind::Bug => text.match_indices(' ').find_map(|(at, _)| frame(&text[at + 1..])),
            Kind::Oops if trouble.fatal => self.shown.take(),
            _ => None,
        };
        self.troubles.push(trouble);
        self.report = kind.is_of_kernel().then_some(0);
    }
}

/// The text of a line behind who said it (`[  T123] text`), where the kernel says that.
fn without_caller(text: &str) -> &str {
    let said = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    said.filter(|(caller, _)| is_caller(caller))
        .map_or(text, |(_, text)| text.strip_prefix(' ').unwrap_or(text))
}

/// Returns true if this names a task (`T12`) or processor (`C0`).
fn is_caller(caller: &str) -> bool {
    let number = caller.trim_start().strip_prefix(['T', 'C']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Begins the line of a kernel that gives up.
const PANIC: &str = "Kernel panic - not syncing: ";

/// Faults of a user-mode kernel (`arch/um/kernel/trap.c`), behind [`PANIC`].
const USER_MODE_FAULTS: [&str; 3] =
    ["Kernel mode fault at addr", "Kernel tried to access user memory at addr", "Segfault with no mm"];

/// Reason of the kernel to give up, behind [`PANIC`], if its first process has ended.
const FIRST_PROCESS_ENDED: &str = "Attempted to kill init!";

/// Name of the agent's program, which is the first process of guests in virtual time.
pub const AGENT_PROGRAM: &str = "lumina-agent";

/// The kind of trouble that a line begins.
fn headline(text: &str) -> Option<Kind> {
    const ADDRESSES: [&str; 3] =
        ["BUG: kernel NULL pointer dereference", "BUG: unable to handle", "general protection fault"];
    const FAULTS: [&str; 5] =
        ["Oops: ", "invalid opcode: ", "divide error: ", "stack segment: ", "double fault: "];
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| text.starts_with(beginning));
    Some(match text {
        _ if begins(&ADDRESSES) || begins(&FAULTS) || text.starts_with("kernel BUG at ") => Kind::Oops,
        _ if text
            .strip_prefix(PANIC)
            .is_some_and(|why| USER_MODE_FAULTS.iter().any(|fault| why.starts_with(fault))) =>
        {
            Kind::Oops
        }
        _ if text.starts_with(PANIC) => Kind::Panic,
        _ if text.starts_with("WARNING: ") => Kind::Warning,
        _ if text.contains("BUG: soft lockup") || text.starts_with(SPINNING) => Kind::SoftLockup,
        _ if text.contains("hard LOCKUP") => Kind::HardLockup,
        _ if text.starts_with("BUG: ") || text.starts_with("UBSAN: ") => Kind::Bug,
        _ if text.starts_with("INFO: task ") && text.contains(" blocked for more than ") => Kind::HungTask,
        _ if begins(&["rcu: INFO: ", "INFO: rcu_"]) && text.contains("stall") => Kind::RcuStall,
        _ if text.starts_with("Out of memory: Killed process ") => Kind::OutOfMemory,
        _ if text.starts_with(AGENT_ENDED) || text.starts_with(AGENT_RESTARTED) => Kind::AgentEnded,
        _ if text.starts_with(REBOOTED) => Kind::Rebooted,
        _ if text.starts_with(SILENT) => Kind::Silent,
        _ if text.starts_with(UNFOUNDED_COMPLETION) => Kind::UnfoundedCompletion,
        _ => return None,
    })
}

/// The task that a headline names: `INFO: task name:12 blocked…`, `… stuck for 22s! [name:12]`,
/// `Killed process 12 (name)`.
fn task_of_headline(text: &str) -> Option<(String, u32)> {
    if let Some((_, killed)) = text.split_once("Killed process ") {
        let (pid, rest) = killed.split_once(" (")?;
        return Some((rest.split(')').next()?.to_owned(), pid.parse().ok()?));
    }
    let named = match text.strip_prefix("INFO: task ") {
        Some(rest) => rest.split(" blocked for").next()?,
        None => text.split_once("! [")?.1.strip_suffix(']')?,
    };
    let (name, pid) = named.rsplit_once(':')?;
    Some((name.to_owned(), pid.parse().ok()?))
}

/// Adds the details in a line of a report.
fn detail(trouble: &mut Trouble, text: &str) {
    if text.starts_with("CPU: ") {
        if let Some((task, release)) = context(text) {
            if trouble.headline.contains(FIRST_PROCESS_ENDED) && task.0 == AGENT_PROGRAM {
                trouble.kind = Kind::AgentEnded;
            }
            trouble.task.get_or_insert(task);
            trouble.release = release;
        }
    } else if let Some(place) = instruction_pointer(text) {
        trouble.place.get_or_insert(place);
    } else if let Some(called) = text.strip_prefix(' ') {
        // A user-mode kernel has the address in front: "[<600239a0>] function+0x1/0x2".
        let called = called.trim_start();
        let called = called
            .strip_prefix("[<")
            .and_then(|rest| rest.split_once(">] "))
            .map_or(called, |(_, rest)| rest);
        let (certain, called) = called.strip_prefix("? ").map_or((true, called), |called| (false, called));
        if let Some(frame) = frame(called).filter(|_| trouble.trace.len() < FRAMES) {
            trouble.trace.push(Frame { certain, ..frame });
        }
    } else if trouble.release.is_none() && trouble.kind == Kind::HungTask {
        // Indented in the kernel's text by blanks, which are taken off a console's line at its end only.
        trouble.release = release(text);
    }
}

/// Reads `RIP: 0010:function+0x12/0x34`; the selector is 0033 in a user-mode kernel. Of a program there is no function.
fn instruction_pointer(text: &str) -> Option<Frame> {
    let (_, place) = text.strip_prefix("RIP: ")?.split_once(':')?;
    frame(place)
}

/// Reads `CPU: 0 PID: 12 Comm: name Not tainted 6.1.0-50-amd64 #1`; 6.12 has a `UID: 0` before.
fn context(text: &str) -> Option<((String, u32), Option<String>)> {
    let (_, rest) = text.split_once("PID: ")?;
    let (pid, rest) = rest.split_once(' ')?;
    let rest = rest.strip_prefix("Comm: ")?;
    let end = [" Not tainted", " Tainted: ", " Kdump: "].iter().filter_map(|end| rest.find(end)).min();
    let comm = end.map_or_else(|| rest.split(' ').next().unwrap_or(rest), |end| &rest[..end]);
    Some(((comm.to_owned(), pid.parse().ok()?), release(rest)))
}

/// The release in a line that has it before the build's number (`6.1.0-50-amd64 #1`).
fn release(text: &str) -> Option<String> {
    let before = text.split_once(" #")?.0;
    let release = before.rsplit(' ').next()?;
    release.starts_with(|first: char| first.is_ascii_digit()).then(|| release.to_owned())
}

/// Reads `function+0x12/0x34 [module]`.
fn frame(text: &str) -> Option<Frame> {
    let (place, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (function, numbers) = place.split_once("+0x")?;
    let (offset, size) = numbers.split_once("/0x")?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let module = rest.strip_prefix('[').and_then(|rest| rest.split([']', ' ']).next());
    if function.is_empty() {
        return None;
    }
    Some(Frame {
        function: function.to_owned(),
        offset: hex(offset)?,
        size: hex(size)?,
        module: module.filter(|module| !module.is_empty()).map(str::to_owned),
        certain: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &str) -> Vec<Trouble> {
        troubles(&log.lines().filter_map(LogLine::parse).collect::<Vec<_>>())
    }

    const OOPS_6_1: &str = "\
[   41.221804] BUG: kernel NULL pointer dereference, address: 0000000000000008
[   41.221811] #PF: supervisor read access in kernel mode
[   41.221820] Oops: 0000 [#1] PREEMPT SMP NOPTI
[   41.221826] CPU: 0 PID: 71 Comm: kworker/0:1H Tainted: G        W          6.1.0-50-amd64 #1  Debian 6.1.176-1
[   41.221838] RIP: 0010:rxe_completer+0x2f1/0xcd0 [rdma_rxe]
[   41.221849] Call Trace:
[   41.221852]  <IRQ>
[   41.221856]  ? __die_body.cold+0x1a/0x1f
[   41.221860]  rxe_do_task+0x8a/0xf0 [rdma_rxe]
[   41.221865]  </IRQ>
[   41.221871] ---[ end trace 0000000000000000 ]---
[   41.221880] Kernel panic - not syncing: Fatal exception in interrupt
";

    #[test]
    fn an_oops_has_its_place_and_ends_the_guest() {
        let [trouble] = &read(OOPS_6_1)[..] else { panic!("one trouble") };
        assert_eq!((trouble.kind, trouble.at_us, trouble.fatal), (Kind::Oops, 41_221_804, true));
        assert_eq!(trouble.task, Some(("kworker/0:1H".into(), 71)));
        assert_eq!(trouble.release.as_deref(), Some("6.1.0-50-amd64"));
        assert_eq!(trouble.function(), Some("rxe_completer"));
        assert_eq!(trouble.place.as_ref().unwrap().module.as_deref(), Some("rdma_rxe"));
        assert_eq!(trouble.trace.iter().map(|frame| frame.certain).collect::<Vec<_>>(), [false, true]);
    }

    const FAULT_IN_USER_MODE: &str = "\
[   41.221811] Pid: 71, comm: kworker/u4:1 Not tainted 6.12.95
[   41.221820] RIP: 0033:rxe_completer+0x2f1/0xcd0
[   41.221826] RSP: 0000000060823d60  EFLAGS: 00010202
[   41.221838] Kernel panic - not syncing: Kernel mode fault at addr 0x8, ip 0x60123456
[   41.221849] CPU: 0 UID: 0 PID: 71 Comm: kworker/u4:1 Not tainted 6.12.95 #1
[   41.221852] Stack:
[   41.221856]  00000000 60823d60 604bedbd 60823e00
[   41.221860] Call Trace:
[   41.221865]  [<600239a0>] ? show_stack+0x0/0xc0
[   41.221871]  [<60123456>] rxe_do_task+0x8a/0xf0
";

    #[test]
    fn a_fault_of_a_user_mode_kernel_has_its_place() {
        let [trouble] = &read(FAULT_IN_USER_MODE)[..] else { panic!("one trouble") };
        assert_eq!(
            (trouble.kind, trouble.function(), trouble.fatal),
            (Kind::Oops, Some("rxe_completer"), true)
        );
        assert_eq!(trouble.task, Some(("kworker/u4:1".into(), 71)));
        assert_eq!(trouble.calls().last().unwrap().function, "rxe_do_task");
        let bug = "[    1.000000] BUG: failure at lib/list.c:59/rxe_a()!\n[    1.000000] Kernel panic - not syncing: BUG!\n\
            [    1.000000] CPU: 0 PID: 7 Comm: a Not tainted 6.1.176 #1\n[    1.000000]  [<60123456>] rxe_a+0x1/0x9\n";
        let [trouble] = &read(bug)[..] else { panic!("one trouble") };
        assert_eq!((trouble.kind, trouble.function(), trouble.fatal), (Kind::Oops, Some("rxe_a"), true));
    }

    #[test]
    fn a_watchdogs_report_has_its_place() {
        let log = "[    1.000000] testbed: the kernel spins: its kernel computes without end\n\
            [    1.000000] RIP: 0033:rxe_requester+0x2f1/0xcd0\n[    1.000000]  do_task+0x8a/0xf0\n";
        let [trouble] = &read(log)[..] else { panic!("one trouble") };
        assert_eq!((trouble.kind, trouble.function()), (Kind::SoftLockup, Some("rxe_requester")));
        assert_eq!(trouble.calls().last().unwrap().function, "do_task");
    }

    #[test]
    fn the_end_of_the_agent_is_not_the_kernels_doing() {
        let of = |program: &str| {
            let log = format!(
                "[    1.000000] Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b\n\
                 [    1.000000] CPU: 0 UID: 0 PID: 1 Comm: {program} Not tainted 6.12.95 #1\n"
            );
            read(&log)[0].kind
        };
        assert_eq!((of("lumina-agent"), of("sh")), (Kind::AgentEnded, Kind::Panic));
    }

    #[test]
    fn a_bug_and_its_invalid_opcode_are_one_trouble() {
        let log = "[    1.000000][  T12] kernel BUG at lib/list_debug.c:59!\n\
            [    1.000001][  T12] Oops: invalid opcode: 0000 [#1] PREEMPT SMP NOPTI\n\
            [    1.000002][  T12] CPU: 0 UID: 0 PID: 12 Comm: a b Not tainted 6.12.95+deb12-amd64 #1  Debian\n\
            [    1.000003][  T12] RIP: 0010:__list_del_entry_valid_or_report+0xcc/0xe0\n";
        let [trouble] = &read(log)[..] else { panic!("one trouble") };
        assert_eq!(
            (trouble.kind, trouble.function()),
            (Kind::Oops, Some("__list_del_entry_valid_or_report"))
        );
        assert_eq!(trouble.task, Some(("a b".into(), 12)));
        assert_eq!(trouble.release.as_deref(), Some("6.12.95+deb12-amd64"));
    }

    #[test]
    fn each_headline_has_its_kind() {
        let kinds = [
            (
                "WARNING: CPU: 0 PID: 9 at rxe_comp.c:12 rxe_x+0x1/0x2 [rdma_rxe]",
                Kind::Warning,
                Some("rxe_x"),
                None,
            ),
            ("INFO: task kworker/u4:0:11 blocked for more than 20 seconds.", Kind::HungTask, None, Some(11)),
            (
                "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [rxe_wq:123]",
                Kind::SoftLockup,
                None,
                Some(123),
            ),
            (
                "BUG: KASAN: slab-out-of-bounds in rxe_receiver+0xa347/0xa500",
                Kind::Bug,
                Some("rxe_receiver"),
                None,
            ),
            ("rcu: INFO: rcu_preempt self-detected stall on CPU", Kind::RcuStall, None, None),
            ("BUG: scheduling while atomic: a/1/0x00000100", Kind::Bug, None, None),
            (
                "Out of memory: Killed process 77 (lumina-agent) total-vm:1kB",
                Kind::OutOfMemory,
                None,
                Some(77),
            ),
            ("Kernel panic - not syncing: sysrq triggered crash", Kind::Panic, None, None),
        ];
        for (text, kind, function, pid) in kinds {
            let [trouble] = &read(&format!("[    1.000000] {text}"))[..] else { panic!("{text}") };
            assert_eq!((trouble.kind, trouble.function()), (kind, function), "{text}");
            assert_eq!(trouble.task.as_ref().map(|task| task.1), pid, "{text}");
        }
    }

    #[test]
    fn what_programs_print_is_no_trouble_and_floods_are_bounded() {
        assert_eq!(
            read(
                "BUG: kernel NULL pointer dereference\n[now] BUG: odd\n[ 1.5] BUG: x\n[99999999999999999999.000000] BUG: x"
            ),
            []
        );
        assert_eq!(read(&"[    1.000000] BUG: again\n".repeat(TROUBLES * 3)).len(), TROUBLES);
    }
}
