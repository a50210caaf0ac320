//! Congestion control of a NIC: DCQCN's notification and reaction points, and the pacing of what a rate limits.

mod notification;
mod pacing;
mod reaction;

pub(super) use notification::{NotificationPoint, Signs};
pub(super) use pacing::Pacer;
pub(super) use reaction::ReactionPoint;
