//! Addresses with a prefix length, as `ip-list` holds them.

use serde::{Deserialize, Serialize};
use std::{fmt, net::IpAddr, str::FromStr};

/// A host address with its prefix length in bits, written `10.0.0.1/24` or `fd00::1/64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cidr {
    /// The host's own address (not the network's).
    pub addr: IpAddr,
    /// Prefix length: 0 to 32 for IPv4, 0 to 128 for IPv6.
    pub prefix: u8,
}

impl Cidr {
    /// The longest prefix of the address's family.
    #[must_use]
    pub const fn max_prefix(addr: IpAddr) -> u8 {
        match addr {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.prefix)
    }
}

/// Errors in the text of a [`Cidr`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CidrError {
    /// There is no `/`.
    #[error("has no prefix length")]
    NoPrefix,
    /// The text before the `/` is not an IP address.
    #[error("is not an IPv4 or IPv6 address")]
    Address,
    /// The text after the `/` is not a prefix length of the address family.
    #[error("has a prefix length that is not 0 to {max}")]
    Prefix {
        /// The longest prefix of the family.
        max: u8,
    },
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (addr, prefix) = match text.split_once('/') {
            Some(parts) => parts,
            None if text.parse::<IpAddr>().is_ok() => return Err(CidrError::NoPrefix),
            None => return Err(CidrError::Address),
        };
        let addr: IpAddr = addr.parse().map_err(|_| CidrError::Address)?;
        let max = Self::max_prefix(addr);
        // `u8::from_str` takes a sign and leading zeros: "/+8" and "/008" are slips, not lengths.
        let plain = !prefix.is_empty()
            && prefix.bytes().all(|b| b.is_ascii_digit())
            && (prefix == "0" || !prefix.starts_with('0'));
        match prefix.parse::<u8>() {
            Ok(prefix) if plain && prefix <= max => Ok(Self { addr, prefix }),
            _ => Err(CidrError::Prefix { max }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_families_and_writes_them_back() {
        for text in ["10.0.0.1/24", "0.0.0.1/0", "fd00::1/64", "::1/128"] {
            assert_eq!(text.parse::<Cidr>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!("10.0.0.1".parse::<Cidr>(), Err(CidrError::NoPrefix));
        assert_eq!("10.0.0/8".parse::<Cidr>(), Err(CidrError::Address));
        assert_eq!("cx4".parse::<Cidr>(), Err(CidrError::Address));
        for text in ["10.0.0.1/33", "10.0.0.1/+8", "10.0.0.1/08", "10.0.0.1/", "10.0.0.1/999"] {
            assert_eq!(text.parse::<Cidr>(), Err(CidrError::Prefix { max: 32 }), "{text}");
        }
    }
}
