//! RDMA Extended Transport Header (IBA vol. 1, 9.3.2).

use super::error::Layer;
use super::view::{be, put_be, view};

mod field {
    use std::ops::Range;

    pub(super) const VA: Range<usize> = 0..8;
    pub(super) const RKEY: Range<usize> = 8..12;
    pub(super) const DMA_LENGTH: Range<usize> = 12..16;
}

view! {
    /// View of an RDMA Extended Transport Header, 16 bytes: on Write FIRST and ONLY, and on Read requests.
    Reth, Layer::Reth, 16
}

impl<T: AsRef<[u8]>> Reth<T> {
    /// Virtual address at the responder.
    pub fn virtual_address(&self) -> u64 {
        be(self.bytes(), field::VA)
    }

    /// Remote key.
    pub fn remote_key(&self) -> u32 {
        be(self.bytes(), field::RKEY) as u32
    }

    /// Length of the whole Write, or of the data that a Read request asks for, in bytes.
    pub fn dma_length(&self) -> u32 {
        be(self.bytes(), field::DMA_LENGTH) as u32
    }
}

/// Meaning of an RDMA Extended Transport Header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RethRepr {
    /// Virtual address at the responder.
    pub virtual_address: u64,
    /// Remote key.
    pub remote_key: u32,
    /// Bytes of the Write, or that the Read asks for.
    pub dma_length: u32,
}

impl RethRepr {
    /// Length in bytes.
    pub const LEN: usize = 16;

    /// Reads the header.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(reth: &Reth<T>) -> Self {
        Self {
            virtual_address: reth.virtual_address(),
            remote_key: reth.remote_key(),
            dma_length: reth.dma_length(),
        }
    }

    /// Writes the header.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, reth: &mut Reth<T>) {
        let bytes = reth.bytes_mut();
        put_be(bytes, field::VA, self.virtual_address);
        put_be(bytes, field::RKEY, u64::from(self.remote_key));
        put_be(bytes, field::DMA_LENGTH, u64::from(self.dma_length));
    }
}
