//! The result of a run as the published analyzer (`lumina-analyzer`) reads it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use corpus::config::{IterMode, Network};
use corpus::lumina::{Lab, Refusals, switch_ports};
use dumper::Observation;
use dumper::capture::CaptureFormat;
use dumper::observation::folder::{WriteFolderError, write_with_capture};
use dumper::observation::write_whole;

use super::Subject;

/// The file that the analyzer is given.
const CONFIG: &str = "lumina.yml";
/// Folder of the only repetition.
const REPETITION: &str = "0";

/// A result that cannot be written for the published analyzer.
#[derive(Debug, thiserror::Error)]
pub enum LuminaResultError {
    /// The test cannot be said in its language.
    #[error(transparent)]
    Refused(#[from] Refusals),
    /// The switch has more ports than a laboratory names.
    #[error("the switch has more ports than two hosts and two dumpers")]
    Ports,
    /// A file cannot be written.
    #[error(transparent)]
    Folder(#[from] WriteFolderError),
}

/// Writes the folder, and returns the file that the analyzer is given. The events are in the capture, which the analyzer
/// reads them from; the file does not repeat them, so that tests whose events the tool cannot say can be analysed.
///
/// # Errors
/// See [`LuminaResultError`].
pub fn lumina_result(
    mut subject: Subject,
    lab: &Lab,
    observation: &Observation,
    out: &Path,
) -> Result<PathBuf, LuminaResultError> {
    subject.config.events.clear();
    subject.config.network = Network::default();
    subject.config.traffic.iter_mode = IterMode::PerMessage;
    let lab = lab.clone().with_results_in(&out.display().to_string());
    let text = subject.lumina(&lab)?;
    let mut observation = observation.clone();
    if let Some(switch) = &observation.switch {
        let ports = switch.on_ports(switch_ports(&subject.config), lab.dumper_ports());
        observation.switch = Some(ports.ok_or(LuminaResultError::Ports)?);
    }
    let capture = (lab.capture_name(), CaptureFormat::PcapMicros);
    write_with_capture(&observation, None, capture, &out.join(REPETITION))?;
    let path = out.join(CONFIG);
    write_whole(&path, |file| file.write_all(text.as_bytes()))
        .map_err(|source| WriteFolderError::Io { path: path.clone(), source })?;
    Ok(path)
}
