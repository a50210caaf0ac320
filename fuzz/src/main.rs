//! The fuzzer of every target, which `FUZZ_TARGET` names.

#![no_main]

use std::sync::LazyLock;

static BODY: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let target = fuzz_bodies::TARGETS.iter().find(|(target, _)| *target == name);
    target.unwrap_or_else(|| panic!("FUZZ_TARGET={name}: there is no such target")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (*BODY)(data));
