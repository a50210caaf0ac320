//! The processor that a pair of guests has: of its processes and the thread that serves them one runs at a time, and to hand
//! over to the same processor costs a third less than to wake another one.

use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// This thread.
const THIS: Pid = Pid::from_raw(0);

/// One of this machine's processors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core(CpuSet);

impl Core {
    /// The next processor of those that this program may use; none where the system does not tell.
    pub(super) fn next() -> Option<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Self::of(|usable| NEXT.fetch_add(1, Ordering::Relaxed) % usable)
    }

    /// The processor of a share of some work, from 0, of so many: shares that are next to each other have the same, if there
    /// are more of them than processors.
    pub(super) fn share(share: usize, shares: usize) -> Option<Self> {
        Self::of(|usable| share * usable.min(shares) / shares)
    }

    fn of(chosen: impl FnOnce(usize) -> usize) -> Option<Self> {
        let all = sched_getaffinity(THIS).ok()?;
        let usable: Vec<usize> = (0..CpuSet::count()).filter(|cpu| all.is_set(*cpu) == Ok(true)).collect();
        let cpu = usable.get(chosen(usable.len().max(1)))?;
        let mut one = CpuSet::new();
        one.set(*cpu).ok()?;
        Some(Self(one))
    }

    /// Runs a process, and those that it starts from now on, there. A refusal only costs time.
    pub(super) fn give(&self, process: i32) {
        let _ = sched_setaffinity(Pid::from_raw(process), &self.0);
    }

    /// Runs this thread there until the guard is dropped.
    pub(super) fn hold(&self) -> Held {
        let before = sched_getaffinity(THIS).ok();
        let _ = sched_setaffinity(THIS, &self.0);
        Held(before)
    }
}

/// Gives the thread its processors back.
#[derive(Debug)]
pub(super) struct Held(Option<CpuSet>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = sched_setaffinity(THIS, before);
        }
    }
}
