//! The testbeds by name, and which of them a pair of NICs belongs to.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use corpus::{Capabilities, Host, Role};
use serde::{Deserialize, Serialize};

use crate::guests::{Kernel, Pairs};
use crate::sim::Sim;
use crate::vm::Between as _;
use crate::{Nic, Testbed, uml, vm};

/// Name of the testbed of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestbedName {
    /// On simulated NICs.
    #[default]
    Sim,
    /// On `rdma_rxe` in two virtual machines.
    Vm,
    /// The same, with bmv2 and the P4 program between them.
    #[serde(rename = "vm-p4")]
    VmP4,
    /// On `rdma_rxe` in two user-mode kernels, in virtual time.
    Uml,
    /// The same for campaigns, whose search is in fast mode ([`uml::Mode::Fast`]); what it finds is looked at exactly.
    #[serde(rename = "uml-fast")]
    UmlFast,
}

impl TestbedName {
    /// Cores of this machine that one test keeps busy: a simulation has one thread, a pair of guests has two emulated
    /// processors, and its switch does little.
    #[must_use]
    pub const fn cores_per_test(self) -> usize {
        match self {
            // Of two user-mode kernels one runs at a time.
            Self::Sim | Self::Uml | Self::UmlFast => 1,
            Self::Vm | Self::VmP4 => 2,
        }
    }

    /// The testbed that a NIC belongs to; of those of guests, the one with stock kernels.
    #[must_use]
    pub const fn of(nic: &Nic) -> Self {
        match nic {
            Nic::Model(_) => Self::Sim,
            Nic::Guest(_) => Self::Vm,
        }
    }

    /// The testbed on which findings are confirmed.
    #[must_use]
    pub const fn of_findings(self) -> Self {
        match self {
            Self::UmlFast => Self::Uml,
            other => other,
        }
    }

    /// The testbed of a campaign that is named so.
    ///
    /// # Errors
    /// There is none.
    pub fn of_campaign(name: &str) -> Result<Self, &'static str> {
        if name == "uml-fast" { Ok(Self::UmlFast) } else { name.parse() }
    }

    /// Returns true if its hosts are guests, whose NICs are named by their kernels.
    #[must_use]
    pub const fn has_guests(self) -> bool {
        matches!(self, Self::Vm | Self::VmP4 | Self::Uml | Self::UmlFast)
    }

    /// Capabilities of the testbed, which none has to be made for.
    #[must_use]
    pub fn capabilities(self) -> Capabilities {
        match self {
            Self::Sim => Sim::new(Path::new("")).capabilities(),
            Self::Vm => vm::capabilities(),
            Self::VmP4 => vm::P4Switch::capabilities(),
            Self::Uml | Self::UmlFast => uml::capabilities(),
        }
    }

    /// Its name, as users give it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Vm => "vm",
            Self::VmP4 => "vm-p4",
            Self::Uml => "uml",
            Self::UmlFast => "uml-fast",
        }
    }

    /// Release of a guest's kernel, and the checksum of its file; none without an image.
    pub(crate) fn kernel(self, kernel: &Kernel) -> Option<(String, String)> {
        let manifest = match self {
            Self::Sim => return None,
            Self::Vm | Self::VmP4 => vm::Cache::open(None).ok()?.image(kernel).ok()?.manifest,
            Self::Uml | Self::UmlFast => uml::Cache::open(None).ok()?.image(kernel).ok()?.manifest,
        };
        let file = ["linux", "vmlinuz"].into_iter().find_map(|file| manifest.files.get(file))?;
        Some((manifest.release, file.clone()))
    }

    /// The NIC of a host that names none.
    #[must_use]
    pub fn default_nic(self) -> String {
        match self {
            Self::Sim => Host::DEFAULT_NIC.to_owned(),
            Self::Vm | Self::VmP4 | Self::Uml | Self::UmlFast => Nic::guest_name(&Kernel::default()),
        }
    }
}

impl FromStr for TestbedName {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "sim" => Ok(Self::Sim),
            "vm" => Ok(Self::Vm),
            "vm-p4" => Ok(Self::VmP4),
            "uml" => Ok(Self::Uml),
            "uml-fast" => Err("the fast mode is for campaigns; single tests run on uml, exactly"),
            _ => Err(
                "testbeds of real NICs, named by a file, are not built yet; there are sim, vm, vm-p4 and uml",
            ),
        }
    }
}

