//! The P4 programs in `p4/programs`, which an interpreter runs: they are held to the pipeline, the vectors and the P4Info.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

mod externs;
mod load;
mod machine;
mod runs;
mod switch;
mod tofino;
mod v1model;
mod value;

mod constants;
mod drawn;
mod rules;
mod tables;
mod vectors;

#[cfg(feature = "interfaces")]
pub(crate) use runs::{Case, udp_at, wiring};
#[cfg(feature = "interfaces")]
pub(crate) use vectors::possible;

/// The programs.
const PROGRAMS: [&str; 2] = ["event_injector_v1model.p4", "event_injector_tna.p4"];

/// The result of a function; none if it panics, of which nothing is printed.
fn quietly<T>(function: impl FnOnce() -> T) -> Option<T> {
    thread_local!(static IS_QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                hook(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(function));
    IS_QUIET.set(false);
    result.ok()
}
