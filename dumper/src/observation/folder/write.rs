//! An [`Observation`] as a result folder.

use std::fs;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{
    CAPTURES, CLOCK, COMPLETIONS, CONNECTIONS, DELIVERIES, MessageSnapshot, PortCounters, STATE, STOPPED,
    StateSnapshot, control_of, counters_of, log_of,
};
use crate::capture::{self, CaptureFormat, WriteError};
use crate::connection::{Connection, Endpoint};
use crate::observation::{Clock, Observation, write_whole};
use crate::trace::Trace;
use crate::wire::Class;

/// A result folder that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteFolderError {
    /// A file or folder could not be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The trace has no capture.
    #[error("{}: {source}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: WriteError,
    },
    /// The layout needs a value that the observation does not have.
    #[error("a result folder names the {what} of every connection, and connection {connection} has none")]
    Unknown {
        /// Number of the connection, from 1.
        connection: usize,
        /// Name of the missing datum.
        what: &'static str,
    },
    /// The layout has one port for each host.
    #[error("a result folder has one switch port for each host, and there are {count}")]
    Ports {
        /// Number of items.
        count: usize,
    },
}

/// Writes an observation as a result folder of the published layout, which [`super::read`] reads to the same
/// observation. `path` is the folder of the repetition; it is made if it is not there. Each file is there whole or
/// not at all, the capture last: a folder without it is none. Frames are cut to `snap_len` bytes where given, as the
/// published tool's dumpers do (128); programs that check what is in a packet want it whole.
///
/// # Errors
/// When a file cannot be written, a connection's QPN or initial PSN is not known, or the switch's counters do not name
/// two host ports, the requester's and the responder's.
pub fn write(observation: &Observation, snap_len: Option<u32>, path: &Path) -> Result<(), WriteFolderError> {
    write_with_capture(observation, snap_len, ("trace.pcapng", CaptureFormat::PcapNg), path)
}

