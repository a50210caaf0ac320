//! `lumina-fuzz report`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use dumper::observation::write_whole;

use super::opened::open_or_end;
use super::output::{bad_message, complain, fail, print};
use super::progress::with_spinner;
use super::{Exit, Format};
use crate::bundle;
use crate::finding::{self, FINDINGS, Instead, MARKDOWN, PAGE, Replayed};
use crate::night::{self, Night};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz report night                                 the campaign, and every finding that has no page yet
  lumina-fuzz report night/findings/1f0c3d2a9b4e           one finding: its test runs again
  lumina-fuzz report finding.tar.gz --out page             a finding that somebody sent
  lumina-fuzz report old-firmware new-firmware --out versus    new, gone and changed findings of two campaigns

Each report is one HTML file that needs nothing else and opens in any browser, and the same as Markdown, for issue trackers:
report.html and report.md in the folder, or in that of --out. A campaign writes them by itself when it ends.

Exit codes: 0 done, 1 failed, 2 usage or bad input, 4 a finding's test does not show it any more.";

/// Arguments of `report`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// A campaign, or a finding (its folder, finding.json or bundle); or two campaigns, to be compared.
    #[arg(value_name = "PATH", required = true, num_args = 1..=2)]
    paths: Vec<PathBuf>,
    /// Folder of the report on two campaigns, or on a bundle, new or not.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Exit {
    report(args).unwrap_or_else(|exit| exit)
}

fn report(args: &Args) -> Result<Exit, Exit> {
    let bad = |message: &str| bad_message("bad request", &message, Format::Text);
    match (&args.paths[..], &args.out) {
        ([first, second], Some(out)) => of_two([first, second], out),
        ([_, _], None) => Err(bad("--out: name the folder of the report on two campaigns")),
        ([path], Some(out)) => of_bundle(path, out),
        ([path], None) if bundle::is_bundle(path) => {
            Err(bad("--out: name the folder of the report on a bundle"))
        }
        ([path], None) => match finding::folder_of(path) {
            Some(folder) => {
                of_finding(folder)?;
                Ok(print(&format!("{}\n", folder.join(PAGE).display())))
            }
            None => of_campaign(path),
        },
        _ => Err(bad("name a campaign, a finding, or two campaigns")),
    }
}

fn read(folder: &Path) -> Result<Night, Exit> {
    let night = with_spinner("reading the campaign", || Night::read(folder));
    night.map_err(|error| fail(error, Format::Text))
}

fn of_campaign(folder: &Path) -> Result<Exit, Exit> {
    let night = read(folder)?;
    write(&night.folder, night::page(&night))?;
    let findings = night.findings.iter().map(|(record, _)| folder.join(FINDINGS).join(&record.id));
    let mut exit = Exit::Done;
    for finding in findings.filter(|finding| finding.is_dir() && !finding.join(PAGE).exists()) {
        // The others have theirs all the same.
        if let Err(failed) = of_finding(&finding) {
            exit = failed;
        }
    }
    match print(&format!("{}\n", folder.join(PAGE).display())) {
        Exit::Done => Ok(exit),
        cannot => Ok(cannot),
    }
}

fn of_bundle(path: &Path, out: &Path) -> Result<Exit, Exit> {
    let opened = open_or_end(path, "bad finding", Format::Text)?;
    if !opened.is_bundle() {
        let message = "--out: the report on a campaign or a finding is written into its folder; leave it out";
        return Err(bad_message("bad request", &message, Format::Text));
    }
    of_finding(opened.path())?;
    fs::create_dir_all(out).map_err(|error| failed(out, &error))?;
    for name in [PAGE, MARKDOWN] {
        fs::copy(opened.path().join(name), out.join(name))
            .map_err(|error| failed(&out.join(name), &error))?;
    }
    Ok(print(&format!("{}\n", out.join(PAGE).display())))
}

fn of_two(folders: [&Path; 2], out: &Path) -> Result<Exit, Exit> {
    let [first, second] = [read(folders[0])?, read(folders[1])?];
    fs::create_dir_all(out).map_err(|error| failed(out, &error))?;
    write(out, night::versus([&first, &second]))?;
    Ok(print(&format!("{}\n", out.join(PAGE).display())))
}

/// Writes the report of a campaign that has ended into its folder.
pub(super) fn write_campaign(folder: &Path) -> Result<(), Exit> {
    write(folder, night::page(&read(folder)?))
}

/// Writes a page's HTML and Markdown into a folder.
fn write(folder: &Path, pages: Result<[String; 2], String>) -> Result<(), Exit> {
    let pages = pages.map_err(|error| failed(folder, &error))?;
    for (name, text) in [PAGE, MARKDOWN].into_iter().zip(pages) {
        let path = folder.join(name);
        write_whole(&path, |out| out.write_all(text.as_bytes())).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

fn of_finding(folder: &Path) -> Result<(), Exit> {
    let kept = finding::read(folder).map_err(|error| bad_message("bad finding", &error, Format::Text))?;
    let replayed = with_spinner("running the finding's test", || finding::replay(&kept, &Instead::default()));
    let judged = match replayed.map_err(|error| failed(folder, &error))? {
        Replayed::Reproduced { judged, .. } => judged,
        Replayed::NotReproduced { .. } => {
            complain(&format!("error: {}: its test does not show it any more", folder.display()));
            return Err(Exit::NotReproduced);
        }
        Replayed::Invalid { reason } => return Err(failed(folder, &reason)),
    };
    finding::report_anew(&kept, &judged).map_err(|error| failed(folder, &error))
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Exit {
    complain(&format!("error: {}: {error}", path.display()));
    Exit::Failed
}
