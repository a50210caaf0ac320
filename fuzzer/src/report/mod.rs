//! Reports: what was found, for people.

pub mod campaign;
