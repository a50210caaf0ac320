//! The call of ethtool, for which no crate is at hand (linux/ethtool.h, linux/sockios.h).

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd as _;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Calls a command of ethtool on an interface: `data` begins with the command, and has its answer afterwards. Words of 64 bits keep it
/// aligned, and pairs of numbers of 32 bits are packed for little-endian hosts.
///
/// # Errors
/// There is no such interface, or its driver does not know the command or fails.
///
/// # Safety
/// `data` has to be as long as what the kernel reads and writes for the command.
pub unsafe fn ethtool(interface: &str, data: &mut [u64]) -> io::Result<()> {
    let mut request = named(interface)?;
    request.ifr_ifru.ifru_data = data.as_mut_ptr().cast();
    call(SIOCETHTOOL, &mut request)
}

/// A request for an interface, without data.
pub(super) fn named(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: an ifreq of zeros is one without name and data.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = CString::new(interface)?;
    if name.count_bytes() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.as_bytes()) {
        *to = from.cast_signed();
    }
    Ok(request)
}

/// Asks the system what a request says.
pub(super) fn call(command: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: the request names an interface by a text that ends in zero, and outlives the call, as what it points to does.
    let called = unsafe { libc::ioctl(socket.as_raw_fd(), command, &raw mut *request) };
    Ok(Errno::result(called).map(drop)?)
}
