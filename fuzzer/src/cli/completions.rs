//! `lumina-fuzz completions`.

use clap_complete::Shell;

use super::Exit;
use super::output::print;

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz completions bash > ~/.local/share/bash-completion/completions/lumina-fuzz
  lumina-fuzz completions zsh > \"${fpath[1]}/_lumina-fuzz\"
  lumina-fuzz completions fish > ~/.config/fish/completions/lumina-fuzz.fish";

/// Arguments of `completions`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(args: &Args, command: &mut clap::Command) -> Exit {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(args.shell, command, name, &mut script);
    print(&String::from_utf8_lossy(&script))
}
