//! RoCEv2 wire formats: one file per header, each with a *view* over bytes and a plain *repr*.
//!
//! A view (`Bth<&[u8]>`) is made by `new_checked`, which fails unless the header fits; after that no accessor
//! panics. A repr (`BthRepr`) is the header's meaning, `parse`d from a view and `emit`ted into one. Whole
//! frames are in [`frame`]. Sources: IBA vol. 1 chapter 9 (transport headers), annex A17 (RoCEv2).

mod aeth;
mod atomic;
mod bth;
mod cnp;
mod deth;
mod error;
mod ethernet;
pub mod frame;
pub mod icrc;
mod ieth;
mod immdt;
mod ipv4;
mod ipv6;
pub(crate) mod layout;
mod opcode;
mod reth;
mod udp;
mod view;

pub use aeth::{Aeth, AethRepr, NakCode, Syndrome};
pub use atomic::{AtomicAckEth, AtomicAckEthRepr, AtomicEth, AtomicEthRepr};
pub use bth::{Bth, BthRepr};
pub use cnp::{CNP_PAYLOAD_LEN, cnp_bth};
pub use deth::{Deth, DethRepr};
pub use error::{Layer, Reason, WireError};
pub use ethernet::{EtherType, Ethernet, EthernetRepr, Mac, VlanTag, VlanTagRepr};
pub use frame::{Frame, FrameRepr};
pub use ieth::{Ieth, IethRepr};
pub use immdt::{ImmDt, ImmDtRepr};
pub use ipv4::{Ipv4, Ipv4Repr};
pub use ipv6::{Ipv6, Ipv6Repr};
pub(crate) use opcode::Extensions;
pub use opcode::{Class, Opcode, Position, Verb};
pub use reth::{Reth, RethRepr};
pub use udp::{ROCE_PORT, Udp, UdpRepr};

/// The two ECN bits of a traffic class byte (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ecn {
    /// Not ECN-capable, 0b00.
    NotEct,
    /// ECN-capable, 0b01.
    Ect1,
    /// ECN-capable, 0b10.
    Ect0,
    /// Congestion experienced, 0b11: set by an injector or a congested queue.
    Ce,
}

impl Ecn {
    /// The ECN bits of a TOS or traffic class byte.
    #[inline]
    pub const fn of(traffic_class: u8) -> Self {
        match traffic_class & 0b11 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}
