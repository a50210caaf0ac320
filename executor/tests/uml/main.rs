//! Tests on a real RDMA stack in virtual time: `rdma_rxe` in two user-mode kernels. They need a built image (docs/uml.md), and
//! so run only with the feature `uml`. What does not depend on the kind of guest is tested as on the VM testbed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic where they fail")]

// Below a name by which a run of all tests can skip them: `--skip guests::`.
#[path = "."]
mod guests {
    #[path = "../vm/causes.rs"]
    mod causes;
    #[path = "../support/environment.rs"]
    mod environment;
    #[path = "../vm/events.rs"]
    mod events;
    #[path = "../vm/pair.rs"]
    mod pair;
    #[path = "../vm/random.rs"]
    mod random;
    #[path = "../../../tests/theory/recount.rs"]
    mod recount;
    mod same;
    #[path = "../vm/scripts/mod.rs"]
    mod scripts;
    mod site;
    #[path = "../vm/verbs.rs"]
    mod verbs;
}
