//! `lumina-fuzz`: see `lumina-fuzz --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fuzzer::memory::allocate_from_one_arena();
    fuzzer::cli::run()
}
