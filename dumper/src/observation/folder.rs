//! A result folder of the published Lumina tool, or one written in its layout, as an [`Observation`].
//!
//! ```text
//! RESULT/<i>/pcap-result/*.pcap                               the capture, or one per dumper
//! RESULT/<i>/switch-result/switch_message_snapshot.yml        connections
//! RESULT/<i>/switch-result/switch_state_snapshot.yml          packets per port
//! RESULT/<i>/rdma-result/{requester,responder}_counter_{start,finish}.yml
//! RESULT/<i>/rdma-result/completions.yml                      ours: completion of each message
//! RESULT/<i>/rdma-result/deliveries.yml                       ours: data found in memory for each message
//! RESULT/<i>/rdma-result/{requester,responder}_kernel.log     ours: kernel log of the host, in dmesg's form
//! RESULT/<i>/rdma-result/{requester,responder}_offload.jsonl  ours: what happened to the flow table of the host
//! RESULT/<i>/rdma-result/clock.yml                            ours: `emulated` for times of an emulated host
//! ```
//!
//! Every file but the capture may be missing; values that depend on it are then unknown.

mod write;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use write::{WriteFolderError, write, write_with_capture};

use super::{ControlRecord, HostCounters, LogLine, Observation, SwitchCounters, control, log};
use crate::Psn;
use crate::capture::{self, Progress, ReadError, ReadOptions};
use crate::connection::{Connection, Endpoint};
use crate::trace::{Trace, Traced};

/// Largest file that is read: 10 000 connections take about 2 MB, 100 000 completions 15 MB.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Most YAML nodes in a file: 100 000 completions have 1.3 million. A node takes some 100 bytes while it is read.
const MAX_YAML_NODES: usize = 4 << 20;

/// Repetitions that an error names.
const MAX_NAMED: usize = 8;

/// The captures.
const CAPTURES: &str = "pcap-result";
/// The run-time metadata of the connections.
const CONNECTIONS: &str = "switch-result/switch_message_snapshot.yml";
/// The packets per port.
const STATE: &str = "switch-result/switch_state_snapshot.yml";
/// The completion of each message.
const COMPLETIONS: &str = "rdma-result/completions.yml";
/// Data found in memory, for each message.
const DELIVERIES: &str = "rdma-result/deliveries.yml";

/// Kind of clock behind the times.
const CLOCK: &str = "rdma-result/clock.yml";

/// Time after which the hosts were no longer waited for, in nanoseconds.
const STOPPED: &str = "rdma-result/stopped_after_ns.yml";

/// The kernel log of a host.
fn log_of(role: &str) -> String {
    format!("rdma-result/{role}_kernel.log")
}

/// What happened to the flow table of a host.
fn control_of(role: &str) -> String {
    format!("rdma-result/{role}_offload.jsonl")
}

/// The counters of a host, at the start or the finish.
fn counters_of(role: &str, when: &str) -> String {
    format!("rdma-result/{role}_counter_{when}.yml")
}

/// A result folder that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file or folder could not be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// No captures where they should be.
    #[error("{}: is not a result folder: no captures in {}", path.display(), looked_in.display())]
    NoCapture {
        /// The folder.
        path: PathBuf,
        /// Folder in which captures were looked for.
        looked_in: PathBuf,
    },
    /// Several repetitions.
    #[error("{}: holds {} repetitions; name one of them: {}", path.display(), repetitions.len(), some_of(repetitions))]
    SeveralRepetitions {
        /// The folder.
        path: PathBuf,
        /// Names of its repetitions.
        repetitions: Vec<String>,
    },
    /// A file has the wrong contents.
    #[error("{}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Error in the file, with line and column.
        reason: String,
    },
    /// The captures could not be read.
    #[error(transparent)]
    Capture(#[from] ReadError),
}

/// The first names of a list.
fn some_of(names: &[String]) -> String {
    let named = names[..names.len().min(MAX_NAMED)].join(", ");
    if names.len() > MAX_NAMED { format!("{named}, ...") } else { named }
}

/// A result folder as read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Folder {
    /// The observation. Its trace is complete only as far as the integrity check says.
    pub observation: Observation,
    /// Packets left out of the trace, and damage; its own trace is empty.
    pub traced: Traced,
    /// The captures that were read.
    pub captures: Vec<PathBuf>,
    /// Files of the layout that were not there.
    pub missing: Vec<PathBuf>,
}

