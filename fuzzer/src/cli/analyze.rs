//! `lumina-fuzz analyze`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use corpus::{TestConfig, plural};
use dumper::capture::{self, CaptureFormat, ReadOptions};
use dumper::observation::write_whole;
use dumper::trace::Origin;
use dumper::wire::frame::UdpPorts;
use dumper::{Clock, Observation};
use executor::Testbeds;

use super::opened::open_or_end;
use super::output::{bad_file, bad_message, complain, complain_notes, print, print_json};
use super::progress::ReadBar;
use super::{Exit, Format};
use crate::analyze::json::{self, FindingSubject, InputSubject};
use crate::analyze::{Input, LoadError, Report, text};
use crate::bundle::Opened;
use crate::finding::{self, Instead, Kept};
use crate::judge::{InMemory, JudgeError, Judged, ReferenceRuns, Verdict};
use crate::policy::Policy;
use crate::run::{self, CONFIG};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz analyze mirror.pcap
  lumina-fuzz analyze dumper-1.pcap dumper-2.pcap --config test.toml
  lumina-fuzz analyze result/0 --config test.yml --format json
  lumina-fuzz analyze night/findings/1f0c3d2a9b4e
  lumina-fuzz analyze finding.tar.gz                             a bundle, as `export --format bundle` writes it

A capture of the injector's mirror (mirror sequence numbers in the source MAC) is recognised \
by its packets. A plain capture shows neither events nor missing packets, so fewer rules apply to it.

A finding, and a folder that `run --out` wrote, are judged as their campaign or `run` judged them: the NIC profiles are \
beside the packets, so the reference runs are made again. The output lists what was not judged, with the reason.";

