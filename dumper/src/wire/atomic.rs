//! Atomic headers (IBA vol. 1, 9.3.3 AtomicETH, 9.5.3 AtomicAckETH).

use super::error::Layer;
use super::view::{be, put_be, view};

mod field {
    use std::ops::Range;

    pub(super) const VA: Range<usize> = 0..8;
    pub(super) const RKEY: Range<usize> = 8..12;
    pub(super) const SWAP_OR_ADD: Range<usize> = 12..20;
    pub(super) const COMPARE: Range<usize> = 20..28;
    pub(super) const ORIGINAL: Range<usize> = 0..8;
}

view! {
    /// View of an Atomic Extended Transport Header, 28 bytes: on CmpSwap and FetchAdd requests.
    AtomicEth, Layer::AtomicEth, 28
}

view! {
    /// View of an Atomic ACK Extended Transport Header, 8 bytes: on atomic acknowledgements, after the AETH.
    AtomicAckEth, Layer::AtomicAckEth, 8
}

/// Meaning of an Atomic Extended Transport Header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AtomicEthRepr {
    /// Virtual address at the responder; must be a multiple of 8.
    pub virtual_address: u64,
    /// Remote key.
    pub remote_key: u32,
    /// Swap data of a CmpSwap, addend of a FetchAdd.
    pub swap_or_add: u64,
    /// Compare data of a CmpSwap.
    pub compare: u64,
}

impl AtomicEthRepr {
    /// Length in bytes.
    pub const LEN: usize = 28;

    /// Reads the header.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(atomic: &AtomicEth<T>) -> Self {
        let bytes = atomic.bytes();
        Self {
            virtual_address: be(bytes, field::VA),
            remote_key: be(bytes, field::RKEY) as u32,
            swap_or_add: be(bytes, field::SWAP_OR_ADD),
            compare: be(bytes, field::COMPARE),
        }
    }

    /// Writes the header.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, atomic: &mut AtomicEth<T>) {
        let bytes = atomic.bytes_mut();
        put_be(bytes, field::VA, self.virtual_address);
        put_be(bytes, field::RKEY, u64::from(self.remote_key));
        put_be(bytes, field::SWAP_OR_ADD, self.swap_or_add);
        put_be(bytes, field::COMPARE, self.compare);
    }
}

/// Meaning of an Atomic ACK Extended Transport Header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AtomicAckEthRepr {
    /// Value at the address before the operation.
    pub original: u64,
}

impl AtomicAckEthRepr {
    /// Length in bytes.
    pub const LEN: usize = 8;

    /// Reads the header.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(ack: &AtomicAckEth<T>) -> Self {
        Self { original: be(ack.bytes(), field::ORIGINAL) }
    }

    /// Writes the header.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, ack: &mut AtomicAckEth<T>) {
        put_be(ack.bytes_mut(), field::ORIGINAL, self.original);
    }
}
