//! `lumina-fuzz`: see `lumina-fuzz --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fuzzer::cli::run()
}
