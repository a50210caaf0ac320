//! Reports of findings, for people.

mod brief;
mod finding;
#[cfg(test)]
pub(crate) mod tests;
mod title;
mod words;

pub use finding::{Subject, text};
pub use title::title;
pub use words::{capitalised, events};
