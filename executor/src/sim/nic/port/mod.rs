//! The port of a NIC: whose packet goes out next, and the way of those that come in.

mod ets;
mod paths;
mod receive;
mod sending;
mod transmit;

pub(super) use ets::Selection;
pub(super) use paths::Paths;
pub(super) use receive::{Arrival, ReceiveBuffer};
pub(super) use transmit::{Half, Transmitter};
