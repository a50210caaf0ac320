//! Arguments, exit codes, and the module of each command.

mod analyze;
mod analyzers;
mod campaign;
mod compare;
mod completions;
mod corpus;
mod coverage;
mod export;
mod keys;
mod limit;
mod minimize;
mod nic_args;
mod nics;
mod numbers;
mod opened;
mod output;
mod paper;
mod predict;
mod progress;
mod replay;
mod report;
mod run;
mod targets;
mod testbed;
mod whatif;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use numbers::with_negative_numbers;

/// Exit codes; they do not change without reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Something failed on our side, or a packet script does not hold.
    Failed = 1,
    /// Wrong arguments or bad input. The argument parser uses the same.
    Usage = 2,
    /// Something was found, and `--fail-on-finding` asked to say so.
    Found = 3,
    /// `replay` did not reproduce a finding.
    NotReproduced = 4,
    /// The trace is invalid: a condition of the integrity check failed.
    InvalidTrace = 5,
    /// `replay --bisect` cannot say whether a finding is reproduced; `git bisect run` then skips the commit.
    CannotJudge = 125,
    /// Interrupted, and saved.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

const ABOUT: &str = "Hunts for bugs in RDMA NICs (RoCEv2), and judges their packets.";

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 failed or a packet script does not hold, 2 usage or bad input, 3 something was found \
(--fail-on-finding), 4 not reproduced (replay), 5 invalid trace, 130 interrupted and saved.
With --format json one JSON document is printed on stdout; messages and progress go to stderr.";

#[derive(Parser)]
#[command(name = "lumina-fuzz", version, about = ABOUT, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Hunt: mutate tests, run them, keep the odd ones, minimise and report anomalies.
    Campaign(campaign::Args),
    /// Run the tests of findings again: reproduced or not.
    Replay(replay::Args),
    /// Minimise the test of a finding.
    Minimize(minimize::Args),
    /// Write the report of a campaign or of a finding: HTML for a vendor, Markdown for an issue tracker.
    Report(report::Args),
    /// Write the test of a finding, or any other, in the language of another tool.
    Export(export::Args),
    /// Judge captures or a result folder: integrity, retransmissions, anomalies.
    Analyze(analyze::Args),
    /// List the analyzers, or explain one.
    Analyzers(analyzers::Args),
    /// Run one test and judge it.
    Run(run::Args),
    /// Run one test with other settings over the same seeds, and compare: do they help?
    Whatif(whatif::Args),
    /// Compare search strategies: executions to each anomaly, over many seeds, with statistics.
    Compare(compare::Args),
    /// Run the experiments of the papers, and compare the measurements with the published ones.
    Paper(paper::Args),
    /// Say what is to be expected, without a run: time-outs where links damage packets.
    Predict(predict::Args),
    /// Check the corpus of a campaign, look into it, or save its readable contents.
    Corpus(corpus::Args),
    /// List NIC profiles, show one, or check a file.
    Nics(nics::Args),
    /// List targets of campaigns, show one, or check a file.
    Targets(targets::Args),
    /// Completions for a shell.
    Completions(completions::Args),
    /// Prepare and check the guests of the VM testbed, start and stop a pair.
    Testbed(testbed::Args),
}

/// Format of the output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document, for scripts.
    Json,
}

/// The arguments. Wrong ones end the program.
fn parsed() -> Cli {
    let parse = |arguments: Vec<OsString>| {
        let matches = with_negative_numbers(Cli::command()).try_get_matches_from(arguments);
        matches.and_then(|matches| Cli::from_arg_matches(&matches))
    };
    parse(std::env::args_os().collect()).unwrap_or_else(|error| {
        // The parser prints wrong arguments as they are: those without control characters are as wrong.
        let escaped =
            |argument: OsString| ::corpus::without_controls(&argument.to_string_lossy(), &[]).into();
        parse(std::env::args_os().map(escaped).collect()).err().unwrap_or(error).exit()
    })
}

/// Parses the arguments and runs the command.
pub fn run() -> ExitCode {
    match parsed().command {
        Command::Campaign(args) => campaign::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Minimize(args) => minimize::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Analyzers(args) => analyzers::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Whatif(args) => whatif::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Paper(args) => paper::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Corpus(args) => corpus::run(&args),
        Command::Nics(args) => nics::run(&args),
        Command::Targets(args) => targets::run(&args),
        Command::Completions(args) => completions::run(&args, &mut Cli::command()),
        Command::Testbed(args) => testbed::run(&args),
    }
    .into()
}
