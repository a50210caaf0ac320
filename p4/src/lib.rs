//! The event injector's room: the match-action pipeline in Rust, the translation of relative intents into table
//! entries, and the software switch. It imports `corpus` and `dumper`.
//!
//! [`translate()`] combines a test with the run-time metadata of its connections into [`Tables`]; a
//! [`Pipeline`] holds them and gives a [`Verdict`] on each packet. It reads no clock and owns no packet: its
//! caller keeps the packets, carries out the verdict, and brings a held packet's [`Ticket`] back when its
//! time is up.
//!
//! ```
//! use corpus::Role;
//! use dumper::{ActionKind, Connection, Endpoint, Event, Nanos, Psn, wire::Opcode};
//! use p4::{Dumper, Packet, Pipeline, Ports, translate};
//!
//! // The fourth packet of the first connection, and the metadata that the hosts reported (Lumina Figure 2).
//! let config = corpus::from_toml("drop.toml", r#"event = [{ qpn = 1, psn = 4, type = "drop" }]"#)?;
//! let end = |ip: [u8; 4], qpn, psn| Endpoint {
//!     ip: ip.into(), qpn: Some(qpn), initial_psn: Some(Psn::new(psn)),
//! };
//! let connection = Connection {
//!     requester: end([10, 0, 0, 1], 0xfe, 1001),
//!     responder: end([10, 0, 0, 2], 0xea, 3002),
//! };
//!
//! let tables = translate(&config, &[connection])?;
//! let ports = Ports::new(1, 2, &[Dumper { port: 3, weight: 1 }])?;
//! let mut injector = Pipeline::new(tables, ports);
//! let flow = injector.flow([10, 0, 0, 2].into(), 0xea);
//! let packet = Packet::new(Opcode::WriteMiddle, None, Psn::new(1004), 1082);
//! let verdict = injector.process(Role::Requester, flow, packet, Nanos(500));
//! assert_eq!((verdict.mirror.event, verdict.sent.leaving()), (Event::Action(ActionKind::Drop), 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The software switch (`lumina-switch`) is the same pipeline over real frames: [`rewrite`] applies a verdict
//! to their bytes, [`switch`] moves, holds and captures them, [`server`] takes tables as [`entries`] of
//! P4Runtime, [`process`] runs both, and [`client`] is the orchestrator's side of that.

mod action;
pub mod client;
pub mod entries;
mod flow;
mod hold;
pub mod network;
mod packet;
mod pipeline;
mod ports;
pub mod process;
pub mod proto;
pub mod rewrite;
mod rounds;
mod sent;
pub mod server;
pub mod source;
pub mod switch;
mod tables;
mod translate;

pub use action::{Actions, Timing};
pub use flow::FlowIndex;
pub use hold::{MAX_HOLD, Ticket};
pub use packet::{Kind, Packet};
pub use pipeline::{Pipeline, Verdict};
pub use ports::{Dumper, PortError, Ports};
pub use rounds::{MAX_ITER, Rounds};
pub use sent::{Lost, Sent};
pub use tables::{Entry, Key, MAX_ENTRIES, Tables};
pub use translate::{TranslateError, translate};
