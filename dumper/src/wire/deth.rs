//! Datagram Extended Transport Header (IBA vol. 1, 9.3.1).

use super::error::Layer;
use super::view::{be, put_be, view};

mod field {
    use std::ops::Range;

    pub(super) const QKEY: Range<usize> = 0..4;
    pub(super) const SOURCE_QP: Range<usize> = 5..8;
}

view! {
    /// View of a Datagram Extended Transport Header, 8 bytes: on unreliable datagrams, such as the connection
    /// manager's.
    Deth, Layer::Deth, 8
}

/// Meaning of a Datagram Extended Transport Header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DethRepr {
    /// Queue key.
    pub queue_key: u32,
    /// QP number of the sender, 24 bits.
    pub source_qpn: u32,
}

impl DethRepr {
    /// Length in bytes.
    pub const LEN: usize = 8;

    /// Reads the header.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(deth: &Deth<T>) -> Self {
        let bytes = deth.bytes();
        Self { queue_key: be(bytes, field::QKEY) as u32, source_qpn: be(bytes, field::SOURCE_QP) as u32 }
    }

    /// Writes the header; the reserved byte is 0.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, deth: &mut Deth<T>) {
        let bytes = deth.bytes_mut();
        bytes.fill(0);
        put_be(bytes, field::QKEY, u64::from(self.queue_key));
        put_be(bytes, field::SOURCE_QP, u64::from(self.source_qpn));
    }
}
