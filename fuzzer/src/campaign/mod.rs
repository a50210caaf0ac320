//! The campaign: the search over tests (Lumina Algorithm 1, or another strategy), in a folder that keeps everything of it.

mod baselines;
mod begin;
mod checks;
mod engine;
mod error;
mod folder;
mod idle;
mod initial;
mod pool;
mod random;
mod reached;
pub mod report;
mod request;
mod retention;
mod schedule;
mod search;
mod settings;
mod starts;
mod stop;
mod summary;

pub use begin::{Campaign, random_seed, read_target, vocabulary};
pub use engine::{Engine, Event, Setup, Status};
pub use error::CampaignError;
pub use folder::{CORPUS, SETTINGS, SUMMARY, read_settings};
pub(crate) use folder::{LOCK, io_error, lock};
pub use idle::Idle;
pub use reached::Reached;
pub use request::Request;
pub use schedule::BATCH;
pub use settings::{KEEP_PROBABILITY, Lifted, Limits, MAX_CORPUS, Settings};
pub use starts::{Start, read as read_starts};
pub use stop::{End, Stop};
pub use summary::{Rest, Summary};
