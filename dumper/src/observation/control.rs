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

impl ControlRecord {
    /// Reason why it cannot stand behind a record of this time, if there is one.
    fn fault(&self, after: Nanos) -> Option<String> {
        let Self { at_ns, waited_ns, took_ns, .. } = self;
        if *at_ns < after {
            return Some(format!(
                "its time, {at_ns}, is before that of the line before, {after}: a log is in the order of time"
            ));
        }
        let began = at_ns.0.checked_sub(took_ns.0).and_then(|began| began.checked_sub(waited_ns.0));
        let fault = "an operation that waited and took longer than the time that it is logged at";
        began.is_none().then(|| format!("is {fault}: {waited_ns} and {took_ns} of {at_ns}"))
    }
}

/// A log from the text of its file, one record a line, in the order of time.
pub(super) fn read(text: &str) -> Result<Vec<ControlRecord>, String> {
    let (mut records, mut after) = (Vec::new(), Nanos::ZERO);
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let record: ControlRecord = serde_json::from_str(line)
            .map_err(|error| format!("line {number}: is no record of a flow table: {error}"))?;
        if let Some(fault) = record.fault(after) {
            return Err(format!("line {number}: {fault}"));
        }
        after = record.at_ns;
        records.push(record);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_in_the_order_of_time() {
        let line = |at: u64, waited: u64, took: u64| {
            format!(
                "{{\"at-ns\":{at},\"event\":\"entry-created\",\"of\":1,\"waited-ns\":{waited},\"took-ns\":{took}}}\n"
            )
        };
        let logs = [
            line(100, 40, 60) + &line(100, 0, 1),
            line(100, 0, 0) + &line(99, 0, 0),
            line(u64::MAX, u64::MAX, u64::MAX),
            line(100, 41, 60),
        ];
        let read: Vec<_> = logs.iter().map(|text| read(text).map(|records| records.len())).collect();
        let faults: Vec<_> = read[1..].iter().map(|fault| fault.as_ref().unwrap_err().as_str()).collect();
        assert_eq!(read[0], Ok(2));
        assert!(faults[0].starts_with("line 2: its time, 99 ns, is before"), "{faults:?}");
        assert!(
            faults[1..].iter().all(|fault| fault.starts_with("line 1: is an operation that waited")),
            "{faults:?}"
        );
    }
}
