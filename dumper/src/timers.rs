//! Timer codes: of the ACK timeout and of RNR NAKs.

use crate::Nanos;

/// Unit of the ACK timeout, 4.096 µs in nanoseconds (IBA vol. 1, 9.7.6.1.3).
const ACK_TIMEOUT_UNIT_NS: u64 = 4_096;

/// Largest exponent of an ACK timeout: it has 5 bits.
const MAX_ACK_TIMEOUT: u8 = 31;

/// Waits by RNR timer code, in units of 10 µs (IBA vol. 1, 9.7.5.2.8, table of RNR NAK timer values).
const RNR_WAITS: [u64; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048,
    3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

/// An ACK timer may expire as late as this many T (IBA vol. 1, 9.7.6.1.3).
pub const LATEST_EXPIRY: u32 = 4;

/// T = 4.096 µs x 2^exponent, the shortest time after which an ACK timer may expire (IBA vol. 1, 9.7.6.1.3); `None`
/// for 0, which waits for ever. Exponents beyond 31 are taken for 31.
#[inline]
pub const fn ack_timeout(exponent: u8) -> Option<Nanos> {
    match exponent {
        0 => None,
        1..=MAX_ACK_TIMEOUT => Some(Nanos(ACK_TIMEOUT_UNIT_NS << exponent)),
        _ => Some(Nanos(ACK_TIMEOUT_UNIT_NS << MAX_ACK_TIMEOUT)),
    }
}

/// The shortest wait that an RNR NAK with this timer code asks for: 10 µs to 655.36 ms. Codes have 5 bits.
#[inline]
pub const fn rnr_wait(code: u8) -> Nanos {
    Nanos::from_micros(10 * RNR_WAITS[(code & 0x1f) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_the_specification() {
        assert_eq!(ack_timeout(0), None);
        assert_eq!(ack_timeout(1), Some(Nanos(8_192)));
        assert_eq!(ack_timeout(14), Some(Nanos(67_108_864)));
        assert_eq!(ack_timeout(255), ack_timeout(31));
        assert_eq!(rnr_wait(0), Nanos(655_360_000));
        assert_eq!(rnr_wait(1), Nanos(10_000));
        assert_eq!(rnr_wait(12), Nanos(640_000));
        assert_eq!(rnr_wait(14), Nanos(1_280_000));
        assert_eq!(rnr_wait(31), Nanos(491_520_000));
    }
}
