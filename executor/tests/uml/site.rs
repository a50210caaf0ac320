//! The testbed whose guests the tests run on.

pub(crate) use executor::guests::Kernel;
pub(crate) use executor::uml::{Site, capabilities};

use executor::guests::Pairs;

/// Attempts at a script before it is reported not to hold.
pub(crate) const TRIES: usize = 1;

/// The guests for a script.
pub(crate) fn for_a_script() -> Pairs<Site> {
    super::pair::PAIRS.clone()
}

/// Kernels of the guests that all tests share.
pub(crate) const KERNELS: [Kernel; 2] = [Kernel::V6_12; 2];
