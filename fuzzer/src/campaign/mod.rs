//! The campaign: the genetic search over tests.
