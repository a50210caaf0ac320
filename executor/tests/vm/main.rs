//! Tests on a real RDMA stack: `rdma_rxe` in two guests. They need QEMU and built images (docs/vm-testbed.md), and so run
//! only with the feature `vm`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

mod agents;
#[path = "../support/environment.rs"]
mod environment;
mod events;
mod forged;
mod forger;
mod killed;
mod pair;
mod random;
mod scripts;
mod verbs;
