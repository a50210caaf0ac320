//! Room for long traces, on huge pages where the system has them.

use std::mem::MaybeUninit;

/// Bytes of a huge page, on processors whose ordinary ones have 4 KiB.
#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;

/// Makes room for so many more elements at once.
///
/// A page of 4 KiB has 64 records, and the system takes as long for a new page as a simulation for several packets: on huge pages a
/// test of a million packets takes a tenth to a quarter less (docs/benchmarks.md). Room for less than two of them would take more memory
/// than it saves time.
pub(super) fn reserve<T>(elements: &mut Vec<T>, count: usize) {
    elements.reserve(count);
    ask_for_huge_pages(elements.spare_capacity_mut());
}

#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(room: &mut [MaybeUninit<T>]) {
    use std::ptr::NonNull;

    use nix::sys::mman::{MmapAdvise, madvise};

    let bytes = size_of_val(room);
    if bytes < 2 * HUGE_PAGE {
        return;
    }
    let start = NonNull::from(room).cast::<u8>();
    // What is before the first boundary cannot be on one.
    let before = start.align_offset(HUGE_PAGE);
    #[allow(unsafe_code, reason = "a system call without a safe wrapper")]
    // SAFETY: the range is within the room, which is longer than the way to the boundary, and nothing but the kind of its pages changes. A
    // system that has no huge pages says so, and the room stays as it is.
    let _ = unsafe { madvise(start.add(before).cast(), bytes - before, MmapAdvise::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
const fn ask_for_huge_pages<T>(_: &mut [MaybeUninit<T>]) {}
