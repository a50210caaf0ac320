//! What happens to a host's flow table during a test, as its software and its NIC's driver log it (ScalaCN, NSDI'25, appendix A).

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// Something that happens to a flow table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlEvent {
    /// The host's software asks for an entry of a flow (`FL_OFFLD`).
    FlowOffloaded,
    /// The NIC has created the entry (`FE_CREATE`).
    EntryCreated,
    /// The NIC cannot create it.
    EntryRefused,
    /// The NIC has deleted the entry.
    EntryDeleted,
    /// The host's software forwards a packet of a flow that has no entry: the first one since it had one.
    SoftwareForwarded,
    /// A virtual function is unbound.
    VfUnbound,
    /// The link of the NIC goes down.
    LinkDown,
    /// It comes up again.
    LinkUp,
    /// The host's software begins no operation any more.
    Stalled,
}

/// An entry of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ControlRecord {
    /// Time, by the clock of the trace.
    pub at_ns: Nanos,
    /// What happens.
    pub event: ControlEvent,
    /// The flow, from 1; those of the connections come first. The function of [`ControlEvent::VfUnbound`]. Nothing for the host as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// Time that an operation has waited until it began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ns: Nanos,
    /// Time that the operation took from then on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_ns: Nanos,
}

const fn is_zero(time: &Nanos) -> bool {
    time.0 == 0
}

/// A log from the text of its file, one record a line.
pub(super) fn read(text: &str) -> Result<Vec<ControlRecord>, String> {
    let record = |(number, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| format!("line {number}: is no record of a flow table: {error}"))
    };
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).map(record).collect()
}
