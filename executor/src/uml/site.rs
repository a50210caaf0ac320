//! A testbed whose tests boot guests of their own.

use corpus::{Capabilities, TestConfig};

use super::capabilities;
use super::core::Core;
use super::image::{Cache, Image};
use super::mode::Mode;
use super::pair::Pair;
use crate::guests::{GuestError, Kernel, Outcome, RunFolder};
use crate::remote::{Failed, RemoteError};

/// The testbed: each test boots guests of its own, so that nothing in it depends on the tests before.
#[derive(Debug)]
pub struct Site {
    /// Of the requester's and the responder's guest.
    images: [Image; 2],
    core: Option<Core>,
    /// Lines of the consoles in the last test.
    consoles: [Vec<String>; 2],
}

impl Site {
    /// Finds the images of two kernels, the requester's first.
    ///
    /// # Errors
    /// One is missing or damaged.
    pub fn find(cache: &Cache, kernels: &[Kernel; 2]) -> Result<Self, GuestError> {
        Ok(Self { images: cache.images(kernels)?, core: Core::next(), consoles: Default::default() })
    }

    /// Lines that the consoles of both guests had in the last test, the requester's first.
    #[must_use]
    pub const fn consoles(&self) -> &[Vec<String>; 2] {
        &self.consoles
    }
}

/// Two guests that have booted and whose time stands still: to look at them with a debugger. They end when this is dropped, and
/// with this process.
#[derive(Debug)]
pub struct Held(Pair);

impl Site {
    /// Boots guests, and holds them. [`run_folder::stop_all`](crate::guests::run_folder::stop_all) ends this process.
    ///
    /// # Errors
    /// A guest does not start.
    pub fn hold(&self) -> Result<Held, GuestError> {
        let folder = RunFolder::make()?;
        folder.make_stoppable()?;
        Pair::boot_in(folder, self.images.each_ref(), Mode::Exact, self.core.as_ref()).map(Held)
    }

    /// Images of the guests, the requester's first.
    #[must_use]
    pub const fn images(&self) -> &[Image; 2] {
        &self.images
    }
}

impl Held {
    /// Processes of the guests' kernels, the requester's first.
    #[must_use]
    pub fn pids(&self) -> [i32; 2] {
        self.0.pids()
    }
}

impl crate::guests::Site for Site {
    const NAME: &'static str = "uml";

    fn capabilities() -> Capabilities {
        capabilities()
    }

    fn start(kernels: &[Kernel; 2]) -> Result<Self, GuestError> {
        Self::find(&Cache::open(None)?, kernels)
    }

    fn run(&mut self, config: &TestConfig) -> Outcome {
        let _held = self.core.as_ref().map(Core::hold);
        match Pair::boot(self.images.each_ref(), Mode::Exact, self.core.as_ref()) {
            Ok(mut pair) => {
                let outcome = pair.run(config);
                self.consoles = pair.consoles();
                outcome
            }
            Err(error) => Outcome::Failed(Failed {
                error: RemoteError::NotStarted(error.to_string()),
                observed: Box::default(),
            }),
        }
    }
}
