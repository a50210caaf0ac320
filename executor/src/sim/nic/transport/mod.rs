//! The reliable-connection transport: both halves of the queue pairs.

mod answering;
mod answers;
mod go_back_n;
mod losses;
mod memory;
mod opcodes;
mod qp;
mod reactions;
mod recovery;
mod requester;
mod responder;
mod selecting;
mod selective_repeat;
mod timers;

pub(super) use qp::Qp;
pub(in crate::sim) use qp::QpSetup;
pub(super) use requester::Requester;
pub(in crate::sim) use responder::Dummies;
