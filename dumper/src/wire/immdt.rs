//! Immediate data header (IBA vol. 1, 9.3.6).

use super::error::Layer;
use super::view::{be, put_be, view};

view! {
    /// View of an immediate data header, 4 bytes: last header of a LAST or ONLY packet with immediate.
    ImmDt, Layer::ImmDt, 4
}

/// Meaning of an immediate data header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ImmDtRepr {
    /// Immediate data, as sent (big-endian).
    pub data: u32,
}

impl ImmDtRepr {
    /// Length in bytes.
    pub const LEN: usize = 4;

    /// Reads the header.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(imm: &ImmDt<T>) -> Self {
        Self { data: be(imm.bytes(), 0..4) as u32 }
    }

    /// Writes the header.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, imm: &mut ImmDt<T>) {
        put_be(imm.bytes_mut(), 0..4, u64::from(self.data));
    }
}
