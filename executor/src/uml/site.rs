//! A testbed whose tests boot guests of their own.

use corpus::{Capabilities, TestConfig};

use super::capabilities;
use super::core::Core;
use super::image::{Cache, Image};
use super::mode::Mode;
use super::pair::Pair;
use crate::guests::{GuestError, Kernel, Outcome};
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
        let [requester, responder] = kernels.each_ref().map(|kernel| cache.image(kernel));
        Ok(Self { images: [requester?, responder?], core: Core::next(), consoles: Default::default() })
    }

    /// Lines that the consoles of both guests had in the last test, the requester's first.
    #[must_use]
    pub const fn consoles(&self) -> &[Vec<String>; 2] {
        &self.consoles
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
