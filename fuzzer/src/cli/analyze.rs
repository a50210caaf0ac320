//! `lumina-fuzz analyze`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dumper::capture::{self, CaptureFormat, ReadOptions};
use dumper::observation::write_whole;
use dumper::trace::Origin;
use dumper::wire::frame::UdpPorts;
use scoring::Options;

use super::output::{bad_file, bad_message, complain, complain_notes, print, print_json};
use super::progress::ReadBar;
use super::{Exit, Format};
use crate::analyze::json::{self, InputSubject};
use crate::analyze::{Input, Report, text};
use crate::run::CONFIG;

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz analyze mirror.pcap
  lumina-fuzz analyze dumper-1.pcap dumper-2.pcap --config test.toml
  lumina-fuzz analyze result/0 --config test.yml --format json

A capture of the injector's mirror (mirror sequence numbers in the source MAC) is recognised \
by its packets. A plain capture shows neither events nor missing packets, so fewer rules apply to it.";

/// Arguments of `analyze`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Capture files (pcap, pcapng; several are merged into one trace), or one result folder.
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

pub(super) fn run(args: &Args) -> Exit {
    let config_file = args.config.clone().or_else(|| kept_config(&args.paths));
    let config = match config_file.as_deref().map(corpus::load).transpose() {
        Ok(config) => config,
        Err(errors) => return bad_file("bad configuration", errors, args.format),
    };
    config.iter().for_each(complain_notes);

    let options = ReadOptions {
        origin: match args.origin {
            OriginArg::Auto => None,
            OriginArg::Mirror => Some(Origin::Mirror),
            OriginArg::Plain => Some(Origin::Plain),
        },
        ports: if args.any_udp_port { UdpPorts::Any } else { UdpPorts::Roce },
    };
    let mut bar = ReadBar::new();
    let input = match Input::load(&args.paths, options, &mut |progress| bar.show(progress)) {
        Ok(input) => input,
        Err(error) => {
            bar.finish();
            return bad_message("bad input", &error, args.format);
        }
    };
    let config = config.as_ref().map(|loaded| &loaded.config);
    let options = Options { config };
    let report = Report::of_input(&input, options, args.even_if_invalid);
    bar.finish();
    for warning in input.warnings() {
        complain(&warning);
    }
    if let Some(path) = &args.write_trace
        && let Err(error) = write_trace(&input, path)
    {
        complain(&format!("{}: {error}", path.display()));
        return Exit::Failed;
    }
    let printed = match args.format {
        Format::Json => {
            print_json(&json::document(InputSubject::of(&input, config_file.as_deref()), &report))
        }
        Format::Text => {
            let header = text::header(&input, config_file.as_deref());
            print(&text::render(header, &input.observation.trace, &report, usize::from(args.context)))
        }
    };
    match printed {
        Exit::Done if report.integrity.is_invalid() => Exit::InvalidTrace,
        other => other,
    }
}

/// The test beside the results that `run --out` left in a folder.
fn kept_config(paths: &[PathBuf]) -> Option<PathBuf> {
    let [folder] = paths else { return None };
    Some(folder.join(CONFIG)).filter(|config| config.is_file())
}

/// Writes the trace to a new file beside the target, then moves it there: never half a file, and no other file is
/// touched. A capture that was read is never written over.
fn write_trace(input: &Input, path: &Path) -> Result<(), String> {
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
    let observation = &input.observation;
    write_whole(&path, |out| capture::write(&observation.trace, &observation.connections, format, None, out))
        .map_err(|error| error.to_string())
}
