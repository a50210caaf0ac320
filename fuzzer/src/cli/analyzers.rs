//! `lumina-fuzz analyzers`.

use std::fmt::Write as _;

use clap::Subcommand;
use scoring::analyzers::{self, Analyzer};
use serde::Serialize;

use super::output::{bad_message, print, print_json};
use super::{Exit, Format};

/// Arguments of `analyzers`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
}

#[derive(Subcommand)]
enum Action {
    /// One line for each analyzer.
    List,
    /// Describe an analyzer, with the rules that it holds a NIC to.
    Show {
        /// Name of the analyzer, as `list` prints it.
        name: String,
        /// Print the go-back-N tables as Mermaid state diagrams.
        #[arg(long)]
        diagram: bool,
    },
}

/// An analyzer with its rules, as JSON.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    analyzer: &'a Analyzer,
    rules: Vec<RuleDocument>,
}

#[derive(Serialize)]
struct RuleDocument {
    name: &'static str,
    kind: &'static str,
    expected: &'static str,
    source: &'static str,
}

impl<'a> Document<'a> {
    fn of(analyzer: &'a Analyzer) -> Self {
        let rules = analyzer.rules.iter().map(|rule| RuleDocument {
            name: rule.name(),
            kind: rule.kind().name(),
            expected: rule.expected(),
            source: rule.source(),
        });
        Self { analyzer, rules: rules.collect() }
    }
}

pub(super) fn run(args: &Args) -> Exit {
    match &args.action {
        Action::List => match args.format {
            Format::Json => print_json(&analyzers::ALL.iter().map(Document::of).collect::<Vec<_>>()),
            Format::Text => {
                let lines = analyzers::ALL
                    .iter()
                    .map(|analyzer| format!("{:<18}{}\n", analyzer.name, analyzer.summary));
                print(&lines.collect::<String>())
            }
        },
        Action::Show { name, diagram } => {
            let Some(analyzer) = analyzers::find(name) else {
                let names =
                    analyzers::ALL.iter().map(|analyzer| analyzer.name).collect::<Vec<_>>().join(", ");
                let message = format!("there is no analyzer `{name}`; there are {names}");
                return bad_message("unknown analyzer", &message, args.format);
            };
            match args.format {
                Format::Json => print_json(&Document::of(analyzer)),
                Format::Text => print(&describe(analyzer, *diagram)),
            }
        }
    }
}

fn describe(analyzer: &Analyzer, diagram: bool) -> String {
    let mut text = format!("{}: {}\nneeds: {}\n\n", analyzer.name, analyzer.summary, analyzer.needs);
    text.push_str(analyzer.explanation);
    text.push('\n');
    if !analyzer.rules.is_empty() {
        text.push_str("\nRules:\n");
    }
    for rule in analyzer.rules {
        let _ = writeln!(
            text,
            "  {:<30}{:<22}{}\n{:32}({})",
            rule.name(),
            rule.kind().name(),
            rule.expected(),
            "",
            rule.source()
        );
    }
    if analyzer.name == "go-back-n" {
        for (title, table, mermaid) in analyzers::go_back_n_tables() {
            let _ = writeln!(text, "\n{title}\n{}", if diagram { mermaid } else { table });
        }
    }
    text
}
