//! The command line `lumina-fuzz` ([`cli`]) and its commands: campaigns ([`campaign`]), the minimiser ([`minimize`]),
//! findings ([`finding`], [`report`], [`measure`], [`bundle`]), single tests ([`run`], [`whatif`]), captures ([`analyze`]), the corpus
//! ([`entries`]), the papers' experiments ([`paper`]) and their theory ([`predict`]). Every command judges a test by [`judge`]; [`policy`] says how often
//! a test is run, and [`repeat`] runs it so often.

pub mod analyze;
pub mod bundle;
pub mod campaign;
pub mod cli;
pub mod compare;
pub mod entries;
pub mod export;
pub mod finding;
pub mod judge;
mod losses;
pub mod measure;
pub mod memory;
pub mod minimize;
pub mod night;
pub mod page;
pub mod paper;
pub mod plot;
pub mod policy;
pub mod predict;
pub mod repeat;
pub mod report;
pub mod run;
pub mod signature;
pub mod statistics;
pub mod strategy;
pub mod version;
pub mod whatif;
