//! Requests over netlink, each answered before the next.

use std::io;

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

/// A connection to a part of the kernel.
pub(super) struct Requests(Socket);

impl Requests {
    /// A connection for a protocol.
    pub(super) fn of(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self(socket))
    }

    /// Asks for a change, and waits for the answer.
    pub(super) fn ask<M>(&mut self, message: M, flags: u16) -> io::Result<()>
    where
        M: NetlinkSerializable,
    {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.0.send(&bytes, 0)?;
        let (answer, _) = self.0.recv_from_full()?;
        match NetlinkMessage::<Other>::deserialize(&answer).map_err(io::Error::other)?.payload {
            NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            _ => Err(io::Error::other("the kernel answers something else")),
        }
    }
}

/// A message of the kernel that is no acknowledgement.
struct Other;

impl NetlinkDeserializable for Other {
    type Error = DecodeError;

    fn deserialize(_: &NetlinkHeader, _: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

/// Request for an RDMA device over a network device (`RDMA_NLDEV_CMD_NEWLINK`, `rdma/rdma_netlink.h`).
pub(super) struct NewLink<'a> {
    pub(super) name: &'a str,
    /// The driver.
    pub(super) kind: &'a str,
    pub(super) netdev: &'a str,
}

/// `RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK)`.
const NEW_LINK: u16 = 5 << 10 | 3;
/// `RDMA_NLDEV_ATTR_…`.
const DEV_NAME: u16 = 2;
const NDEV_NAME: u16 = 51;
const LINK_TYPE: u16 = 65;

impl NewLink<'_> {
    fn attributes(&self) -> [DefaultNla; 3] {
        [(DEV_NAME, self.name), (LINK_TYPE, self.kind), (NDEV_NAME, self.netdev)]
            .map(|(kind, text)| DefaultNla::new(kind, [text.as_bytes(), &[0]].concat()))
    }
}

impl NetlinkSerializable for NewLink<'_> {
    fn message_type(&self) -> u16 {
        NEW_LINK
    }

    fn buffer_len(&self) -> usize {
        self.attributes().as_slice().buffer_len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        self.attributes().as_slice().emit(buffer);
    }
}
