//! Selective repeat: the tables of one PSN at both ends of a connection, and the judge that feeds them.
//!
//! No standard has it and no NIC's packets for it are published: the rules are those of LEFT (APNET'24) and of IRN
//! (SIGCOMM'18, which LEFT compares with), with acknowledgements as docs/nic-profiles.md models them. As with go-back-N a
//! packet is an act of its sender when it *enters* the switch, and may be known to its receiver when it has *left*.

mod connection;
mod judge;
mod psn;
pub mod tables;

pub use judge::SelectiveRepeat;
