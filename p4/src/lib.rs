//! The event injector's room: the match-action pipeline in Rust, the translation of relative intents into
//! table entries, the P4-16 programs and the software switch. It imports `corpus` and `dumper`.
