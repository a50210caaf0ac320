//! Invalidate Extended Transport Header (IBA vol. 1, 9.3.7).

use super::error::Layer;
use super::view::{be, put_be, view};

view! {
    /// View of an Invalidate Extended Transport Header, 4 bytes: on Send LAST and ONLY with invalidate.
    Ieth, Layer::Ieth, 4
}

/// Meaning of an Invalidate Extended Transport Header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IethRepr {
    /// Remote key to invalidate at the responder.
    pub remote_key: u32,
}

impl IethRepr {
    /// Length in bytes.
    pub const LEN: usize = 4;

    /// Reads the header.
    #[inline]
    pub fn parse<T: AsRef<[u8]>>(ieth: &Ieth<T>) -> Self {
        Self { remote_key: be(ieth.bytes(), 0..4) as u32 }
    }

    /// Writes the header.
    pub fn emit<T: AsRef<[u8]> + AsMut<[u8]>>(&self, ieth: &mut Ieth<T>) {
        put_be(ieth.bytes_mut(), 0..4, u64::from(self.remote_key));
    }
}
