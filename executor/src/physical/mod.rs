//! The testbed of real NICs: two hosts with agents, a switch and dumpers, which a file names ([`TestbedFile`]).

mod capabilities;
pub mod check;
mod connect;
mod file;
mod host;
mod lab;
mod labs;
mod names;
mod site;

use std::path::PathBuf;

use corpus::Role;
use dumper::serve::Address;
use dumper::serve::tls::Role as Part;

pub use capabilities::capabilities;
pub use file::{DumperEntry, FileError, HostEntry, LimitsEntry, SwitchEntry, SwitchKind, TestbedFile};
pub use host::HostFacts;
pub use lab::Lab;
pub use labs::Labs;
pub use names::{DeviceName, NicName};

use crate::Nic;
use crate::agent::AgentError;
use crate::guests::checkup::Mends;
use crate::remote::RemoteError;

/// A testbed of real NICs that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PhysicalError {
    /// Its file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The keys that it names.
    #[error(transparent)]
    Keys(#[from] dumper::serve::tls::KeysError),
    /// The agent of a host cannot be reached, or refuses.
    #[error("the {} host: {source}", role.name())]
    Agent {
        /// The host.
        role: Role,
        /// The failure.
        source: AgentError,
    },
    /// A host has another NIC than the test.
    #[error("the {} has {}, and the test {}", role.name(), Nic::real_name(has), Nic::real_name(wanted))]
    OtherNic {
        /// The host.
        role: Role,
        /// NIC of the test.
        wanted: NicName,
        /// NIC of the host.
        has: NicName,
        /// The testbed's file.
        file: PathBuf,
    },
    /// A host is not as it should be.
    #[error("the {} host at {agent}: {why}", role.name())]
    Host {
        /// The host.
        role: Role,
        /// Address of its agent.
        agent: String,
        /// What is wrong.
        why: String,
        /// What to do.
        mend: String,
    },
    /// The port of a host is down.
    #[error("the {} host at {agent}: {port} is down", role.name())]
    Down {
        /// The host.
        role: Role,
        /// Address of its agent.
        agent: String,
        /// The port.
        port: String,
        /// Its network device.
        netdev: String,
    },
    /// A service does not answer, or is another one.
    #[error("the {part} at {address}: {why}")]
    Service {
        /// Its role.
        part: Part,
        /// Its address.
        address: Address,
        /// What is wrong.
        why: String,
    },
    /// The switch or a dumper.
    #[error(transparent)]
    Between(#[from] RemoteError),
    /// The compiled P4 program.
    #[error("{file}: {why}")]
    Program {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// This machine.
    #[error("no thread for connections: {0}")]
    Thread(#[from] std::io::Error),
}

impl Mends for PhysicalError {
    fn mend(&self) -> Option<String> {
        self.mend()
    }
}

impl PhysicalError {
    /// A port through which nothing goes.
    fn down(role: Role, agent: String, host: &HostFacts) -> Self {
        let HostFacts { device, port, netdev, .. } = host;
        Self::Down {
            role,
            agent,
            port: format!("port {port} of {device} ({netdev})"),
            netdev: netdev.clone(),
        }
    }

    /// Returns true if it may pass: a machine that is not there may be restarting, and links train for seconds.
    fn may_pass(&self) -> bool {
        match self {
            Self::Agent { source, .. } => source.is_loss(),
            Self::Between(RemoteError::Switch(error)) => {
                matches!(error.why, p4::client::Why::Lost(_) | p4::client::Why::TimedOut(_))
            }
            Self::Between(RemoteError::Dumper(error)) => {
                matches!(error.why, dumper::pool::Why::Lost(_) | dumper::pool::Why::Silent)
            }
            Self::Down { .. } => true,
            _ => false,
        }
    }

    /// It, and what to do about it.
    #[must_use]
    pub fn with_mend(&self) -> String {
        let mend = self.mend().map(|mend| format!("; {mend}")).unwrap_or_default();
        format!("{self}{mend}")
    }

    /// What to do about it, where the error does not say that.
    #[must_use]
    pub fn mend(&self) -> Option<String> {
        match self {
            Self::Agent { .. } => {
                Some("start lumina-agent there (docs/physical.md), and look at its stderr".to_owned())
            }
            Self::OtherNic { file, .. } => Some(format!(
                "{} names the NIC of each host; --requester-nic and --responder-nic choose them",
                file.display()
            )),
            Self::Host { mend, .. } => Some(mend.clone()),
            Self::Down { netdev, .. } => {
                Some(format!("`ip link set {netdev} up` there, and look at the cable and at the other end"))
            }
            Self::Service { part, .. } => {
                Some(format!("start the {part}'s program (docs/physical.md), and look at its stderr"))
            }
            Self::Between(RemoteError::Switch(_)) => {
                Some("start the switch's server (docs/physical.md), and look at its stderr".to_owned())
            }
            _ => None,
        }
    }
}
