//! Rules that a valid configuration keeps. They work on the plain data, so that files and mutants are held to
//! the same rules; the reader of a file adds positions to the paths.

mod control;
mod events;
mod hosts;
mod network;
mod offload;
mod overlap;
mod rules;
mod traffic;

use std::collections::BTreeSet;
use std::fmt;

use crate::config::{TestConfig, fields::IntField};

/// A rule that a configuration breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}; {help}")]
pub struct Violation {
    /// Path of the field (`traffic.tx-depth`, `event[2].psn`; entries count from 1).
    pub field: String,
    /// Description of the error.
    pub message: String,
    /// Allowed values or remedy.
    pub help: String,
    /// Paths of other fields that the judgement rests on.
    pub rests_on: Vec<String>,
}

impl Violation {
    /// Number, from 1, of the event in a path such as `event[2].psn`.
    fn event(&self) -> Option<usize> {
        self.entry_of("event[")
    }

    /// Number of the operation on a flow table that it is about, from 1.
    fn control(&self) -> Option<usize> {
        self.entry_of("control[")
    }

    fn entry_of(&self, list: &str) -> Option<usize> {
        self.field.strip_prefix(list)?.split_once(']')?.0.parse().ok()
    }
}

impl TestConfig {
    /// Every rule that the configuration breaks: bounds, contradictions, events on packets that
    /// never exist. Empty for everything that was read from a file.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let mut check = Check::default();
        hosts::check(self, &mut check);
        traffic::check(self, &mut check);
        network::check(self, &mut check);
        events::check(self, &mut check);
        control::check(self, &mut check);
        check.violations
    }

    /// Removes the events that violations of this configuration are about. Returns true if there are any.
    pub fn drop_events(&mut self, violations: &[Violation]) -> bool {
        drop_numbered(&mut self.events, violations.iter().filter_map(Violation::event))
    }

    /// Removes the operations on flow tables that violations of this configuration are about. Returns true if there are any.
    pub fn drop_controls(&mut self, violations: &[Violation]) -> bool {
        drop_numbered(&mut self.control, violations.iter().filter_map(Violation::control))
    }

    /// Returns true if there are no [`violations`](Self::violations).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.violations().is_empty()
    }
}

/// Removes the entries with these numbers, from 1. Returns true if there are any.
fn drop_numbered<T>(entries: &mut Vec<T>, numbers: impl Iterator<Item = usize>) -> bool {
    let faulty: BTreeSet<usize> = numbers.collect();
    let mut number = 0;
    entries.retain(|_| {
        number += 1;
        !faulty.contains(&number)
    });
    !faulty.is_empty()
}

#[derive(Default)]
pub(crate) struct Check {
    pub(crate) violations: Vec<Violation>,
}

impl Check {
    pub(crate) fn fail(
        &mut self,
        field: impl fmt::Display,
        message: impl Into<String>,
        help: impl Into<String>,
        rests_on: &[&str],
    ) {
        self.violations.push(Violation {
            field: field.to_string(),
            message: message.into(),
            help: help.into(),
            rests_on: rests_on.iter().map(|&path| path.to_owned()).collect(),
        });
    }

    /// Returns true if a number is inside the bounds of its field. A search checks each test that it draws, so that a path is
    /// only made where it is reported.
    fn bounds(&mut self, path: impl fmt::Display, value: impl Into<u64>, field: &IntField) -> bool {
        let value = value.into();
        let allowed = field.allows(value);
        if !allowed {
            let help = format!("allowed: {} ({})", field.range(), field.why);
            self.fail(path, format!("{value} is out of range"), help, &[]);
        }
        allowed
    }
}

/// `1 packet`, `2 packets`
#[must_use]
pub fn plural(n: u64, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}
