//! The testbed whose guests the tests run on.

pub(crate) use executor::guests::Kernel;
pub(crate) use executor::vm::capabilities;

use executor::guests::Pairs;

/// With the software switch.
pub(crate) type Site = executor::vm::Site;

/// Attempts at a script before it is reported not to hold: packets of two hosts that share a busy machine
/// race, and a script names one of their orders.
pub(crate) const TRIES: usize = 5;

/// The guests for a script.
pub(crate) fn for_a_script() -> Pairs<Site> {
    super::pair::PAIRS.clone()
}

/// Kernels of the guests that all tests share.
pub(crate) const KERNELS: [Kernel; 2] = [Kernel::V6_1; 2];
