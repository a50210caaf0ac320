//! Header fields in which the packets of two hosts differ: interoperability fails in these.

use std::collections::BTreeSet;

use dumper::Trace;
use dumper::trace::{Record, flags};

use crate::analyze::packets::Numbering;

/// A header field of which each host uses one value, and not the same.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Name of the field.
    pub(crate) field: &'static str,
    /// Its value in the packets of the requester's and of the responder's host.
    pub(crate) values: [String; 2],
}

/// Value of a header field, as it entered the switch.
type Value = fn(&Record) -> u16;

/// The fields, which in a reliable connection do not depend on a packet's part in it.
const FIELDS: [(&str, Value); 3] = [
    ("MigReq (BTH)", |record| u16::from(record.flags & flags::MIG_REQ != 0)),
    ("partition key (BTH)", |record| record.partition_key),
    ("DSCP (IP)", |record| u16::from(record.traffic_class >> 2)),
];

/// The fields of which each host uses one value throughout the trace, and not the other's.
pub(super) fn differences(trace: &Trace, numbering: &Numbering) -> Vec<Difference> {
    let mut seen = FIELDS.map(|_| [BTreeSet::new(), BTreeSet::new()]);
    for record in trace.records() {
        let Some(place) = numbering.get(record) else { continue };
        for (sets, (_, value)) in seen.iter_mut().zip(FIELDS) {
            sets[usize::from(!place.from_requester)].insert(value(record));
        }
    }
    let one = |set: &BTreeSet<u16>| set.first().copied().filter(|_| set.len() == 1);
    let differing = FIELDS.iter().zip(&seen).filter_map(|((field, _), [requester, responder])| {
        let values = [one(requester)?, one(responder)?];
        (values[0] != values[1]).then(|| Difference { field, values: values.map(|value| value.to_string()) })
    });
    differing.collect()
}
