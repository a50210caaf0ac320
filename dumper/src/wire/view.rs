//! Shared parts of all views: the length check, and big-endian access to a range that the check has covered.

use std::ops::Range;

/// Declares a view `$name<T>` of `$len` bytes with its checked and unchecked constructors.
macro_rules! view {
    ($(#[$doc:meta])* $name:ident, $layer:expr, $len:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T> {
            buffer: T,
        }

        impl<T: AsRef<[u8]>> $name<T> {
            /// Length of the header in bytes.
            pub const LEN: usize = $len;

            /// A view of the header at the start of `buffer`.
            ///
            /// # Errors
            /// When the buffer is shorter than the header.
            #[inline]
            pub fn new_checked(buffer: T) -> Result<Self, $crate::wire::WireError> {
                let have = buffer.as_ref().len();
                if have < Self::LEN {
                    return Err($crate::wire::WireError::truncated($layer, 0, Self::LEN, have));
                }
                Ok(Self { buffer })
            }

            #[inline]
            pub(super) fn bytes(&self) -> &[u8; $len] {
                self.buffer.as_ref().first_chunk().expect("new_checked saw that the header fits")
            }
        }

        impl<'a> $name<&'a [u8; $len]> {
            /// A view of a header that is known to be all there.
            #[inline]
            pub const fn of(buffer: &'a [u8; $len]) -> Self {
                Self { buffer }
            }
        }

        impl<T: AsRef<[u8]> + AsMut<[u8]>> $name<T> {
            #[inline]
            fn bytes_mut(&mut self) -> &mut [u8; $len] {
                self.buffer.as_mut().first_chunk_mut().expect("new_checked saw that the header fits")
            }
        }
    };
}
pub(super) use view;

/// The big-endian number in `range`, which is at most 8 bytes long and inside `bytes`.
///
/// Ranges are constants, so each call becomes one or two loads of the width that its arm says.
#[inline(always)]
pub(super) fn be(bytes: &[u8], range: Range<usize>) -> u64 {
    match bytes[range] {
        [a, b] => u16::from_be_bytes([a, b]).into(),
        [a, b, c] => (u64::from(u16::from_be_bytes([a, b])) << 8) | u64::from(c),
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f] => {
            (u64::from(u16::from_be_bytes([a, b])) << 32) | u64::from(u32::from_be_bytes([c, d, e, f]))
        }
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        ref other => other.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte)),
    }
}

/// Writes the low bytes of `value` big-endian into `range`.
#[inline]
pub(super) fn put_be(bytes: &mut [u8], range: Range<usize>, value: u64) {
    let width = range.len();
    bytes[range].copy_from_slice(&value.to_be_bytes()[8 - width..]);
}
