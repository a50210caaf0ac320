//! Arguments, exit codes, and which command does what.

mod analyze;
mod analyzers;
mod output;
mod progress;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// Exit codes; they do not change without reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Something failed on our side.
    Failed = 1,
    /// Wrong arguments or bad input. The argument parser uses the same.
    Usage = 2,
    /// The trace is invalid: a condition of the integrity check failed.
    InvalidTrace = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

const ABOUT: &str = "Hunts for bugs in RDMA NICs (RoCEv2), and judges what they put on the wire.";

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 failed, 2 usage or bad input, 5 invalid trace.
With --format json one JSON document is printed on stdout; messages and progress go to stderr.";

#[derive(Parser)]
#[command(name = "lumina-fuzz", version, about = ABOUT, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Judge captures or a result folder: integrity, retransmissions, anomalies.
    Analyze(analyze::Args),
    /// List the analyzers, or explain one.
    Analyzers(analyzers::Args),
}

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document, for scripts.
    Json,
}

/// Parses the arguments and runs the command.
pub fn run() -> ExitCode {
    match Cli::parse().command {
        Command::Analyze(args) => analyze::run(&args),
        Command::Analyzers(args) => analyzers::run(&args),
    }
    .into()
}
