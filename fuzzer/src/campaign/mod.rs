//! The campaign: the genetic search over tests (Lumina Algorithm 1), in a folder that keeps everything of it.

mod baselines;
mod begin;
mod candidates;
mod checks;
mod engine;
mod error;
mod folder;
mod idle;
mod initial;
mod pool;
mod random;
mod retention;
mod schedule;
mod settings;
mod stop;
mod summary;

pub use baselines::InMemory;
pub use begin::{Campaign, Request, random_seed, vocabulary};
pub use engine::{Engine, Event, Setup, Status};
pub use error::CampaignError;
pub(crate) use error::is_full;
pub use folder::{CORPUS, FINDINGS, SETTINGS, SUMMARY};
pub use idle::Idle;
pub use schedule::BATCH;
pub use settings::{Copied, KEEP_PROBABILITY, Limits, MINIMIZER_BUDGET, Settings, Strategy};
pub use stop::{End, Stop};
pub use summary::Summary;
