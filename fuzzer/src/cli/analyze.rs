//! `lumina-fuzz analyze`.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use corpus::{ConfigErrors, Loaded};
use dumper::capture::{self, CaptureFormat, ReadOptions};
use dumper::trace::Origin;
use dumper::wire::frame::UdpPorts;
use scoring::{CnpScope, Options};

use super::output::{bad_input, complain, print, print_json};
use super::progress::ReadBar;
use super::{Exit, Format};
use crate::analyze::{Input, LoadError, Report, json, text};

const AFTER_HELP: &str = "\
Examples:
  lumina-fuzz analyze mirror.pcap
  lumina-fuzz analyze dumper-1.pcap dumper-2.pcap --config test.toml
  lumina-fuzz analyze result/0 --config test.yml --format json

A capture of the injector's mirror (mirror sequence numbers in the source MAC) is told from an ordinary one by \
its packets. An ordinary capture has no events and proves nothing about completeness, so less is judged.";

/// Arguments of `analyze`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Capture files (pcap, pcapng; several are merged into one trace), or one result folder.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The test that was run (TOML, or Lumina's YAML): gives timeout, MTU and CNP interval to judge by.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Where sequence numbers and times come from.
    #[arg(long, value_enum, default_value_t)]
    origin: OriginArg,
    /// Take packets to any UDP port as RoCEv2, as on the mirror wire.
    #[arg(long)]
    any_udp_port: bool,
    /// Which CNPs share one interval.
    #[arg(long, value_enum, default_value_t, value_name = "SCOPE")]
    cnp_scope: ScopeArg,
    /// Packets shown before and after each packet of a remark.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=50))]
    context: u8,
    /// Analyse even if the integrity check fails; the exit code stays 5.
    #[arg(long)]
    even_if_invalid: bool,
    /// Also write the trace, merged and in order, as .pcapng (with events as comments) or .pcap. Payloads are not
    /// kept: they are written as zeros, with checksums and ICRCs made anew.
    #[arg(long, value_name = "FILE")]
    write_trace: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
enum OriginArg {
    /// Find out from the packets.
    #[default]
    Auto,
    /// Mirror metadata in the MAC addresses and the TTL.
    Mirror,
    /// An ordinary capture: file order and file time.
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
enum ScopeArg {
    /// Those to one QP.
    #[default]
    Qp,
    /// Those to one destination address.
    Ip,
    /// All of a NIC port.
    Port,
}

pub(super) fn run(args: &Args) -> Exit {
    let config = match args.config.as_deref().map(corpus::load).transpose() {
        Ok(config) => config,
        Err(errors) => return bad_config(errors, args.format),
    };
    for note in config.iter().flat_map(notes) {
        complain(&note);
    }

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
            return cannot_load(&error, args.format);
        }
    };
    let scope = match args.cnp_scope {
        ScopeArg::Qp => CnpScope::Qp,
        ScopeArg::Ip => CnpScope::DestinationIp,
        ScopeArg::Port => CnpScope::Port,
    };
    let options = Options { config: config.as_ref().map(|loaded| &loaded.config), cnp_scope: scope };
    let report = Report::of(&input, options, args.even_if_invalid);
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
        Format::Json => print_json(&json::document(&input, &report)),
        Format::Text => print(&text::render(&input, &report, usize::from(args.context))),
    };
    match printed {
        Exit::Done if report.integrity.is_invalid() => Exit::InvalidTrace,
        other => other,
    }
}

fn notes(loaded: &Loaded) -> Vec<String> {
    loaded.notes.iter().map(|note| format!("note: {note}")).collect()
}

fn bad_config(errors: ConfigErrors, format: Format) -> Exit {
    let exit = bad_input("bad configuration", &errors, format);
    complain(&format!("{:?}", miette::Report::new(errors.into_diagnostic())));
    exit
}

fn cannot_load(error: &LoadError, format: Format) -> Exit {
    #[derive(serde::Serialize)]
    struct Details {
        message: String,
    }
    complain(&format!("error: {error}"));
    bad_input("bad input", Details { message: error.to_string() }, format)
}

/// Writes the trace to a new file beside the target, then moves it there: never half a file, and no other file is
/// touched. A capture that was read is never written over.
fn write_trace(input: &Input, path: &Path) -> Result<(), String> {
    let format = match path.extension().and_then(|extension| extension.to_str()) {
        Some("pcapng") => CaptureFormat::PcapNg,
        Some("pcap") => CaptureFormat::PcapNanos,
        _ => return Err("the name must end in .pcapng or .pcap".into()),
    };
    let text = |error: &dyn std::fmt::Display| error.to_string();
    // A link is followed, as it would be by any other program.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_input = |capture: &PathBuf| capture.canonicalize().is_ok_and(|capture| capture == path);
    if input.captures.iter().any(is_input) {
        return Err("is one of the captures that were read; name another file".into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| text(&error))?;
    let observation = &input.observation;
    let out = BufWriter::new(&mut file);
    capture::write(&observation.trace, &observation.connections, format, None, out)
        .map_err(|error| text(&error))?;
    file.persist(&path).map(drop).map_err(|error| text(&error.error))
}
