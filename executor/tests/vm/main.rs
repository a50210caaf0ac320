//! Tests on a real RDMA stack: `rdma_rxe` in two guests. They need QEMU and built images
//! (docs/vm-testbed.md), and so run only with the feature `vm`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

// Below a name by which a run of all tests can skip them: `--skip guests::`.
#[path = "."]
mod guests {
    mod agents;
    mod causes;
    #[path = "../support/environment.rs"]
    mod environment;
    mod events;
    mod flow_tables;
    mod forged;
    mod forger;
    mod killed;
    mod p4_switch;
    mod pair;
    mod random;
    #[path = "../../../tests/theory/recount.rs"]
    mod recount;
    mod scripts;
    mod site;
    mod verbs;
}
