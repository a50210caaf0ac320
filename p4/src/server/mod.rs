//! The services of a switch: P4Runtime, and the capture.

mod arbitration;
mod capture;
mod control;
mod runtime;

pub(crate) use arbitration::{u128_of, uint128};
pub(crate) use capture::{packet, summary};
pub use control::Control;

use crate::proto::capture::capture_server::CaptureServer;
use crate::proto::runtime::p4_runtime_server::P4RuntimeServer;
use tonic::service::Routes;

/// P4Runtime's number of the one device behind a switch's address.
pub const DEVICE_ID: u64 = 1;

/// Both services over the state of one switch.
#[must_use]
pub fn services(control: Control) -> Routes {
    Routes::new(P4RuntimeServer::new(control.clone())).add_service(CaptureServer::new(control))
}