/// Reads a result folder: one repetition, or a folder with a single one.
///
/// # Errors
/// When there is no capture, when a file is there but cannot be understood, or when the folder holds several
/// repetitions.
pub fn read(
    path: &Path,
    options: ReadOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Folder, FolderError> {
    let root = repetition_of(path)?;
    let captures = captures_of(&root)?;
    let mut captured = capture::read(&captures, options, progress)?;
    let trace = std::mem::take(&mut captured.traced.trace);
    let mut missing = Vec::new();
    let mut optional = |relative: &str| {
        let file = root.join(relative);
        if !file.exists() {
            missing.push(file.clone());
        }
        file
    };

    let snapshots: Option<Vec<MessageSnapshot>> = yaml(&optional(CONNECTIONS))?;
    let state: Option<StateSnapshot> = yaml(&optional(STATE))?;
    let mut host = |role: &str| -> Result<Option<HostCounters>, FolderError> {
        let start = yaml(&optional(&counters_of(role, "start")))?;
        let finish = yaml(&optional(&counters_of(role, "finish")))?;
        Ok(start.zip(finish).map(|(start, finish)| HostCounters { start, finish }))
    };
    let (requester, responder) = (host("requester")?, host("responder")?);
    let completions = yaml(&optional(COMPLETIONS))?;
    let deliveries = yaml(&optional(DELIVERIES))?;

    let (connections, host_ports) = match snapshots {
        Some(snapshots) => connections_of(&snapshots, &trace)
            .map_err(|reason| FolderError::Content { path: root.join(CONNECTIONS), reason })?,
        None => (captured.connections, Vec::new()),
    };
    // Without the connections the hosts' ports cannot be distinguished from the dumpers'.
    let switch = state.filter(|_| !host_ports.is_empty()).map(|state| SwitchCounters {
        ingress: state.counter.ingress,
        egress: state.counter.egress,
        host_ports,
    });
    let observation = Observation {
        trace,
        connections,
        requester,
        responder,
        switch,
        completions,
        deliveries,
        clock: yaml(&root.join(CLOCK))?.unwrap_or_default(),
        stopped_after: yaml(&root.join(STOPPED))?,
        requester_log: kernel_log(&root.join(log_of("requester")))?,
        responder_log: kernel_log(&root.join(log_of("responder")))?,
        requester_control: control_log(&root.join(control_of("requester")))?,
        responder_control: control_log(&root.join(control_of("responder")))?,
        coverage: Default::default(),
    };
    Ok(Folder { observation, traced: captured.traced, captures, missing })
}

/// The folder of one repetition: the path itself, or the only numbered folder in it.
fn repetition_of(path: &Path) -> Result<PathBuf, FolderError> {
    if path.join(CAPTURES).is_dir() {
        return Ok(path.into());
    }
    let mut repetitions = list(path)?
        .into_iter()
        .filter(|entry| entry.join(CAPTURES).is_dir())
        .filter_map(|entry| Some(entry.file_name()?.to_string_lossy().into_owned()))
        .collect::<Vec<_>>();
    // Their names are numbers: 2 before 10.
    repetitions.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    match repetitions.len() {
        0 => Err(FolderError::NoCapture { path: path.into(), looked_in: path.join(CAPTURES) }),
        1 => Ok(path.join(repetitions.swap_remove(0))),
        _ => Err(FolderError::SeveralRepetitions { path: path.into(), repetitions }),
    }
}

fn captures_of(root: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let looked_in = root.join(CAPTURES);
    let is_capture = |path: &PathBuf| {
        path.extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(|ext| ext == "pcap" || ext == "pcapng")
    };
    let captures = list(&looked_in)?.into_iter().filter(is_capture).collect::<Vec<_>>();
    if captures.is_empty() {
        return Err(FolderError::NoCapture { path: root.into(), looked_in });
    }
    Ok(captures)
}

/// Entries of a folder, sorted by name.
fn list(path: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let error = |source| FolderError::Io { path: path.into(), source };
    let mut entries = fs::read_dir(path)
        .map_err(error)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(error)?;
    entries.sort();
    Ok(entries)
}

/// A YAML file; `None` if the file is missing.
fn yaml<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FolderError> {
    let Some(text) = text_of(path)? else { return Ok(None) };
    serde_saphyr::from_str_with_options(&text, yaml_options())
        .map(Some)
        .map_err(|error| FolderError::Content { path: path.into(), reason: error.to_string() })
}

/// The kernel log of a host; empty if the file is missing.
fn kernel_log(path: &Path) -> Result<Vec<LogLine>, FolderError> {
    let text = text_of(path)?.unwrap_or_default();
    log::read(&text).map_err(|reason| FolderError::Content { path: path.into(), reason })
}

fn control_log(path: &Path) -> Result<Vec<ControlRecord>, FolderError> {
    let text = text_of(path)?.unwrap_or_default();
    control::read(&text).map_err(|reason| FolderError::Content { path: path.into(), reason })
}

/// The text of a file; `None` if the file is missing.
fn text_of(path: &Path) -> Result<Option<String>, FolderError> {
    let error = |source| FolderError::Io { path: path.into(), source };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(other) => return Err(error(other)),
    };
    let fault = |reason| FolderError::Content { path: path.into(), reason };
    if !metadata.is_file() {
        return Err(fault("is not a regular file".into()));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(fault(format!(
            "is too long: {} bytes, where at most {MAX_FILE_BYTES} are read",
            metadata.len()
        )));
    }
    fs::read_to_string(path).map(Some).map_err(error)
}

