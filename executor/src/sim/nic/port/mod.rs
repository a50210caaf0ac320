//! The port of a NIC: whose packet goes out next, and the way of those that come in.

mod ets;
mod paths;
mod receive;
mod sending;
mod transmit;

pub(super) use ets::Selection;
pub(super) use paths::Paths;
pub(super) use receive::Arrival;
pub(in crate::sim) use receive::ReceiveBuffer;
pub(in crate::sim) use transmit::Transmitter;
