//! P4Runtime on both sides of the protocol: servers, held to the specification by a client that was written from it alone, and the clients
//! of this crate, against a server that does not behave.

mod client;
pub(crate) mod many;
mod misbehaving;
mod rules;
mod schema;
mod served;
mod server;
mod wire;

#[cfg(feature = "interfaces")]
pub(crate) use many::{forwards, tables};
#[cfg(feature = "interfaces")]
pub(crate) use rules::{Target, deviations};
