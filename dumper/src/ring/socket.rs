//! A packet socket at an interface, and its options.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};

use super::ethtool;
use super::memory::Plain;

/// A network interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Bytes of its longest packet, without the Ethernet header.
    pub mtu: usize,
    /// Queues in which packets come in.
    pub queues: u32,
}

/// `ETHTOOL_GCHANNELS` (linux/ethtool.h).
const GET_CHANNELS: u64 = 0x3c;

/// Reasons why frames of an interface cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not there.
    #[error("there is no such interface; `ip link` lists them")]
    NoInterface,
    /// Frames would come in where nobody takes them.
    #[error(
        "the interface has {0} queues, and frames of one are taken; give it one (`ethtool -L NAME combined 1`)"
    )]
    Queues(u32),
    /// The system refused.
    #[error("{what}: {source}")]
    System {
        /// Operation that failed.
        what: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Makes an error of one of the system's.
pub(super) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> OpenError {
    move |error| OpenError::System { what, source: error.into() }
}

impl Interface {
    /// The interface of a name.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn named(name: &str) -> Result<Self, OpenError> {
        let index = if_nametoindex(name).map_err(|_| OpenError::NoInterface)?;
        let told = || {
            let mut request = ethtool::named(name)?;
            ethtool::call(libc::SIOCGIFMTU, &mut request)?;
            // SAFETY: the call has written this member.
            Ok::<_, io::Error>(unsafe { request.ifr_ifru.ifru_mtu })
        };
        let mtu = told().map_err(system("the MTU of the interface cannot be had"))?;
        // struct ethtool_channels: the command, most queues of four kinds, then how many there are to receive, to send, for other uses, and
        // for both directions.
        let mut channels = [GET_CHANNELS, 0, 0, 0, 0];
        // SAFETY: the structure of this command has nine numbers of 32 bits.
        let queues = match unsafe { ethtool(name, &mut channels) } {
            Ok(()) => (channels[2] >> 32) as u32 + channels[4] as u32,
            // An interface that does not tell has one.
            Err(_) => 1,
        };
        Ok(Self { index, mtu: usize::try_from(mtu).unwrap_or_default(), queues })
    }
}

/// A packet socket that receives nothing yet.
pub(super) fn raw() -> Result<OwnedFd, OpenError> {
    // Without a protocol, so that it takes no frames of all interfaces before it is bound to one.
    socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)
        .map_err(system("a packet socket cannot be opened (it takes the capability CAP_NET_RAW)"))
}

/// Has a socket receive every frame of an interface, or none and only send there.
pub(super) fn bind(socket: &OwnedFd, interface: Interface, receives: bool) -> Result<(), OpenError> {
    let protocol = if receives { SockProtocol::EthAll as i32 as u16 } else { 0 };
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol,
        sll_ifindex: interface.index.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    bind_to(socket, &address).map_err(system("the packet socket cannot be bound"))
}

/// Binds a socket to an address of its family.
pub(super) fn bind_to<A>(socket: &OwnedFd, address: &A) -> io::Result<()> {
    let length = size_of::<A>() as libc::socklen_t;
    // SAFETY: the address has the length that is given, and outlives the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const *address).cast(), length) })
}

/// A packet socket that only sends, at an interface.
///
/// # Errors
/// See [`OpenError`].
pub fn sender(interface: Interface) -> Result<OwnedFd, OpenError> {
    let socket = raw()?;
    // Without the queueing discipline of the interface. A device that is full says so, and nothing is lost; kernels before 3.14 do not
    // have it.
    let _ = set(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32);
    bind(&socket, interface, false)?;
    Ok(socket)
}

/// Sets an option of a socket.
pub(super) fn set<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value has the length that is given, and outlives the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const *value).cast(), length) })
}

/// Reads an option of a socket; what an older kernel does not write stays 0.
pub(super) fn get<T: Plain>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int) -> io::Result<T> {
    // SAFETY: every pattern of bits is a value.
    let mut told: T = unsafe { std::mem::zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the call writes at most as many bytes as the structure has.
    check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut told).cast(), &raw mut length)
    })?;
    Ok(told)
}

/// Has a socket receive only the first bytes of each frame.
pub(super) fn truncate(socket: &OwnedFd, bytes: usize) -> io::Result<()> {
    // The one instruction of a program that says so: it returns how many bytes are kept (linux/bpf_common.h).
    const RETURN_NUMBER: u16 = 0x06;
    let mut program = [libc::sock_filter { code: RETURN_NUMBER, jt: 0, jf: 0, k: bytes as u32 }];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
}

// SAFETY: it has integers only.
unsafe impl Plain for libc::tpacket_stats {}

/// Frames that a packet socket has dropped since the last call, for lack of room.
pub(super) fn dropped(socket: &OwnedFd) -> io::Result<u64> {
    let told: libc::tpacket_stats = get(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
    Ok(told.tp_drops.into())
}

/// Error of a call that returns 0, or something else and an error.
fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
