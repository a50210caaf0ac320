//! Memory of a campaign that runs for days, where glibc is the C library.
//!
//! sled's threads and buffers come and go, and its database is written anew again and again: what was freed stays with the process,
//! each time in another place. A campaign of a million executions grew by 45 MB.

/// Bytes from which on an allocation has pages of its own: those of sled's buffers, which come and go, and leave holes among what
/// stays.
const OWN_PAGES: i32 = 512 << 10;

/// All threads allocate from one arena, and not each from its own, which keeps what was freed in it; large allocations go back to the
/// system when they are freed.
pub fn bound() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "a C function without a safe wrapper")]
    // SAFETY: it takes numbers; where it refuses them nothing changes.
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, 1);
        nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, OWN_PAGES);
    }
}

/// Gives pages without anything allocated back to the system.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "a C function without a safe wrapper")]
    // SAFETY: it takes a number, and touches nothing that is allocated.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
