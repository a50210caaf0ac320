//! A finding run again on several kernels, each in both guests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use executor::guests::{GuestError, Kernel, Manifest, Options};
use executor::{Nic, TestbedName, uml};

use super::super::output::{complain, print, print_json};
use super::super::progress::with_spinner;
use super::super::testbed::{build_image, name_of};
use super::super::{Exit, Format};
use super::{Line, findings_at, of_finding};
use crate::finding::Instead;

/// Exit codes of `--bisect`, as `git bisect run` takes them.
const GOOD: Exit = Exit::Done;
const BAD: Exit = Exit::Failed;
const CANNOT_JUDGE: Exit = Exit::CannotJudge;

/// Flags that run a finding on kernels.
#[derive(clap::Args)]
pub(super) struct KernelArgs {
    /// Kernel of both guests in virtual time, such as 6.12.107, 6.12-kasan or the name of a tree; one that was not built is
    /// built. Several, from the oldest on, say since which and until which the finding is there.
    #[arg(long, value_name = "KERNEL", value_delimiter = ',', conflicts_with_all = NICS)]
    kernel: Vec<Kernel>,
    /// The same, of the source tree in a folder, which is built first.
    #[arg(long, value_name = "DIR", conflicts_with_all = NICS)]
    tree: Vec<PathBuf>,
    /// Exit as `git bisect run` expects it: 0 if the finding is not reproduced, 1 if it is, 125 if that cannot be said, as of
    /// a tree that does not build.
    #[arg(long)]
    bisect: bool,
}

/// Flags that name NICs or a testbed otherwise.
const NICS: [&str; 6] =
    ["testbed", "nic", "requester_nic", "responder_nic", "requester_kernel", "responder_kernel"];

impl KernelArgs {
    /// Returns true if kernels are named.
    pub(super) const fn are_given(&self) -> bool {
        !self.kernel.is_empty() || !self.tree.is_empty()
    }

    /// Returns true if the exit code is that of `git bisect run`.
    pub(super) const fn is_bisect(&self) -> bool {
        self.bisect
    }
}

/// The exit code of `git bisect run` for a finding that is reproduced, is not, or cannot be judged.
pub(super) const fn bisected(lines: &[Line]) -> Exit {
    match lines {
        [line] if line.is_judged() => {
            if line.is_reproduced() {
                BAD
            } else {
                GOOD
            }
        }
        _ => CANNOT_JUDGE,
    }
}

/// Result of a finding on a kernel.
struct On {
    name: String,
    line: Line,
}

/// Runs findings on each kernel.
pub(super) fn replay(paths: &[PathBuf], args: &KernelArgs, seed: Option<u64>, format: Format) -> Exit {
    let folders: Result<Vec<_>, _> = paths.iter().map(|path| findings_at(path)).collect();
    let folders = match folders {
        Ok(folders) => folders.concat(),
        Err(error) => {
            complain(&format!("error: {error}"));
            return if args.bisect { CANNOT_JUDGE } else { Exit::Usage };
        }
    };
    let mut built = Vec::new();
    for image in images(args) {
        match image {
            Ok(manifest) => built.push(manifest),
            Err(error) => {
                complain(&format!("error: {error}"));
                if let Some(mend) = error.mend() {
                    complain(&format!("help: {mend}"));
                }
                return if args.bisect { CANNOT_JUDGE } else { Exit::Failed };
            }
        }
    }
    let (mut exit, mut documents, mut lines) = (Exit::Done, Vec::new(), Vec::new());
    for folder in &folders {
        let mut all = Vec::new();
        for manifest in &built {
            let (on, failed) = on(folder, manifest, seed);
            exit = if failed == Exit::Done || failed == Exit::NotReproduced { exit } else { failed };
            if format == Format::Text && print(&format!("{:<22} {}", on.name, on.line.text())) != Exit::Done {
                return Exit::Failed;
            }
            all.push(on);
        }
        let said = history(&all);
        if format == Format::Text && built.len() > 1 && print(&said) != Exit::Done {
            return Exit::Failed;
        }
        documents.push(serde_json::json!({
            "history": said.trim_end(),
            "kernels": all.iter().map(|on| serde_json::json!({ "kernel": on.name, "result": on.line })).collect::<Vec<_>>(),
        }));
        lines.extend(all.into_iter().map(|on| on.line));
    }
    if format == Format::Json {
        let printed = print_json(&serde_json::json!({ "findings": documents }));
        if printed != Exit::Done {
            return printed;
        }
    }
    if args.bisect { bisected(&lines) } else { exit }
}

