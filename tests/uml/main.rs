//! Whole campaigns of the built binary on `rdma_rxe` in virtual time. They need the images of 6.12 and 6.12-coverage
//! (docs/uml.md), and so run only with the feature `uml`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

// Below a name by which a run of all tests can skip them: `--skip guests::`.
#[path = "."]
mod guests {
    mod campaign;
    mod coverage;
    #[path = "../given.rs"]
    mod given;
    mod kills;
    #[path = "../cli/run.rs"]
    #[allow(dead_code, reason = "these tests need some of it")]
    mod run;
    mod same;
}
