//! The orchestrator's side of a switch: writes a test's tables over P4Runtime, to the software switch ([`SwitchClient`], which collects
//! its capture too) or to one that runs a P4 program ([`ProgramClient`]).

mod captured;
mod connection;
mod error;
mod program;
mod software;

pub use captured::{Captured, PortLosses, PortUnreadable};
pub use connection::CALL_TIMEOUT;
pub use error::{SwitchError, Why};
pub use program::{Device, ProgramClient};
pub use software::SwitchClient;
