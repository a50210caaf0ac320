//! Targets: the anomalies that a campaign looks for, and its search space. A target's search space, the
//! random tests that are drawn from it, and the mutation operators that change one test of it into another.
//! Every resulting test is valid ([`corpus::TestConfig::is_valid`]) and inside the space.

mod admit;
mod architectures;
mod axis;
mod broad;
mod capable;
mod classes;
mod covering;
mod draw;
mod offload;
mod operators;
mod parts;
mod paths;
mod settle;
mod show;
mod space;
mod tables;
mod target;
mod values;
mod words;

pub use axis::{AXES, Axis, Entry, Kind};
pub use covering::{Covered, Levels};
pub use draw::swap_nics;
pub use operators::{Operator, all as operators};
pub use parts::{Part, Parts};
pub use space::Space;
pub use target::{
    Change, Field, Line, Loaded, SHIPPED, Shipped, Target, TargetError, Vocabulary, fields, is_shipped,
    load_with_base,
};
pub use values::Values;

use corpus::TestConfig;

/// A test that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The test: valid, inside the target's space, and different from its parent.
    pub config: TestConfig,
    /// The operators that changed it, in order.
    pub operators: Vec<&'static str>,
}

/// Result of mutating a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mutation {
    /// A different one.
    Changed(Box<Mutant>),
    /// Nothing: no operator of the target applies to this test.
    NotApplicable,
}
