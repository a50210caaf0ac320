//! Whole-program tests: the built binary on captures of a real stack, result folders and bad input.

mod analyzers;
mod bad_input;
mod captures;
mod docs;
mod folders;
mod run;
