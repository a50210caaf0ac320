//! A port on a network interface, through AF_PACKET.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, RxqOvfl};
use nix::sys::socket::{AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, bind, setsockopt, socket};

use super::{Batch, Losses, OpenError, PortSpec, Sent, batch};

/// Bytes of frames that may wait to be taken in: the frames of 50 ms at 10 Gbit/s.
const WAITING: usize = 64 << 20;

pub(super) struct PacketLink {
    socket: OwnedFd,
    interface: usize,
    /// Frames that the system has dropped so far, for lack of room.
    dropped: u32,
}

impl PacketLink {
    pub(super) fn open(spec: &PortSpec, name: &str) -> Result<Self, OpenError> {
        let system = |what| {
            move |error: nix::Error| OpenError::System { spec: spec.clone(), what, source: error.into() }
        };
        let address: LinkAddr = getifaddrs()
            .map_err(system("the interfaces cannot be listed"))?
            .filter(|interface| interface.interface_name == name)
            .find_map(|interface| {
                interface.address.as_ref().and_then(|address| address.as_link_addr().copied())
            })
            .ok_or_else(|| OpenError::NoInterface(spec.clone()))?;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)
            .map_err(system("a packet socket cannot be opened (it takes the capability CAP_NET_RAW)"))?;
        // Beyond the system's default limit where that is allowed, else up to it.
        setsockopt(&socket, RcvBufForce, &WAITING)
            .or_else(|_| setsockopt(&socket, RcvBuf, &WAITING))
            .map_err(system("the packet socket cannot be given room for frames"))?;
        setsockopt(&socket, RxqOvfl, &1)
            .map_err(system("the packet socket cannot be made to tell what it drops"))?;
        bind(socket.as_raw_fd(), &address).map_err(system("the packet socket cannot be bound"))?;
        Ok(Self { socket, interface: address.ifindex(), dropped: 0 })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes in frames that came in at the interface: the socket also shows what leaves there, and before it
    /// was bound it showed all interfaces.
    pub(super) fn receive(&mut self, batch: &mut Batch, each: impl FnMut(&[u8])) -> io::Result<Losses> {
        let is_incoming =
            |from: &LinkAddr| from.ifindex() == self.interface && from.pkttype() != libc::PACKET_OUTGOING;
        batch.receive(self.socket.as_fd(), is_incoming, Some(&mut self.dropped), each)
    }

    pub(super) fn send(&self, frames: &[&[u8]]) -> Sent {
        batch::send(self.socket(), frames)
    }
}
