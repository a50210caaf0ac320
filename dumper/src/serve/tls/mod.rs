//! Mutual TLS between the machines of a testbed: each has a certificate of one authority, which names its [`Role`] and its
//! addresses.
//!
//! Only an orchestrator's certificate may be a client's (its extended key usage says so, which rustls checks), so that the key of a
//! dumper commands nobody; and a service shows a certificate of the role that its client wants, for the address that it was
//! reached at.

mod certificate;
mod keys;
mod make;
mod private;
mod role;

pub use certificate::{Certificate, EXPIRES_SOON};
pub use keys::{CA, CERTIFICATE, KEY, Keys, KeysError};
pub use make::{Authority, Machine, Made, MakeError};
pub use role::Role;