/// One-line errors, and room for the longest files of [`MAX_FILE_BYTES`].
fn yaml_options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! { max_nodes: MAX_YAML_NODES, max_events: 2 * MAX_YAML_NODES },
    }
}

/// One connection in `switch_message_snapshot.yml`; `snd` is the sender of data.
#[derive(Deserialize, Serialize)]
struct MessageSnapshot {
    psn_rcv: u32,
    psn_snd: u32,
    qpn_rcv: u32,
    qpn_snd: u32,
    ip_rcv: String,
    ip_snd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    snd_sw_port: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rcv_sw_port: Option<u32>,
}

impl MessageSnapshot {
    /// Sender and receiver of data, or the text that is not an address.
    fn ends(&self) -> Result<(Endpoint, Endpoint), String> {
        let end = |ip: &str, qpn, psn: u32| {
            // The test file's ip-list has prefix lengths; some files keep them here.
            let address = ip.split('/').next().and_then(|ip| ip.parse().ok());
            let ip = address.ok_or_else(|| format!("`{ip}` is not an IP address"))?;
            Ok::<_, String>(Endpoint { ip, qpn: Some(qpn), initial_psn: Some(Psn::new(psn)) })
        };
        let sender = end(&self.ip_snd, self.qpn_snd, self.psn_snd)?;
        Ok((sender, end(&self.ip_rcv, self.qpn_rcv, self.psn_rcv)?))
    }
}

#[derive(Deserialize, Serialize)]
struct StateSnapshot {
    counter: PortCounters,
}

#[derive(Deserialize, Serialize)]
struct PortCounters {
    ingress: BTreeMap<u32, u64>,
    egress: BTreeMap<u32, u64>,
}

/// Connections with requester and responder in their places, and the ports of the hosts in that order: the
/// file names the sender of data, which is the responder of a Read, so the trace decides by the sender of
/// requests.
fn connections_of(
    snapshots: &[MessageSnapshot],
    trace: &Trace,
) -> Result<(Vec<Connection>, Vec<u32>), String> {
    let requests: FxHashSet<(IpAddr, u32)> = trace
        .records()
        .iter()
        .filter(|record| record.class().is_request())
        .map(|record| trace.flow(record))
        .map(|flow| (flow.destination, flow.dest_qpn))
        .collect();
    let (mut connections, mut host_ports) = (Vec::with_capacity(snapshots.len()), Vec::new());
    let mut seen = FxHashSet::default();
    for (at, snapshot) in snapshots.iter().enumerate() {
        let (sender, receiver) = snapshot.ends().map_err(|reason| format!("entry {}: {reason}", at + 1))?;
        let goes_to = |end: &Endpoint| end.qpn.is_some_and(|qpn| requests.contains(&(end.ip, qpn)));
        let mut ends = [(sender, snapshot.snd_sw_port), (receiver, snapshot.rcv_sw_port)];
        if goes_to(&sender) && !goes_to(&receiver) {
            ends.reverse();
        }
        let [(requester, requester_port), (responder, responder_port)] = ends;
        connections.push(Connection { requester, responder });
        let ports = [requester_port, responder_port].into_iter().flatten();
        host_ports.extend(ports.filter(|port| seen.insert(*port)));
    }
    Ok((connections, host_ports))
}
