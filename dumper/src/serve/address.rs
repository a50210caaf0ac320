//! Address of a service: TCP or a unix socket.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

/// Address of a service.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A stream socket at a path.
    Unix(PathBuf),
}

/// A text that is not an address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} is no address; write IP:PORT, [IPv6]:PORT or unix:PATH")]
pub struct AddressError {
    text: String,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let address = match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Some(Self::Unix(path.into())),
            Some(_) => None,
            None => text.parse().ok().map(Self::Tcp),
        };
        address.ok_or_else(|| AddressError { text: text.to_owned() })
    }
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl Address {
    /// Returns true if only this machine reaches it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }

    /// It in the form in which clients of gRPC take it.
    pub(super) fn uri(&self) -> String {
        match self {
            Self::Tcp(address) => format!("http://{address}"),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_they_are_read() {
        for text in ["127.0.0.1:9559", "[::1]:0", "unix:/run/switch.sock"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["", "unix:", "localhost:1", "127.0.0.1", "9559"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
