//! The command line `lumina-fuzz`, and the modules behind its commands.
//!
//! [`campaign`] is the campaign loop, [`judge`] runs and judges one test, [`minimize`] makes it smaller,
//! [`finding`] and [`report`] write it out, [`measure`] and [`paper`] measure; [`analyze`], [`run`] and
//! [`entries`] stand behind the commands of these names.

pub mod analyze;
pub mod campaign;
pub mod cli;
pub mod entries;
pub mod finding;
pub mod judge;
pub mod measure;
pub mod minimize;
pub mod paper;
pub mod repeat;
pub mod report;
pub mod run;
