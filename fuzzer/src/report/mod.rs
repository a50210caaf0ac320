//! Reports of findings, for people.

mod brief;
mod finding;
#[cfg(test)]
pub(crate) mod tests;
mod title;
mod words;

pub(crate) use brief::toml;
pub use finding::{Subject, text};
pub(crate) use finding::{beside, expected, minimised, numbers, seen};
pub use title::title;
pub(crate) use words::sentences;
pub use words::{capitalised, events};
