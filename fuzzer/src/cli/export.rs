//! `lumina-fuzz export`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use corpus::lumina::{Lab, NoteKind};
use corpus::{Loaded, Role};
use dumper::Observation;
use dumper::capture::{self, CaptureFormat};
use dumper::observation::write_whole;
use executor::TestbedName;

use super::opened::{not_opened, open_or_end};
use super::output::{bad_file, bad_message, complain, print};
use super::progress::with_spinner;
use super::run::{load, load_with};
use super::{Exit, Format};
use crate::analyze::Report;
use crate::bundle;
use crate::export::{self, LuminaResultError, Subject};
use crate::finding::{self, Kept, REPORT, REPRODUCER, TRACE};
use crate::judge::Verdict;
use crate::run::{self, Overrides, Test};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz export night/findings/1f0c3d2a9b4e --format perftest       command lines for both hosts
  lumina-fuzz export night/findings/1f0c3d2a9b4e --format lumina --lab lab.yml --out test.yml
  lumina-fuzz export test.toml --format lumina-result --out result
  lumina-fuzz export test.toml --format script --out test.rds
  lumina-fuzz export night/findings/1f0c3d2a9b4e --format pcapng --out trace.pcapng
  lumina-fuzz export night/findings/1f0c3d2a9b4e --format bundle --out finding.tar.gz

lumina     YAML of the published Lumina tool. What the test does not say of hosts, switch and dumpers comes from --lab, a test
           file of that tool, NIC types and addresses included; else it has placeholders, which you replace. Anything that the tool
           cannot say is an error that names the field.
lumina-result  a folder for that tool's analyzer (`lumina-analyzer -f DIR/lumina.yml`): the test, and the result of a run with the
           laboratory's ports and a classic pcap.
toml       the test in the language of this program.
script     the test as a packet script, with the packets and anomalies of a run (docs/packet-scripts.md).
pcapng     the packets of a run, for Wireshark; of a finding those that it keeps.
perftest   command lines of perftest for both hosts, and in words what the injector does between them.
bundle     a finding's folder in one file (tar.gz), without paths of this machine; `replay`, `analyze`, `minimize` and `export`
           take it in place of the folder.

Exit codes: 0 done, 1 failed, 2 usage or bad input, or a test that the format cannot say.";

/// Error of a document that cannot be exported.
const CANNOT: &str = "cannot be exported";

/// Languages of tests.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    Lumina,
    Toml,
    Script,
    LuminaResult,
    Pcapng,
    Perftest,
    Bundle,
}

/// Arguments of `export`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// A finding (its folder, finding.json or bundle), or a test.
    #[arg(value_name = "FINDING|TEST")]
    path: PathBuf,
    /// Language of the result.
    #[arg(long, value_enum)]
    format: To,
    /// File of the published Lumina tool whose laboratory the exported test is for.
    #[arg(long, value_name = "FILE")]
    lab: Option<PathBuf>,
    /// New file of the result [default: standard output, but for pcapng and bundle].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Exit {
    export(args).unwrap_or_else(|exit| exit)
}

/// What a path names.
struct Named {
    subject: Subject,
    /// The test with its NICs, as it can be run.
    test: Test,
    /// The packets that a finding keeps.
    trace: Option<PathBuf>,
    /// The finding.
    kept: Option<Kept>,
}

fn export(args: &Args) -> Result<Exit, Exit> {
    if args.lab.is_some() && !matches!(args.format, To::Lumina | To::LuminaResult) {
        return Err(bad(
            &"--lab: a laboratory is part of the formats lumina and lumina-result alone; leave it out",
        ));
    }
    for (format, what) in [
        (To::Pcapng, "pcapng: a capture"),
        (To::Bundle, "bundle: an archive"),
        (To::LuminaResult, "lumina-result: a folder"),
    ] {
        if args.format == format && args.out.is_none() {
            return Err(bad(&format!("--format {what} is no text; name its file with --out")));
        }
    }
    if let Some(out) = args.out.as_deref().filter(|out| out.exists()) {
        return Err(bad(&format!("{}: is there already; name another file", out.display())));
    }
    let opened = open_or_end(&args.path, CANNOT, Format::Text)?;
    if opened.is_bundle() && args.format == To::Script {
        // The copies that it would name are gone with the temporary folder.
        let path = args.path.display();
        return Err(bad(&format!(
            "{path}: a packet script names the NIC profiles by path; unpack the bundle (tar -xzf), and name its folder"
        )));
    }
    let Named { subject, test, trace, kept } = named(opened.path())?;
    match (args.format, trace) {
        (To::Bundle, _) => bundled(args, kept.as_ref()),
        (To::Toml, _) => put(args, subject.toml().as_bytes()),
        (To::Perftest, _) => put(args, export::perftest(&subject.config).as_bytes()),
        (To::Lumina, _) => {
            let (subject, lab) = in_laboratory(args, subject, &test)?;
            put(args, subject.lumina(&lab).map_err(|refusals| bad(&refusals))?.as_bytes())
        }
        (To::LuminaResult, _) => {
            let verdict = judged(&test)?;
            let (observation, _) = complete(args, &test, &verdict)?;
            let (subject, lab) = in_laboratory(args, subject, &test)?;
            lumina_result(args, subject, &lab, observation)
        }
        (To::Pcapng, Some(path)) => {
            let bytes = std::fs::read(&path).map_err(|error| failed(&path, &error))?;
            put(args, &bytes)
        }
        (To::Script | To::Pcapng, _) => {
            let verdict = judged(&test)?;
            let (observation, report) = complete(args, &test, &verdict)?;
            let mut bytes = Vec::new();
            if args.format == To::Script {
                let beside = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
                let mut script = run::recorded(&test, observation, &report, beside);
                script.prose.extend(subject.shows.iter().flatten().cloned());
                bytes.extend(script.to_string().into_bytes());
            } else {
                let (trace, connections) = (&observation.trace, &observation.connections);
                capture::write(trace, connections, CaptureFormat::PcapNg, None, &mut bytes)
                    .map_err(|error| failed(&args.path, &error))?;
            }
            put(args, &bytes)
        }
    }
}

