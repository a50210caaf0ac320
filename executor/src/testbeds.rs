//! The testbeds by name, and which of them a pair of NICs belongs to.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use corpus::{Capabilities, Host, Role};
use serde::{Deserialize, Serialize};

use crate::guests::{Kernel, Pairs};
use crate::physical::{Labs, PhysicalError, TestbedFile};
use crate::sim::Sim;
use crate::vm::Between as _;
use crate::{Nic, Testbed, physical, uml, vm};

/// Name of the testbed of a test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TestbedName {
    /// On simulated NICs.
    #[default]
    Sim,
    /// On `rdma_rxe` in two virtual machines.
    Vm,
    /// The same, with bmv2 and the P4 program between them.
    VmP4,
    /// On `rdma_rxe` in two user-mode kernels, in virtual time.
    Uml,
    /// The same for campaigns, whose search is in fast mode ([`uml::Mode::Fast`]); what it finds is looked at exactly.
    UmlFast,
    /// On real NICs, which the file names.
    File(PathBuf),
}

impl TestbedName {
    /// Cores of this machine that one test keeps busy: a simulation has one thread, a pair of guests has two emulated
    /// processors, and its switch does little.
    #[must_use]
    pub const fn cores_per_test(&self) -> usize {
        match self {
            // Of two user-mode kernels one runs at a time.
            Self::Sim | Self::Uml | Self::UmlFast => 1,
            Self::Vm | Self::VmP4 => 2,
            // The hosts are other machines.
            Self::File(_) => 1,
        }
    }

    /// Most tests that run at a time, where that is not a matter of cores.
    #[must_use]
    pub const fn most_jobs(&self) -> Option<usize> {
        match self {
            Self::Sim | Self::Vm | Self::VmP4 | Self::Uml | Self::UmlFast => None,
            // The hosts are there once.
            Self::File(_) => Some(1),
        }
    }

    /// The testbed that a NIC belongs to; of those of guests, the one with stock kernels. A real NIC does not say.
    #[must_use]
    pub const fn of(nic: &Nic) -> Option<Self> {
        match nic {
            Nic::Model(_) => Some(Self::Sim),
            Nic::Guest(_) => Some(Self::Vm),
            Nic::Real(_) => None,
        }
    }

    /// The testbed on which findings are confirmed.
    #[must_use]
    pub fn of_findings(&self) -> Self {
        match self {
            Self::UmlFast => Self::Uml,
            other => other.clone(),
        }
    }

    /// The testbed of a campaign that is named so.
    ///
    /// # Errors
    /// There is none.
    pub fn of_campaign(name: &str) -> Result<Self, String> {
        if name == "uml-fast" { Ok(Self::UmlFast) } else { name.parse() }
    }

    /// Returns true if its hosts are guests, whose NICs are named by their kernels.
    #[must_use]
    pub const fn has_guests(&self) -> bool {
        matches!(self, Self::Vm | Self::VmP4 | Self::Uml | Self::UmlFast)
    }

    /// Capabilities of the testbed, which none has to be made for.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        match self {
            Self::File(_) => physical::capabilities(),
            Self::Sim => Sim::new(Path::new("")).capabilities(),
            Self::Vm => vm::capabilities(),
            Self::VmP4 => vm::P4Switch::capabilities(),
            Self::Uml | Self::UmlFast => uml::capabilities(),
        }
    }

    /// Its name, as users give it.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Sim => "sim",
            Self::Vm => "vm",
            Self::VmP4 => "vm-p4",
            Self::Uml => "uml",
            Self::UmlFast => "uml-fast",
            Self::File(path) => return path.to_string_lossy(),
        })
    }

    /// Release of a guest's kernel, and the checksum of its file; none without an image.
    pub(crate) fn kernel(&self, kernel: &Kernel) -> Option<(String, String)> {
        let manifest = match self {
            Self::Sim | Self::File(_) => return None,
            Self::Vm | Self::VmP4 => vm::Cache::open(None).ok()?.image(kernel).ok()?.manifest,
            Self::Uml | Self::UmlFast => uml::Cache::open(None).ok()?.image(kernel).ok()?.manifest,
        };
        let file = ["linux", "vmlinuz"].into_iter().find_map(|file| manifest.files.get(file))?;
        Some((manifest.release, file.clone()))
    }

    /// The NICs of hosts that name none, the requester's first.
    ///
    /// # Errors
    /// The testbed's file cannot be used.
    pub fn default_nics(&self) -> Result<[String; 2], PhysicalError> {
        let both = |nic: String| Ok([nic.clone(), nic]);
        match self {
            Self::Sim => both(Host::DEFAULT_NIC.to_owned()),
            Self::Vm | Self::VmP4 | Self::Uml | Self::UmlFast => both(Nic::guest_name(&Kernel::default())),
            Self::File(path) => {
                let file = TestbedFile::load(path)?;
                Ok(Role::ALL.map(|role| Nic::real_name(&file.host(role).nic)))
            }
        }
    }

    /// Returns true if a NIC with this name can be one of the testbed's.
    #[must_use]
    pub fn may_have(&self, nic: &str) -> bool {
        match self {
            Self::Sim => !Nic::is_guest(nic) && !Nic::is_real(nic),
            Self::Vm | Self::VmP4 | Self::Uml | Self::UmlFast => Nic::is_guest(nic),
            Self::File(_) => Nic::is_real(nic),
        }
    }

    /// The same from any folder: a file is found by its whole path.
    #[must_use]
    pub fn from_anywhere(self) -> Self {
        match self {
            Self::File(path) => Self::File(std::fs::canonicalize(&path).unwrap_or(path)),
            other => other,
        }
    }
}

