//! Support for whole-program tests.