/// The test on the hosts of the laboratory that is named, and the laboratory, or else the one of the test's own file.
fn in_laboratory(args: &Args, subject: Subject, test: &Test) -> Result<(Subject, Lab), Exit> {
    let lab = args.lab.as_ref().map(corpus::load).transpose();
    let lab = lab.map_err(|errors| bad_file("bad laboratory", errors, Format::Text))?;
    Ok(match lab {
        Some(lab) => (subject.on_hosts_of(&lab.config), lab.lab),
        // A file of the published tool has one of its own.
        None => (subject, test.lab.clone()),
    })
}

/// Runs the test.
fn judged(test: &Test) -> Result<Verdict, Exit> {
    with_spinner("running the test", || test.judge(None)).map_err(|error| {
        complain(&format!("error: {error}"));
        Exit::Failed
    })
}

/// Everything that was seen of a run.
fn complete<'a>(
    args: &Args,
    test: &'a Test,
    verdict: &'a Verdict,
) -> Result<(&'a Observation, Report<'a>), Exit> {
    verdict.observation().zip(Report::of(Some(&test.config), verdict)).ok_or_else(|| {
        complain(&format!("error: {}: its trace is not complete", args.path.display()));
        Exit::InvalidTrace
    })
}

/// Writes the folder that the published analyzer reads.
fn lumina_result(args: &Args, subject: Subject, lab: &Lab, observation: &Observation) -> Result<Exit, Exit> {
    let Some(out) = &args.out else { return Err(bad(&"--out: name the folder")) };
    let out = std::path::absolute(out).map_err(|error| failed(out, &error))?;
    let config = export::lumina_result(subject, lab, observation, &out).map_err(|error| match error {
        LuminaResultError::Refused(refusals) => bad(&refusals),
        error => failed(&out, &error),
    })?;
    Ok(print(&format!("lumina-analyzer -f {}\n", config.display())))
}

fn named(path: &Path) -> Result<Named, Exit> {
    let Some(folder) = finding::folder_of(path) else {
        // All of a Lumina file is kept, but for what was changed.
        let note = |loaded: &Loaded| {
            for note in loaded.notes.iter().filter(|note| note.kind != NoteKind::Ignored) {
                complain(&format!("note: {note}"));
            }
        };
        let test = load_with(path, &Overrides::default(), TestbedName::default(), Format::Text, note)?;
        return Ok(Named {
            subject: Subject { config: test.config.clone(), shows: None },
            test,
            trace: None,
            kept: None,
        });
    };
    let kept = finding::read(folder).map_err(|error| bad(&error))?;
    let document = &kept.document;
    let test = load(&folder.join(REPRODUCER), &Overrides::default(), document.testbed.clone(), Format::Text)?;
    let mut config = test.config.clone();
    for (role, nic) in Role::ALL.into_iter().zip([&document.requester_nic, &document.responder_nic]) {
        config.host_mut(role).nic.clone_from(&nic.given);
    }
    let shows = Some([document.title.clone(), document.signature.clone()]);
    let trace = folder.join(TRACE);
    let trace = trace.is_file().then_some(trace);
    Ok(Named { subject: Subject { config, shows }, test, trace, kept: Some(kept) })
}

/// Writes the bundle of a finding.
fn bundled(args: &Args, kept: Option<&Kept>) -> Result<Exit, Exit> {
    let (Some(kept), Some(out)) = (kept, &args.out) else {
        return Err(bad(&format!("{}: is no finding; a bundle holds one", args.path.display())));
    };
    for name in [TRACE, REPORT].into_iter().filter(|name| !kept.folder.join(name).exists()) {
        complain(&format!("note: the finding has lost its {name}; `replay` of its folder writes it again"));
    }
    bundle::write(kept, out).map_err(|error| not_opened(&error, CANNOT, Format::Text))?;
    Ok(Exit::Done)
}

/// Writes the result into its file, or prints it.
fn put(args: &Args, bytes: &[u8]) -> Result<Exit, Exit> {
    match &args.out {
        Some(path) => {
            write_whole(path, |out| out.write_all(bytes)).map_err(|error| failed(path, &error))?;
            Ok(Exit::Done)
        }
        None => Ok(print(&String::from_utf8_lossy(bytes))),
    }
}

fn bad(message: &dyn std::fmt::Display) -> Exit {
    bad_message(CANNOT, message, Format::Text)
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Exit {
    complain(&format!("error: {}: {error}", path.display()));
    Exit::Failed
}