/// Returns true if a testbed is named by its file.
fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

impl From<TestbedName> for String {
    fn from(testbed: TestbedName) -> Self {
        testbed.name().into_owned()
    }
}

impl TryFrom<String> for TestbedName {
    type Error = String;

    /// The testbed of a file, which need not be there any more.
    fn try_from(name: String) -> Result<Self, String> {
        if is_file(&name) { Ok(Self::File(name.into())) } else { Self::of_campaign(&name) }
    }
}

impl FromStr for TestbedName {
    type Err = String;

    /// The testbed that a user names, whose file is there and in order.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "sim" => Ok(Self::Sim),
            "vm" => Ok(Self::Vm),
            "vm-p4" => Ok(Self::VmP4),
            "uml" => Ok(Self::Uml),
            "uml-fast" => Err("the fast mode is for campaigns; single tests run on uml, exactly".to_owned()),
            _ if is_file(name) => {
                TestbedFile::load(Path::new(name)).map_err(|error| error.to_string())?;
                Ok(Self::File(name.into()))
            }
            _ => Err("there is none; there are sim, vm, vm-p4, uml and testbeds of real NICs, by the path of their file".to_owned()),
        }
    }
}

impl fmt::Display for TestbedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File(path) => return write!(f, "the testbed of {}", path.display()),
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
    /// Real NICs.
    Real(Labs),
}

/// A NIC that is not of the testbed that was asked for.
#[derive(Debug, thiserror::Error)]
#[error("the {} has {nic}, which {testbed} does not have; {}", role.name(), match testbed {
    TestbedName::Sim => "guests run with --testbed vm or uml, and real NICs with the file of their testbed",
    TestbedName::Vm | TestbedName::VmP4 | TestbedName::Uml | TestbedName::UmlFast => "name a kernel with --requester-kernel and --responder-kernel, or --nic rxe-6.1",
    TestbedName::File(_) => "its file names the NIC of each host: --requester-nic real-NAME --responder-nic real-NAME",
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
        testbed: &TestbedName,
        folder: &Path,
        [requester, responder]: [(&str, &Nic); 2],
    ) -> Result<Self, WrongTestbed> {
        match (testbed, requester.1, responder.1) {
            (TestbedName::File(path), Nic::Real(first), Nic::Real(second)) => {
                Ok(Self::Real(Labs::new(path.clone(), [first.clone(), second.clone()])))
            }
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
                let is_fast = *testbed == TestbedName::UmlFast;
                let mode = if is_fast { uml::Mode::Fast } else { uml::Mode::Exact };
                Ok(Self::Uml(uml::Campaigns::new([first.clone(), second.clone()], mode)))
            }
            (_, first, _) => {
                let is_its = match first {
                    Nic::Model(_) => *testbed == TestbedName::Sim,
                    Nic::Guest(_) => testbed.has_guests(),
                    Nic::Real(_) => matches!(testbed, TestbedName::File(_)),
                };
                let (role, (nic, _)) =
                    if is_its { (Role::Responder, responder) } else { (Role::Requester, requester) };
                Err(WrongTestbed { role, nic: nic.to_owned(), testbed: testbed.clone() })
            }
        }
    }

    /// Looks whether the hosts of real NICs answer. Guests are started, and looked at, when a test first needs them.
    ///
    /// # Errors
    /// See [`PhysicalError`].
    pub fn look(&self) -> Result<(), PhysicalError> {
        match self {
            Self::Sim(_) | Self::Vm(_) | Self::VmP4(_) | Self::Uml(_) => Ok(()),
            Self::Real(labs) => labs.open().map(drop),
        }
    }

    /// The kernels of its hosts that count what runs of rdma_rxe. Images that cannot be read are a matter of the first test.
    #[must_use]
    pub fn codes(&self) -> uml::Codes {
        match self {
            Self::Sim(_) | Self::Vm(_) | Self::VmP4(_) | Self::Real(_) => uml::Codes::default(),
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
            Self::Real(labs) => labs.testbed(),
        }
    }
}
