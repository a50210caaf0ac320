//! `lumina-fuzz`: see `lumina-fuzz --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fuzzer::memory::bound();
    fuzzer::cli::run()
}
