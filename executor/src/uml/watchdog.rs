//! Watches a guest that runs: one that computes for ever takes processor time, and time stands still meanwhile.

use std::fs;
use std::io::IoSliceMut;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use object::{Object as _, ObjectSymbol as _, SymbolKind};

/// Processor time of a guest's kernel between two words to the calendar after which it is taken to spin. Whole tests take
/// less than a second.
const SPINS: Duration = Duration::from_secs(10);

/// Real time without a word after which a guest is given up, whatever it does: its processor time says nothing of a program
/// that spins in it.
const SILENT: Duration = Duration::from_secs(60);

/// How often a spinning kernel is looked at, and the time between: what all have in common is the loop.
const LOOKS: usize = 20;
const BETWEEN: Duration = Duration::from_millis(10);

/// Longest chain of calls.
const CALLS: usize = 32;

/// A watch on a guest that runs.
#[derive(Debug)]
pub(super) struct Watch {
    kernel: Pid,
    began: Instant,
    used: Option<Duration>,
}

/// What is wrong with a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trouble {
    /// Its kernel computes without end.
    Spins,
    /// It does not say anything.
    Silent,
}

impl Watch {
    /// A watch from now on.
    pub(super) fn on(kernel: i32) -> Self {
        let kernel = Pid::from_raw(kernel);
        Self { kernel, began: Instant::now(), used: used(kernel) }
    }

    /// What is wrong, if anything is.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        let computed = used(self.kernel)?.saturating_sub(self.used?);
        if computed >= SPINS {
            return Some(Trouble::Spins);
        }
        (self.began.elapsed() >= SILENT).then_some(Trouble::Silent)
    }
}

/// Processor time of a process so far.
fn used(process: Pid) -> Option<Duration> {
    let clock = clock_getcpuclockid(process).ok()?;
    Some(clock_gettime(clock).ok()?.into())
}

/// Calls that a spinning kernel is in each time that it is looked at, the innermost first; each as the kernel itself writes
/// it (`function+0x12/0x34`).
pub(super) fn calls(kernel: i32, linux: &Path) -> Vec<String> {
    let kernel = Pid::from_raw(kernel);
    let Ok(symbols) = Symbols::of(linux) else { return Vec::new() };
    let mut common: Option<Vec<u64>> = None;
    for _ in 0..LOOKS {
        thread::sleep(BETWEEN);
        let Ok(mut stack) = stack(kernel) else { continue };
        stack.reverse();
        common = Some(match common {
            None => stack,
            // Functions in common, from the outermost on.
            Some(before) => {
                let same = before.iter().zip(&stack).take_while(|(one, other)| {
                    symbols.at(**one).map(|symbol| symbol.0) == symbols.at(**other).map(|symbol| symbol.0)
                });
                same.map(|(_, other)| *other).collect()
            }
        });
    }
    let mut calls: Vec<String> =
        common.unwrap_or_default().into_iter().filter_map(|address| symbols.written(address)).collect();
    calls.reverse();
    calls
}

/// Addresses of the instruction that a process is at and of its callers, by their frame pointers.
fn stack(process: Pid) -> nix::Result<Vec<u64>> {
    ptrace::seize(process, ptrace::Options::empty())?;
    let looked = ptrace::interrupt(process).and_then(|()| {
        waitpid(process, Some(WaitPidFlag::__WALL))?;
        ptrace::getregs(process)
    });
    let mut stack = Vec::new();
    if let Ok(registers) = &looked {
        stack.push(registers.rip);
        let mut frame = registers.rbp;
        while stack.len() < CALLS {
            let Ok([caller_frame, back]) = words(process, frame) else { break };
            // A call is before the place that it returns to.
            stack.push(back.saturating_sub(1));
            // Frames of callers are above.
            if caller_frame <= frame {
                break;
            }
            frame = caller_frame;
        }
    }
    ptrace::detach(process, None)?;
    looked.map(|_| stack)
}

/// Two words of a process's memory.
fn words(process: Pid, at: u64) -> nix::Result<[u64; 2]> {
    let mut bytes = [0; 16];
    let remote = [RemoteIoVec { base: usize::try_from(at).unwrap_or(0), len: bytes.len() }];
    let read = process_vm_readv(process, &mut [IoSliceMut::new(&mut bytes)], &remote)?;
    if read != bytes.len() {
        return Err(nix::errno::Errno::EFAULT);
    }
    let word = |half: usize| bytes[half * 8..half * 8 + 8].try_into().map_or(0, u64::from_ne_bytes);
    Ok([word(0), word(1)])
}

/// Functions of a program that is at the addresses that its file says.
struct Symbols(Vec<(u64, u64, String)>);

impl Symbols {
    fn of(program: &Path) -> Result<Self, String> {
        let content = fs::read(program).map_err(|error| error.to_string())?;
        let file = object::File::parse(&*content).map_err(|error| error.to_string())?;
        let functions =
            file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        let mut functions: Vec<_> = functions
            .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())))
            .collect();
        functions.sort();
        Ok(Self(functions))
    }

    fn at(&self, address: u64) -> Option<&(u64, u64, String)> {
        let next = self.0.partition_point(|(begin, ..)| *begin <= address);
        self.0[..next].last().filter(|(begin, size, _)| address < begin + size)
    }

    fn written(&self, address: u64) -> Option<String> {
        self.at(address).map(|(begin, size, name)| format!("{name}+{:#x}/{size:#x}", address - begin))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const LOOP: &str = "static volatile int n;
__attribute__((noinline)) void inner(void) { for (int i = 0; i < 1000; i++) n++; }
__attribute__((noinline)) void spins(void) { for (;;) inner(); }
int main(void) { spins(); return n; }";

    #[test]
    fn the_loop_of_a_spinning_program_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("loop.c"), folder.path().join("loop"));
        fs::write(&source, LOOP).unwrap();
        let options = ["-no-pie", "-O0", "-o"];
        let built = Command::new("cc").args(options).arg(&program).arg(&source).status().unwrap();
        assert!(built.success());
        let mut child = Command::new(&program).stdin(Stdio::null()).spawn().unwrap();
        let watch = Watch::on(child.id().cast_signed());
        assert_eq!(watch.trouble(), None);
        // A busy machine may not have let it get as far as its loop.
        let seen = || calls(child.id().cast_signed(), &program);
        let is_in_loop = |calls: &Vec<String>| calls.iter().any(|call| call.starts_with("spins"));
        let calls = std::iter::repeat_with(seen).take(10_000).find(is_in_loop).unwrap_or_default();
        child.kill().unwrap();
        child.wait().unwrap();
        let functions: Vec<&str> = calls.iter().filter_map(|call| call.split('+').next()).collect();
        // Where it is in the loop differs; that it is in it does not.
        assert!(
            functions.starts_with(&["spins", "main"]) || functions.starts_with(&["inner", "spins", "main"]),
            "{calls:?}"
        );
    }
}
