//! Tests of the dumper room through its public interface, in one binary so that they link once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod captures;
mod damage;
mod digest;
mod folder;
mod frames;
mod headers;
mod icrc;
mod integrity;
mod messages;
mod reconstruction;
mod rxe;
mod script;
mod support;
mod written_folder;
