//! The flags that name NICs, and those that run a finding on others.

use std::path::Path;

use executor::guests::Kernel;
use executor::{Nic, TestbedName};

use super::numbers::whole;
use super::output::bad_file;
use super::{Exit, Format};
use crate::finding::Instead;
use crate::run::Overrides;

/// Flags that choose the NICs.
#[derive(clap::Args)]
pub(super) struct NicArgs {
    /// NIC profile of both hosts, by name (`nics list`) or path.
    #[arg(long, value_name = "NIC", conflicts_with_all = ["requester_nic", "responder_nic"])]
    nic: Option<String>,
    /// NIC profile of the requester.
    #[arg(long, value_name = "NIC")]
    requester_nic: Option<String>,
    /// NIC profile of the responder.
    #[arg(long, value_name = "NIC")]
    responder_nic: Option<String>,
    /// On testbeds of guests, the kernel of the requester's: 6.1, 6.12, or another whose image was built.
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["nic", "requester_nic"])]
    requester_kernel: Option<Kernel>,
    /// On testbeds of guests, the kernel of the responder's.
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["nic", "responder_nic"])]
    responder_kernel: Option<Kernel>,
}

impl NicArgs {
    /// The requester's and the responder's NIC where they were named, each with the flag that did.
    pub(super) fn named(&self) -> [Option<(&'static str, String)>; 2] {
        let named = |flag, own: &Option<String>, kernel_flag, kernel: &Option<Kernel>| {
            let own = own.clone().map(|nic| (flag, nic));
            let both = || self.nic.clone().map(|nic| ("--nic", nic));
            let of_kernel = || kernel.as_ref().map(|kernel| (kernel_flag, Nic::guest_name(kernel)));
            own.or_else(of_kernel).or_else(both)
        };
        [
            named("--requester-nic", &self.requester_nic, "--requester-kernel", &self.requester_kernel),
            named("--responder-nic", &self.responder_nic, "--responder-kernel", &self.responder_kernel),
        ]
    }

    /// The same without the flags.
    pub(super) fn names(&self) -> [Option<String>; 2] {
        self.named().map(|named| named.map(|(_, nic)| nic))
    }
}

/// Flags that replace settings of a finding, the same for every command that runs findings.
#[derive(clap::Args)]
pub(super) struct InsteadArgs {
    /// Testbed [default: that of the finding].
    #[arg(long, value_name = "TESTBED")]
    testbed: Option<TestbedName>,
    #[command(flatten)]
    nics: NicArgs,
    /// Seed of the test, in place of its own.
    #[arg(long, value_name = "N", value_parser = whole(0..=corpus::config::fields::SEED.max))]
    seed: Option<u64>,
}

impl InsteadArgs {
    /// The same for a test of the user's, whose testbed is the simulated one if none is named.
    pub(super) fn of_test(&self) -> (Overrides, TestbedName) {
        let overrides = Overrides { nics: self.nics.named(), seed: self.seed };
        (overrides, self.testbed.clone().unwrap_or_default())
    }

    /// The seed of the test, if one was given.
    pub(super) const fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The same with its NICs loaded; prints the error of one that cannot be loaded.
    pub(super) fn load(&self, format: Format) -> Result<Instead, Exit> {
        let load = |nic: Option<String>| match nic {
            None => Ok(None),
            Some(nic) => match Nic::load(&nic, Path::new("")) {
                Ok(loaded) => Ok(Some((nic, loaded))),
                Err(error) => Err(bad_file("bad NIC profile", error.0, format)),
            },
        };
        let [requester, responder] = self.nics.names();
        Ok(Instead {
            testbed: self.testbed.clone(),
            nics: [load(requester)?, load(responder)?],
            seed: self.seed,
        })
    }
}
