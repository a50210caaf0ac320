//! A testbed of real NICs as a campaign has it: one, whose jobs take turns.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use corpus::{Capabilities, Role, TestConfig};
use dumper::Observation;
use dumper::serve::tls::Keys;

use super::capabilities::capabilities_of;
use super::file::TestbedFile;
use super::host::HostFacts;
use super::site::Site;
use super::{PhysicalError, connect};
use crate::lock::locked;
use crate::remote::attempts;
use crate::{Testbed, TestbedError};

/// A testbed of real NICs, whose hosts have answered.
#[derive(Debug, Clone)]
pub struct Lab(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    file: TestbedFile,
    keys: Option<Keys>,
    /// The hosts as they were first, the requester's first.
    hosts: [HostFacts; 2],
    capabilities: Capabilities,
    site: Mutex<Option<Site>>,
    /// All machines were there once: one that is not there now may be restarting.
    was_up: AtomicBool,
}

impl Lab {
    /// The testbed of a file. Its agents are asked what their hosts have; the switch and the dumpers are left alone until the first
    /// test, as another campaign may have them.
    ///
    /// # Errors
    /// See [`PhysicalError`].
    pub fn open(path: &Path) -> Result<Self, PhysicalError> {
        let file = TestbedFile::load(path)?;
        let keys = connect::keys_of(&file)?;
        let hosts = connect::runtime()?.block_on(async {
            let described = |role| connect::agent(&file, keys.as_ref(), role);
            let (requester, responder) =
                tokio::try_join!(described(Role::Requester), described(Role::Responder))?;
            Ok::<_, PhysicalError>([requester.1, responder.1])
        })?;
        let capabilities = capabilities_of(&file, &hosts);
        Ok(Self(Arc::new(Shared {
            file,
            keys,
            hosts,
            capabilities,
            site: Mutex::default(),
            was_up: AtomicBool::new(false),
        })))
    }

    /// Its file.
    #[must_use]
    pub fn file(&self) -> &TestbedFile {
        &self.0.file
    }

    /// What a host has.
    #[must_use]
    pub fn host(&self, role: Role) -> &HostFacts {
        &self.0.hosts[role as usize]
    }
}

impl Testbed for Lab {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities.clone()
    }

    fn run(&mut self, config: &TestConfig) -> Result<Observation, TestbedError> {
        let Shared { file, keys, hosts, capabilities, site, was_up } = &*self.0;
        TestbedError::unless_capable(capabilities, config)?;
        let start = || {
            let patience = if was_up.load(Ordering::Relaxed) { file.restart() } else { Duration::ZERO };
            let site = Site::start(file, keys.as_ref(), hosts, patience)
                .map_err(|error| broken(&error, &file.path))?;
            was_up.store(true, Ordering::Relaxed);
            Ok(site)
        };
        attempts(&mut locked(site), start, |site| site.run(config))
    }
}

/// A testbed that cannot run tests.
pub(super) fn broken(error: &PhysicalError, file: &Path) -> TestbedError {
    TestbedError::Broken(format!(
        "{} (`lumina-fuzz testbed check {}` looks at everything)",
        error.with_mend(),
        file.display()
    ))
}
