//! Roles of the machines of a testbed.

use std::fmt;

/// Role of a machine, which its certificate names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Role {
    /// Commands the others.
    Orchestrator,
    /// Drives the RDMA stack of a host.
    Agent,
    /// Injects the events.
    Switch,
    /// Keeps mirrored packets.
    Dumper,
}

/// Begins the URI of a role in the alternative names of a certificate (RFC 5280, 4.2.1.6).
const URI: &str = "lumina-fuzz:role:";

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Orchestrator, Self::Agent, Self::Switch, Self::Dumper];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Agent => "agent",
            Self::Switch => "switch",
            Self::Dumper => "dumper",
        }
    }

    /// The URI that stands for it in a certificate.
    pub(super) fn uri(self) -> String {
        format!("{URI}{}", self.name())
    }

    /// The role that a URI stands for.
    pub(super) fn of_uri(uri: &str) -> Option<Self> {
        let name = uri.strip_prefix(URI)?;
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
