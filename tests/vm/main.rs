//! Whole campaigns of the built binary on `rdma_rxe` in two guests. They need QEMU, images
//! (docs/vm-testbed.md), and all programs of the workspace beside the binary, and so run only with the
//! feature `vm`. Those that take long, or need the image of 6.12, are `#[ignore]`d here and run by `ci/long
//! vm`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

// Below a name by which a run of all tests can skip them: `--skip guests::`.
#[path = "."]
mod guests {
    mod accelerator;
    mod ends;
    #[path = "../given.rs"]
    mod given;
    mod held;
    mod kills;
    mod long;
    mod orchestrator;
    mod physical;
    mod place;
    #[path = "../cli/run.rs"]
    #[allow(dead_code, reason = "these tests need some of it")]
    mod run;
}
