//! The transition tables.
