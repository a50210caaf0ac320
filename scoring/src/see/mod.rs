//! Contents of a trace, without judging it: connections, hosts, packets, injected events, prompt answers.

pub(crate) mod connections;
pub(crate) mod events;
pub(crate) mod facts;
pub(crate) mod prompt;
pub(crate) mod psns;
pub(crate) mod report;
pub(crate) mod sides;
pub(crate) mod slowest;
