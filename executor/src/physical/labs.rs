//! The testbed of a file as a campaign's jobs get it. Its hosts are asked only when a test is to run: findings are read, packed and
//! explained where no host is.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use corpus::{Capabilities, Role, TestConfig};
use dumper::Observation;

use super::lab::{Lab, broken};
use super::names::NicName;
use super::{PhysicalError, capabilities};
use crate::lock::locked;
use crate::{Testbed, TestbedError};

/// A testbed of real NICs, by its file.
#[derive(Debug, Clone)]
pub struct Labs {
    path: PathBuf,
    nics: [NicName; 2],
    lab: Arc<Mutex<Option<Lab>>>,
}

impl Labs {
    /// The testbed of a file, whose hosts have these NICs, the requester's first.
    #[must_use]
    pub fn new(path: PathBuf, nics: [NicName; 2]) -> Self {
        Self { path, nics, lab: Arc::default() }
    }

    /// The testbed, whose hosts have answered.
    ///
    /// # Errors
    /// See [`PhysicalError`].
    pub fn open(&self) -> Result<Lab, PhysicalError> {
        let mut lab = locked(&self.lab);
        if let Some(lab) = &*lab {
            return Ok(lab.clone());
        }
        let opened = Lab::open(&self.path)?;
        for (role, wanted) in Role::ALL.into_iter().zip(&self.nics) {
            let has = &opened.file().host(role).nic;
            if has != wanted {
                return Err(PhysicalError::OtherNic {
                    role,
                    wanted: wanted.clone(),
                    has: has.clone(),
                    file: self.path.clone(),
                });
            }
        }
        *lab = Some(opened.clone());
        Ok(opened)
    }

    /// The testbed, on which tests fail while its hosts do not answer.
    #[must_use]
    pub fn testbed(&self) -> Box<dyn Testbed> {
        match self.open() {
            Ok(lab) => Box::new(lab),
            Err(error) => Box::new(Absent(broken(&error, &self.path).to_string())),
        }
    }
}

/// A testbed that cannot run tests, for this reason.
struct Absent(String);

impl Testbed for Absent {
    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn run(&mut self, _: &TestConfig) -> Result<Observation, TestbedError> {
        Err(TestbedError::Broken(self.0.clone()))
    }
}
