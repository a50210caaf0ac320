//! The content of a certificate that matters to a testbed.

use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use super::Role;

/// Time before the end of a certificate from which on it is warned of.
pub const EXPIRES_SOON: Duration = Duration::from_secs(30 * 24 * 3600);

/// What a certificate says of its machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// The role; none in a certificate that was not made for a testbed.
    pub role: Option<Role>,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Seconds since 1970 from which on it is valid.
    pub from_s: i64,
    /// Seconds since 1970 until which it is valid.
    pub until_s: i64,
}

impl Certificate {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// It is none, in words.
    pub fn read(der: &[u8]) -> Result<Self, String> {
        let (_, read) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let names = read.subject_alternative_name().map_err(|error| error.to_string())?;
        let (mut role, mut addresses) = (None, Vec::new());
        for name in names.iter().flat_map(|names| &names.value.general_names) {
            match name {
                GeneralName::URI(uri) => role = role.or_else(|| Role::of_uri(uri)),
                GeneralName::IPAddress(bytes) => addresses.extend(address_of(bytes)),
                _ => {}
            }
        }
        let (from_s, until_s) =
            (read.validity().not_before.timestamp(), read.validity().not_after.timestamp());
        Ok(Self { role, addresses, from_s, until_s })
    }

    /// Time until its end; none if that is over.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Duration::from_secs(u64::try_from(self.until_s).unwrap_or(0)).checked_sub(now)
    }

    /// A warning, if it ends soon.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        match self.left() {
            None => Some("the certificate has expired".to_owned()),
            Some(left) if left < EXPIRES_SOON => {
                let days = left.as_secs() / (24 * 3600);
                Some(format!("the certificate expires in {days} days"))
            }
            Some(_) => None,
        }
    }
}

/// An address, of 4 bytes or 16 (RFC 5280, 4.2.1.6).
fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}
