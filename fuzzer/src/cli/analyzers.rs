//! `lumina-fuzz analyzers`.

use std::fmt::Write as _;

use clap::Subcommand;
use scoring::tables::describe_tables;
use scoring::{About, Analyzer, Rule, analyzers};
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
struct Document {
    #[serde(flatten)]
    about: About,
    rules: Vec<RuleDocument>,
}

#[derive(Serialize)]
struct RuleDocument {
    name: &'static str,
    kind: &'static str,
    expected: &'static str,
    source: String,
}

impl Document {
    fn of(analyzer: Analyzer) -> Self {
        let rules = Rule::of(analyzer).map(|rule| RuleDocument {
            name: rule.name(),
            kind: rule.kind().name(),
            expected: rule.expected(),
            source: rule.source(),
        });
        Self { about: analyzer.about(), rules: rules.collect() }
    }
}

pub(super) fn run(args: &Args) -> Exit {
    match &args.action {
        Action::List => match args.format {
            Format::Json => print_json(&analyzers().map(Document::of).collect::<Vec<_>>()),
            Format::Text => {
                let about = analyzers().map(Analyzer::about);
                let lines = about.map(|about| format!("{:<18}{}\n", about.name, about.summary));
                print(&lines.collect::<String>())
            }
        },
        Action::Show { name, diagram } => {
            let Some(analyzer) = analyzers().find(|analyzer| analyzer.about().name == *name) else {
                let names = analyzers().map(|analyzer| analyzer.about().name);
                let names = names.collect::<Vec<_>>().join(", ");
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

fn describe(analyzer: Analyzer, diagram: bool) -> String {
    let About { name, summary, needs, explanation } = analyzer.about();
    let mut text = format!("{name}: {summary}\nneeds: {needs}\n\n{explanation}\n");
    if Rule::of(analyzer).next().is_some() {
        text.push_str("\nRules:\n");
    }
    for rule in Rule::of(analyzer) {
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
    for table in describe_tables().into_iter().filter(|table| table.machine.analyzer() == analyzer) {
        let _ = writeln!(text, "\n{}\n{}", table.title, if diagram { table.diagram } else { table.text });
    }
    text
}
