//! What all views share: the length check, and big-endian access to a range that the check has covered.

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

            #[allow(dead_code)] // not every header has a field of every width
            #[inline]
            fn bytes(&self) -> &[u8; $len] {
                self.buffer.as_ref().first_chunk().expect("new_checked saw that the header fits")
            }
        }

        impl<T: AsRef<[u8]> + AsMut<[u8]>> $name<T> {
            #[allow(dead_code)] // as above
            #[inline]
            fn bytes_mut(&mut self) -> &mut [u8; $len] {
                self.buffer.as_mut().first_chunk_mut().expect("new_checked saw that the header fits")
            }
        }
    };
}
pub(super) use view;

/// The big-endian number in `range`, which is at most 8 bytes long and inside `bytes`.
#[inline]
pub(super) fn be(bytes: &[u8], range: Range<usize>) -> u64 {
    bytes[range].iter().fold(0, |value, byte| (value << 8) | u64::from(*byte))
}

/// Writes the low bytes of `value` big-endian into `range`.
#[inline]
pub(super) fn put_be(bytes: &mut [u8], range: Range<usize>, value: u64) {
    let width = range.len();
    bytes[range].copy_from_slice(&value.to_be_bytes()[8 - width..]);
}