/// The same with a capture of another name and format: the published analyzer reads classic pcap alone.
///
/// # Errors
/// As for [`write()`].
pub fn write_with_capture(
    observation: &Observation,
    snap_len: Option<u32>,
    (name, format): (&str, CaptureFormat),
    path: &Path,
) -> Result<(), WriteFolderError> {
    let snapshots = snapshots_of(observation)?;
    for folder in [CAPTURES, "switch-result", "rdma-result"] {
        let folder = path.join(folder);
        fs::create_dir_all(&folder).map_err(|source| WriteFolderError::Io { path: folder, source })?;
    }
    if !snapshots.is_empty() {
        yaml(&path.join(CONNECTIONS), &snapshots)?;
    }
    if let Some(switch) = &observation.switch {
        let (ingress, egress) = (switch.ingress.clone(), switch.egress.clone());
        yaml(&path.join(STATE), &StateSnapshot { counter: PortCounters { ingress, egress } })?;
    }
    for (role, counters) in [("requester", &observation.requester), ("responder", &observation.responder)] {
        if let Some(counters) = counters {
            yaml(&path.join(counters_of(role, "start")), &counters.start)?;
            yaml(&path.join(counters_of(role, "finish")), &counters.finish)?;
        }
    }
    if let Some(completions) = &observation.completions {
        yaml(&path.join(COMPLETIONS), completions)?;
    }
    if let Some(deliveries) = &observation.deliveries {
        yaml(&path.join(DELIVERIES), deliveries)?;
    }
    if observation.clock != Clock::default() {
        yaml(&path.join(CLOCK), &observation.clock)?;
    }
    if let Some(stopped_after) = &observation.stopped_after {
        yaml(&path.join(STOPPED), stopped_after)?;
    }
    for (role, lines) in
        [("requester", &observation.requester_log), ("responder", &observation.responder_log)]
    {
        if !lines.is_empty() {
            let path = path.join(log_of(role));
            write_whole(&path, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
                .map_err(|source| WriteFolderError::Io { path, source })?;
        }
    }
    for (role, records) in
        [("requester", &observation.requester_control), ("responder", &observation.responder_control)]
    {
        if !records.is_empty() {
            let path = path.join(control_of(role));
            write_whole(&path, |out| records.iter().try_for_each(|record| json_line(out, record)))
                .map_err(|source| WriteFolderError::Io { path, source })?;
        }
    }
    let path = path.join(CAPTURES).join(name);
    let (trace, connections) = (&observation.trace, &observation.connections);
    write_whole(&path, |out| capture::write(trace, connections, format, snap_len, out))
        .map_err(|source| WriteFolderError::Capture { path, source })
}

fn yaml(path: &Path, value: &impl Serialize) -> Result<(), WriteFolderError> {
    write_whole(path, |out| {
        let text = serde_saphyr::to_string(value).map_err(io::Error::other)?;
        out.write_all(text.as_bytes())
    })
    .map_err(|source| WriteFolderError::Io { path: path.into(), source })
}

fn json_line(out: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

fn snapshots_of(observation: &Observation) -> Result<Vec<MessageSnapshot>, WriteFolderError> {
    let ports = match &observation.switch {
        None => None,
        Some(switch) => match switch.host_ports[..] {
            [requester, responder] => Some((requester, responder)),
            _ => return Err(WriteFolderError::Ports { count: switch.host_ports.len() }),
        },
    };
    let requests = Requests::of(&observation.trace);
    let snapshot = |(at, ends): (usize, &Connection)| {
        let unknown = |what| WriteFolderError::Unknown { connection: at + 1, what };
        let requester = known(&ends.requester).map_err(unknown)?;
        let responder = known(&ends.responder).map_err(unknown)?;
        let (requester_port, responder_port) = (ports.map(|ports| ports.0), ports.map(|ports| ports.1));
        let (mut snd, mut rcv) = ((requester, requester_port), (responder, responder_port));
        if requests.only_reads_of(ends) {
            std::mem::swap(&mut snd, &mut rcv);
        }
        Ok(MessageSnapshot {
            psn_rcv: rcv.0.psn,
            psn_snd: snd.0.psn,
            qpn_rcv: rcv.0.qpn,
            qpn_snd: snd.0.qpn,
            ip_rcv: rcv.0.ip.to_string(),
            ip_snd: snd.0.ip.to_string(),
            snd_sw_port: snd.1,
            rcv_sw_port: rcv.1,
        })
    };
    observation.connections.iter().enumerate().map(snapshot).collect()
}

/// An end of which everything is known.
#[derive(Clone, Copy)]
struct KnownEnd {
    ip: IpAddr,
    qpn: u32,
    psn: u32,
}

fn known(end: &Endpoint) -> Result<KnownEnd, &'static str> {
    let qpn = end.qpn.ok_or("QPNs")?;
    let psn = end.initial_psn.ok_or("initial PSNs")?;
    Ok(KnownEnd { ip: end.ip, qpn, psn: psn.value() })
}

/// Ends of connections that requests are addressed to, by address and QPN; true if any of the requests is not
/// a Read.
struct Requests(FxHashMap<(IpAddr, u32), bool>);

impl Requests {
    fn of(trace: &Trace) -> Self {
        let mut ends: FxHashMap<_, bool> = FxHashMap::default();
        for record in trace.records().iter().filter(|record| record.class().is_request()) {
            let flow = trace.flow(record);
            let others = ends.entry((flow.destination, flow.dest_qpn)).or_default();
            *others |= record.class() != Class::ReadRequest;
        }
        Self(ends)
    }

    /// Returns true if the responder sends the data: it receives Read requests and nothing else. Where Sends
    /// and Reads are mixed, the layout has the requester as the sender.
    fn only_reads_of(&self, ends: &Connection) -> bool {
        let to = |end: &Endpoint| end.qpn.and_then(|qpn| self.0.get(&(end.ip, qpn)));
        to(&ends.responder) == Some(&false) && to(&ends.requester).is_none()
    }
}