impl fmt::Display for TestbedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sim => "the simulated testbed",
            Self::Vm => "the VM testbed",
            Self::VmP4 => "the VM testbed with a P4 switch",
            Self::Uml => "the testbed in virtual time",
            Self::UmlFast => "the testbed in virtual time, in fast mode",
        })
    }
}

/// Makes the testbeds of a campaign or of a single test: one for each job.
#[derive(Debug, Clone)]
pub enum Testbeds {
    /// Simulations of two NICs.
    Sim(Sim),
    /// Pairs of guests.
    Vm(Pairs<vm::Site>),
    /// Pairs of guests with a P4 switch.
    VmP4(Pairs<vm::Site<vm::P4Switch>>),
    /// Pairs of guests in virtual time.
    Uml(uml::Campaigns),
}

/// A NIC that is not of the testbed that was asked for.
#[derive(Debug, thiserror::Error)]
#[error("the {} has {nic}, which {testbed} does not have; {}", role.name(), match testbed {
    TestbedName::Sim => "guests run with --testbed vm or uml",
    TestbedName::Vm | TestbedName::VmP4 | TestbedName::Uml | TestbedName::UmlFast => "name a kernel with --requester-kernel and --responder-kernel, or --nic rxe-6.1",
})]
pub struct WrongTestbed {
    /// The host.
    pub role: Role,
    /// NIC of the host.
    pub nic: String,
    /// The testbed.
    pub testbed: TestbedName,
}

impl Testbeds {
    /// Testbeds for the requester's and the responder's NIC, which tests call so. Profiles that a test names
    /// besides are looked for relative to a folder.
    ///
    /// # Errors
    /// A NIC does not belong to the testbed.
    pub fn new(
        testbed: TestbedName,
        folder: &Path,
        [requester, responder]: [(&str, &Nic); 2],
    ) -> Result<Self, WrongTestbed> {
        match (testbed, requester.1, responder.1) {
            (TestbedName::Sim, Nic::Model(first), Nic::Model(second)) => Ok(Self::Sim(
                Sim::new(folder)
                    .with_profile(requester.0, (**first).clone())
                    .with_profile(responder.0, (**second).clone()),
            )),
            (TestbedName::Vm, Nic::Guest(first), Nic::Guest(second)) => {
                Ok(Self::Vm(Pairs::new([first.clone(), second.clone()])))
            }
            (TestbedName::VmP4, Nic::Guest(first), Nic::Guest(second)) => {
                Ok(Self::VmP4(Pairs::new([first.clone(), second.clone()])))
            }
            (TestbedName::Uml | TestbedName::UmlFast, Nic::Guest(first), Nic::Guest(second)) => {
                let is_fast = testbed == TestbedName::UmlFast;
                let mode = if is_fast { uml::Mode::Fast } else { uml::Mode::Exact };
                Ok(Self::Uml(uml::Campaigns::new([first.clone(), second.clone()], mode)))
            }
            (_, first, _) => {
                let is_first = matches!(first, Nic::Guest(_)) != testbed.has_guests();
                let (role, (nic, _)) =
                    if is_first { (Role::Requester, requester) } else { (Role::Responder, responder) };
                Err(WrongTestbed { role, nic: nic.to_owned(), testbed })
            }
        }
    }

    /// The kernels of its hosts that count what runs of rdma_rxe. Images that cannot be read are a matter of the first test.
    #[must_use]
    pub fn codes(&self) -> uml::Codes {
        match self {
            Self::Sim(_) | Self::Vm(_) | Self::VmP4(_) => uml::Codes::default(),
            Self::Uml(campaigns) => campaigns.codes().unwrap_or_default(),
        }
    }

    /// A testbed: one of its own, or the next pair of guests that is free.
    #[must_use]
    pub fn testbed(&self) -> Box<dyn Testbed> {
        match self {
            Self::Sim(sim) => Box::new(sim.clone()),
            Self::Vm(pairs) => pairs.lease(),
            Self::VmP4(pairs) => pairs.lease(),
            Self::Uml(campaigns) => campaigns.testbed(),
        }
    }
}
