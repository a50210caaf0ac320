//! The page that the calendar and the guests share (`struct um_timetravel_schedshm`): with it, a guest neither asks for
//! the time nor sends its requests.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use dumper::Nanos;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

use super::host::Host;

/// Version of the structure.
const VERSION: u32 = 2;
/// Bytes before the clients, and of each.
const HEADER: u64 = 4096;
const CLIENT: u64 = 128;
/// The calendar, and the guests.
const CLIENTS: u16 = 3;

const LENGTH_AT: u64 = 4;
const FREE_UNTIL_AT: u64 = 8;
const CURRENT_TIME_AT: u64 = 16;
const RUNNING_AT: u64 = 24;
const MAX_CLIENTS_AT: u64 = 26;
/// Within a client.
const FLAGS_AT: u64 = 4;
const REQUEST_AT: u64 = 8;

/// Bit of a client's capabilities: it uses this page.
const SHARES_TIME: u32 = 1;
/// Bit of a client's flags: it has a request.
const HAS_REQUEST: u32 = 1;

/// The calendar's own place among the clients.
pub(super) const CALENDAR: u16 = 0;

/// The page.
#[derive(Debug)]
pub(super) struct Shared {
    file: File,
    log: File,
    memory: GuestMemoryMmap<()>,
}

impl Shared {
    /// A page at time 0, of which no guest knows.
    pub(super) fn new() -> io::Result<Self> {
        let length = HEADER + CLIENT * u64::from(CLIENTS);
        let memfd = |name| memfd_create(name, MemfdFlags::CLOEXEC).map(File::from);
        let file = memfd("lumina-calendar")?;
        ftruncate(&file, length)?;
        let region = (GuestAddress(0), length as usize, Some(FileOffset::new(file.try_clone()?, 0)));
        let memory = GuestMemoryMmap::from_ranges_with_files([region]).map_err(io::Error::other)?;
        let page = Self { file, log: memfd("lumina-calendar-log")?, memory };
        page.put(0, VERSION);
        page.put(LENGTH_AT, length as u32);
        page.put(MAX_CLIENTS_AT, CLIENTS);
        page.put(client(CALENDAR), SHARES_TIME);
        Ok(page)
    }

    /// The descriptors that a guest gets: of the page, and of a log that no kernel uses yet.
    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.file.as_fd(), self.log.as_fd()]
    }

    /// Returns true if a guest uses the page.
    pub(super) fn is_used_by(&self, host: Host) -> bool {
        self.get::<u32>(client(host.number().into())) & SHARES_TIME != 0
    }

    /// The calendar itself runs, at a time.
    pub(super) fn set_time(&self, now: Nanos) {
        self.put(RUNNING_AT, CALENDAR);
        self.put(CURRENT_TIME_AT, now.0);
    }

    /// A guest runs, from a time on until it must ask.
    pub(super) fn set_running(&self, host: Host, now: Nanos, free_until: Nanos) {
        self.put(CURRENT_TIME_AT, now.0);
        self.put(FREE_UNTIL_AT, free_until.0);
        self.put(RUNNING_AT, u16::from(host.number()));
    }

    /// The guest that runs must ask from an earlier time on.
    pub(super) fn shorten(&self, free_until: Nanos) {
        if free_until.0 < self.get::<u64>(FREE_UNTIL_AT) {
            self.put(FREE_UNTIL_AT, free_until.0);
        }
    }

    /// The time that the guest that runs has told last.
    pub(super) fn time(&self) -> Nanos {
        Nanos(self.get(CURRENT_TIME_AT))
    }

    /// Time at which a guest wants to run.
    pub(super) fn request(&self, host: Host) -> Option<Nanos> {
        let client = client(host.number().into());
        let has_request = self.get::<u32>(client + FLAGS_AT) & HAS_REQUEST != 0;
        has_request.then(|| Nanos(self.get(client + REQUEST_AT)))
    }

    fn get<T: vm_memory::AtomicAccess>(&self, at: u64) -> T {
        self.memory
            .load(GuestAddress(at), std::sync::atomic::Ordering::Acquire)
            .expect("the page has this place")
    }

    fn put<T: vm_memory::AtomicAccess>(&self, at: u64, value: T) {
        self.memory
            .store(value, GuestAddress(at), std::sync::atomic::Ordering::Release)
            .expect("the page has this place");
    }
}

const fn client(id: u16) -> u64 {
    HEADER + CLIENT * id as u64
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use corpus::Role;

    use super::*;

    #[test]
    fn the_page_is_that_of_the_kernel() {
        // struct um_timetravel_schedshm: version, len, free_until, current_time, running_id, max_clients; clients from 4096,
        // each capa, flags, req_time in 128 bytes.
        let page = Shared::new().unwrap();
        let host = Host::of(Role::Responder);
        page.set_running(host, Nanos(5), Nanos(9));
        let mut bytes = vec![0; 4096 + 3 * 128];
        page.file.read_exact_at(&mut bytes, 0).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!([word(0), word(4), word(8), word(16), word(24)], [2, 4096 + 3 * 128, 9, 5, 3 << 16 | 2]);
        assert_eq!((word(4096), page.is_used_by(host), page.request(host)), (1, false, None));
        // What a guest writes.
        page.file.write_all_at(&[1, 0, 0, 0, 1, 0, 0, 0, 77], 4096 + 2 * 128).unwrap();
        assert_eq!((page.is_used_by(host), page.request(host)), (true, Some(Nanos(77))));
        page.shorten(Nanos(20));
        page.shorten(Nanos(8));
        page.file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes[8], 8);
    }
}
