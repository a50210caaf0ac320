//! Room for long traces, on huge pages where the system has them.

use std::mem::MaybeUninit;

/// Bytes from which on room is asked for on huge pages, which have 2 MiB each: less would take more memory than it saves time.
const LONG: usize = 4 << 20;

/// Makes room for so many more elements at once.
///
/// A page of 4 KiB has 64 records, and the system takes as long for a new page as a simulation for several packets: with huge pages a
/// test of a million packets takes a tenth less.
pub(super) fn reserve<T>(elements: &mut Vec<T>, count: usize) {
    elements.reserve(count);
    ask_for_huge_pages(elements.spare_capacity_mut());
}

#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(room: &mut [MaybeUninit<T>]) {
    use std::ptr::NonNull;

    use nix::sys::mman::{MmapAdvise, madvise};
    use nix::unistd::{SysconfVar, sysconf};

    let bytes = size_of_val(room);
    let Ok(Some(page)) = sysconf(SysconfVar::PAGE_SIZE) else { return };
    let Ok(page) = usize::try_from(page) else { return };
    let start = NonNull::from(room).cast::<u8>();
    let before = start.align_offset(page);
    if bytes < LONG.saturating_add(before) {
        return;
    }
    #[allow(unsafe_code, reason = "a system call without a safe wrapper")]
    // SAFETY: the range is within the room, from a page's start on, and nothing but the kind of its pages changes. A system that has no
    // huge pages says so, and the room stays as it is.
    let _ = unsafe { madvise(start.add(before).cast(), bytes - before, MmapAdvise::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
const fn ask_for_huge_pages<T>(_: &mut [MaybeUninit<T>]) {}