/// Arguments of `analyze`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Capture files (pcap, pcapng; several are merged into one trace), one result folder, or one finding (its
    /// folder or bundle).
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The test that was run (TOML, or Lumina's YAML): gives timeout, MTU and CNP interval to judge by. Where it is
    /// not given, a result folder's own config.toml, which `run --out` writes.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Origin of sequence numbers and times.
    #[arg(long, value_enum, default_value_t)]
    origin: OriginArg,
    /// Clock of the times: `exact` of NICs and their links, `emulated` of virtual machines, whose latencies have long tails
    /// [default: what a result folder says, or else exact].
    #[arg(long, value_enum)]
    clock: Option<ClockArg>,
    /// Take packets to any UDP port as RoCEv2, as on the mirror wire.
    #[arg(long)]
    any_udp_port: bool,
    /// Packets shown before and after each packet of the evidence.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=50))]
    context: u8,
    /// Analyse even if the integrity check fails; the exit code stays 5.
    #[arg(long)]
    even_if_invalid: bool,
    /// Also write the trace, merged and in order, as .pcapng (with events as comments) or .pcap. Payloads are
    /// not kept: they are written as zeros, with new checksums and ICRCs.
    #[arg(long, value_name = "FILE")]
    write_trace: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
enum OriginArg {
    /// Decide by the packets.
    #[default]
    Auto,
    /// Mirror metadata in the MAC addresses and the TTL.
    Mirror,
    /// An ordinary capture: file order and file time.
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClockArg {
    /// Of NICs and their links.
    Exact,
    /// Of emulated machines: orders and counts are exact, latencies are not.
    Emulated,
}

impl From<ClockArg> for Clock {
    fn from(clock: ClockArg) -> Self {
        match clock {
            ClockArg::Exact => Self::Exact,
            ClockArg::Emulated => Self::Emulated,
        }
    }
}

pub(super) fn run(args: &Args) -> Exit {
    analyze(args).unwrap_or_else(|exit| exit)
}

fn analyze(args: &Args) -> Result<Exit, Exit> {
    let opened = match &args.paths[..] {
        [path] => Some(open_or_end(path, "bad finding", args.format)?),
        _ => None,
    };
    let seen = match &opened {
        Some(opened) if finding::folder_of(opened.path()).is_some() || is_of_findings(opened.path()) => {
            of_finding(opened, args)?
        }
        _ => of_files(args)?,
    };
    let Seen { input, config_file, config, kept, verdict } = &seen;
    let (Some(observation), Some(report)) = (verdict.observation(), Report::of(config.as_ref(), verdict))
    else {
        let Verdict::Invalid(invalid) = verdict else { unreachable!("a verdict has a report") };
        return Err(failed(invalid));
    };
    for warning in input.warnings() {
        complain(&warning);
    }
    if let Some(path) = &args.write_trace {
        write_trace(input, observation, path).map_err(|error| {
            complain(&format!("{}: {error}", path.display()));
            Exit::Failed
        })?;
    }
    let finding = kept.as_ref().map(|kept| FindingSubject {
        id: kept.document.id.clone(),
        signature: kept.document.signature.clone(),
        shown: verdict.shows(&kept.document.signature),
    });
    let config_file = config_file.as_deref();
    let printed = match args.format {
        Format::Json => {
            let subject = InputSubject::of(input, &observation.trace, config_file, finding);
            print_json(&json::document(subject, &report))
        }
        Format::Text => {
            let packets = observation.trace.records().len();
            let header = text::header(input, packets, config_file, finding.as_ref());
            print(&text::render(header, &report, usize::from(args.context)))
        }
    };
    Ok(match printed {
        Exit::Done if report.integrity.is_invalid() => Exit::InvalidTrace,
        other => other,
    })
}

/// Input that was read, and its verdict.
struct Seen {
    input: Input,
    /// The test, and its file.
    config_file: Option<PathBuf>,
    config: Option<TestConfig>,
    /// The finding that it is of.
    kept: Option<Kept>,
    verdict: Verdict,
}

impl Args {
    fn read_options(&self) -> ReadOptions {
        ReadOptions {
            origin: match self.origin {
                OriginArg::Auto => None,
                OriginArg::Mirror => Some(Origin::Mirror),
                OriginArg::Plain => Some(Origin::Plain),
            },
            ports: if self.any_udp_port { UdpPorts::Any } else { UdpPorts::Roce },
        }
    }

    fn read(&self, paths: &[PathBuf]) -> Result<Input, LoadError> {
        let mut bar = ReadBar::new();
        let input = Input::load(paths, self.read_options(), &mut |progress| bar.show(progress));
        bar.finish();
        let mut input = input?;
        if let Some(clock) = self.clock {
            input.observation.clock = clock.into();
        }
        Ok(input)
    }
}

/// Captures, or a result folder: judged by the test that is given or lies in the folder.
fn of_files(args: &Args) -> Result<Seen, Exit> {
    let config_file = args.config.clone().or_else(|| kept_config(&args.paths));
    let loaded = config_file.as_deref().map(corpus::load).transpose();
    let loaded = loaded.map_err(|errors| bad_file("bad configuration", errors, args.format))?;
    loaded.iter().for_each(complain_notes);
    let config = loaded.map(|loaded| loaded.config);
    let mut input = args.read(&args.paths).map_err(|error| bad_message("bad input", &error, args.format))?;
    let testbeds = match (&args.paths[..], &config) {
        ([folder], Some(config)) if folder.is_dir() => run::testbeds_of(folder, config, &Instead::default()),
        _ => Err("a capture does not say on which NICs it was made".to_owned()),
    };
    let verdict = with_references(testbeds, |references| {
        input.judge(config.as_ref(), args.even_if_invalid, references)
    })?;
    if let (Some(file), Some(config), Verdict::Judged(judged)) = (&config_file, &config, &verdict) {
        warn_of_another_test(file, config, judged);
    }
    Ok(Seen { input, config_file, config, kept: None, verdict })
}

/// Warns if the packets are not of as many connections as the test has.
fn warn_of_another_test(file: &Path, config: &TestConfig, judged: &Judged) {
    let tested = u64::from(config.traffic.load.connections());
    let seen = judged.analysis.connections.len() as u64;
    if tested != seen {
        complain(&format!(
            "warning: {} has {}, and the packets are of {seen}: they may be of another test",
            file.display(),
            plural(tested, "connection")
        ));
    }
}

/// A finding: judged by its test.
fn of_finding(opened: &Opened, args: &Args) -> Result<Seen, Exit> {
    let path = opened.path();
    let bad = |message: &dyn std::fmt::Display| bad_message("bad finding", message, args.format);
    if args.config.is_some() {
        return Err(bad(&format!(
            "{}: a finding is judged by its own test; leave --config out",
            opened.name_of(path).display()
        )));
    }
    let folders = finding::find(path).map_err(|error| bad(&error))?;
    let [folder] = &folders[..] else {
        let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        return Err(bad(&format!(
            "{}: holds {} findings; name one of them: {}",
            path.display(),
            names.len(),
            names.join(", ")
        )));
    };
    let kept = finding::read(folder).map_err(|error| bad(&error))?;
    let testbeds = kept.testbeds(&Instead::default()).map_err(|error| bad(&error))?;
    let stored = finding::stored(&kept, |paths| args.read(paths));
    let mut input = stored.map_err(|error| bad_message("bad input", &error, args.format))?;
    let again = finding::replayed(&kept, &testbeds, input.as_ref()).map_err(|error| failed(&error))?;
    let config = Some(kept.reproducer.clone());
    let verdict = match again {
        Some(verdict) => verdict,
        None => {
            if Policy::of(&kept.document.testbed.capabilities()).replays_exactly() {
                complain(&format!(
                    "warning: {}: its packets are not those of its test run again, so that their counters and completions \
                     are not known",
                    opened.name_of(folder).display()
                ));
            }
            let input = input.as_mut().expect("what is not run again was read");
            with_references(Ok(testbeds), |references| {
                input.judge(config.as_ref(), args.even_if_invalid, references)
            })?
        }
    };
    let mut input = input.unwrap_or_else(|| Input::lost(folder.join(finding::TRACE)));
    input.captures.iter_mut().chain(&mut input.missing).for_each(|file| *file = opened.name_of(file));
    let config_file = Some(opened.name_of(&folder.join(finding::REPRODUCER)));
    Ok(Seen { input, config_file, config, kept: Some(kept), verdict })
}

/// Returns true if a path is a campaign or a folder of findings, and no result folder.
fn is_of_findings(path: &Path) -> bool {
    path.is_dir() && kept_config(&[path.into()]).is_none() && finding::find(path).is_ok()
}

/// Judges with reference runs on testbeds, or without them where there are none.
fn with_references(
    testbeds: Result<Testbeds, String>,
    judge: impl FnOnce(&mut ReferenceRuns<'_>) -> Result<Verdict, JudgeError>,
) -> Result<Verdict, Exit> {
    match testbeds {
        Ok(testbeds) => {
            let mut testbed = testbeds.testbed();
            let baselines = InMemory::on(&*testbed);
            judge(&mut ReferenceRuns::On { testbed: &mut *testbed, baselines: &baselines, may_fail: true })
        }
        Err(reason) => judge(&mut ReferenceRuns::None { reason }),
    }
    .map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> Exit {
    complain(&format!("error: {error}"));
    Exit::Failed
}

/// The test beside the results that `run --out` left in a folder.
fn kept_config(paths: &[PathBuf]) -> Option<PathBuf> {
    let [folder] = paths else { return None };
    Some(folder.join(CONFIG)).filter(|config| config.is_file())
}

/// Writes the trace to a new file beside the target, then moves it there: never half a file, and no other file is
/// touched. A capture that was read is never written over.
fn write_trace(input: &Input, observation: &Observation, path: &Path) -> Result<(), String> {
    let format = match path.extension().and_then(|extension| extension.to_str()) {
        Some("pcapng") => CaptureFormat::PcapNg,
        Some("pcap") => CaptureFormat::PcapNanos,
        _ => return Err("the name must end in .pcapng or .pcap".into()),
    };
    // A link is followed, as it would be by any other program.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_input = |capture: &PathBuf| capture.canonicalize().is_ok_and(|capture| capture == path);
    if input.captures.iter().any(is_input) {
        return Err("is one of the captures that were read; name another file".into());
    }
    write_whole(&path, |out| capture::write(&observation.trace, &observation.connections, format, None, out))
        .map_err(|error| error.to_string())
}
