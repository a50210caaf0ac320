//! Operations on a host's flow table during a test (ScalaCN, NSDI'25, table 1: what its symptoms show up with).

use serde::{Deserialize, Serialize};

use super::Role;

/// An operation that the software of a host begins at a time of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// Time after the start of the test, in ms.
    pub at_ms: u32,
    /// The host.
    pub host: Role,
    /// What it does.
    pub operation: Operation,
}

/// What a host does with its flow table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// So many new flows, with the masks that the table has, each of which is offloaded.
    AddFlows(u32),
    /// The newest flows that no connection has end, and their entries are deleted.
    RemoveFlows(u32),
    /// So many new flows, each with a mask of its own in both directions.
    AddMasks(u32),
    /// A virtual function, from 1, is taken from its container: the connections on it post no more, and their entries are deleted.
    UnbindVf(u32),
    /// The last connections post no more.
    StopConnections(u32),
}

impl Operation {
    /// Names in files, with an operation of each kind.
    pub const NAMES: &[(&str, Self)] = &[
        ("add-flows", Self::AddFlows(1)),
        ("remove-flows", Self::RemoveFlows(1)),
        ("add-masks", Self::AddMasks(1)),
        ("unbind-vf", Self::UnbindVf(1)),
        ("stop-connections", Self::StopConnections(1)),
    ];

    /// Name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AddFlows(_) => "add-flows",
            Self::RemoveFlows(_) => "remove-flows",
            Self::AddMasks(_) => "add-masks",
            Self::UnbindVf(_) => "unbind-vf",
            Self::StopConnections(_) => "stop-connections",
        }
    }

    /// Its number: of flows, masks or connections, or that of the virtual function.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::AddFlows(number)
            | Self::RemoveFlows(number)
            | Self::AddMasks(number)
            | Self::UnbindVf(number)
            | Self::StopConnections(number) => number,
        }
    }

    /// The same operation with another number.
    #[must_use]
    pub const fn with_number(self, number: u32) -> Self {
        match self {
            Self::AddFlows(_) => Self::AddFlows(number),
            Self::RemoveFlows(_) => Self::RemoveFlows(number),
            Self::AddMasks(_) => Self::AddMasks(number),
            Self::UnbindVf(_) => Self::UnbindVf(number),
            Self::StopConnections(_) => Self::StopConnections(number),
        }
    }
}