/// The images of the kernels, in the order of the flags: those that are named, then the trees.
fn images(args: &KernelArgs) -> impl Iterator<Item = Result<Manifest, GuestError>> {
    args.kernel.iter().map(named).chain(args.tree.iter().map(|folder| of_tree(folder)))
}

/// The image with a name: the one that is there, or that of one of Debian's kernels, which is built.
fn named(kernel: &Kernel) -> Result<Manifest, GuestError> {
    let (name, options) = kernel.without_options();
    match uml::Cache::open(None)?.image(kernel) {
        Ok(image) => Ok(image.manifest),
        Err(error) if !name.is_of_debian() => Err(error),
        Err(_) => build_image(uml::Source::Debian(name), options),
    }
}

/// The image of a source tree, brought up to date.
fn of_tree(folder: &Path) -> Result<Manifest, GuestError> {
    let source = uml::Source::Tree { folder: folder.to_owned(), name: name_of(folder)? };
    build_image(source, Options::default())
}

fn on(folder: &Path, manifest: &Manifest, seed: Option<u64>) -> (On, Exit) {
    let nic = Nic::Guest(manifest.kernel.clone());
    let nics = [(); 2].map(|()| Some((nic.name(), nic.clone())));
    let instead = Instead { testbed: Some(TestbedName::Uml), nics, seed };
    let (line, exit) = with_spinner("running the finding's test", || of_finding(folder, &instead));
    let name = manifest.kernel.name();
    let name =
        if name == manifest.release { name.to_owned() } else { format!("{name} ({})", manifest.release) };
    (On { name, line }, exit)
}

/// Since when and until when a finding is there, of kernels from the oldest on.
fn history(all: &[On]) -> String {
    let judged: Vec<&On> = all.iter().filter(|on| on.line.is_judged()).collect();
    let mut text = String::new();
    for (before, after) in judged.iter().zip(judged.iter().skip(1)) {
        match (before.line.is_reproduced(), after.line.is_reproduced()) {
            (false, true) => drop(writeln!(text, "since {}; not in {}", after.name, before.name)),
            (true, false) => drop(writeln!(text, "fixed in {}; still in {}", after.name, before.name)),
            _ => {}
        }
    }
    match (text.is_empty(), judged.first()) {
        (true, Some(first)) if first.line.is_reproduced() => "in all of these kernels\n".to_owned(),
        (true, Some(_)) => "in none of these kernels\n".to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(name: &str, is_there: bool) -> On {
        On { name: name.into(), line: Line::of(Path::new("f")).judged_as(is_there) }
    }

    #[test]
    fn a_history_says_since_when_and_until_when() {
        let of = |all: &[(&str, bool)]| {
            history(&all.iter().map(|(name, there)| on(name, *there)).collect::<Vec<_>>())
        };
        assert_eq!(
            of(&[("a", false), ("b", true), ("c", true), ("d", false)]),
            "since b; not in a\nfixed in d; still in c\n"
        );
        assert_eq!(of(&[("a", true), ("b", true)]), "in all of these kernels\n");
        assert_eq!(of(&[("a", false)]), "in none of these kernels\n");
        assert_eq!(of(&[]), "");
        let unjudged = On { name: "b".into(), line: Line::of(Path::new("f")).not_run("no".into()) };
        assert_eq!(history(&[on("a", false), unjudged, on("c", true)]), "since c; not in a\n");
    }

    #[test]
    fn exit_codes_are_those_of_git_bisect() {
        let line = || Line::of(Path::new("f"));
        assert_eq!(bisected(&[line().judged_as(true)]) as u8, 1);
        assert_eq!(bisected(&[line().judged_as(false)]) as u8, 0);
        assert_eq!(bisected(&[line().not_run("no".into())]) as u8, 125);
        assert_eq!(bisected(&[]) as u8, 125);
    }
}
