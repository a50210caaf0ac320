//! Support for whole-program tests.

pub mod synthetic;
