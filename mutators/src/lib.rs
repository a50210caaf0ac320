//! Search spaces, targets, and the mutation and crossover operators over `corpus::TestConfig`.
//!
//! Empty so far: operators arrive together with the campaign that applies them.
