//! Whole-program tests: the built binary on captures of a real stack, result folders and bad input.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod analyzers;
mod bad_input;
mod bundles;
mod captures;
mod corpus;
mod damage;
mod digests;
mod docs;
mod export;
mod folders;
mod inputs;
mod interrupts;
mod nics;
mod paper;
mod physical;
mod plain_words;
mod predict;
mod readme;
mod report;
mod run;
mod scripts;
mod simulated;
mod targets;
mod verdicts;
mod whatif;
mod words;
