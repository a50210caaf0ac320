//! The flow tables of both hosts, by what their software and drivers log: entries that come and go as they should, and links that stay up
//! (ScalaCN, NSDI'25, table 1 and appendix A).

mod in_use;
pub mod tables;

use std::collections::BTreeMap;

use corpus::{Role as Host, TestConfig};
use dumper::Observation;
use dumper::observation::{ControlEvent, ControlRecord};

use crate::anomaly::{Anomalies, Anomaly, Evidence, Role, Who};
use crate::machines::Transitions;
use crate::rules::Rule;
use tables::entry::{Event, State};

/// Judges the logs of both hosts; returns true if one was cut off, so that nothing after it says anything of its NIC's transport.
pub(crate) fn judge(
    observation: &Observation,
    config: Option<&TestConfig>,
    transitions: &mut Transitions,
    anomalies: &mut Anomalies,
) -> bool {
    let ends = observation.connections.first();
    let hosts = [
        (Host::Requester, ends.map(|ends| ends.requester.ip), &observation.requester_control),
        (Host::Responder, ends.map(|ends| ends.responder.ip), &observation.responder_control),
    ];
    let mut cut_off = false;
    for (host, address, records) in hosts {
        let who = Who { role: Role::Eswitch, address, connection: None };
        let offload = config.and_then(|config| config.host(host).offload.as_ref());
        if let (Some(config), Some(offload)) = (config, offload) {
            entries(records, offload.flows, who, transitions, anomalies);
            let completions = observation.completions();
            if let Some(anomaly) = in_use::judge(config, offload, records, completions, who) {
                anomalies.push(anomaly);
            }
        }
        if let Some(down) = records.iter().find(|record| record.event == ControlEvent::LinkDown) {
            cut_off = true;
            let up = records.iter().find(|record| record.event == ControlEvent::LinkUp);
            let what = match up {
                Some(up) => format!("takes its link down for {}", up.at_ns - down.at_ns),
                None => "takes its link down for good".to_owned(),
            };
            let evidence = Evidence::default().with_time("down", down.at_ns);
            anomalies.push(Anomaly { rule: Rule::LinkGoesDown, who, state: "".into(), what, evidence });
        }
    }
    cut_off
}

/// Holds every entry to its machine; those of the first flows are there from the start.
fn entries(
    records: &[ControlRecord],
    flows: u32,
    who: Who,
    transitions: &mut Transitions,
    anomalies: &mut Anomalies,
) {
    let mut states: BTreeMap<u32, State> = BTreeMap::new();
    for record in records {
        let event = match record.event {
            ControlEvent::FlowOffloaded => Event::Offload,
            ControlEvent::EntryCreated => Event::Create,
            ControlEvent::EntryRefused => Event::Refuse,
            ControlEvent::EntryDeleted => Event::Delete,
            _ => continue,
        };
        let Some(flow) = record.of else { continue };
        let state = states.entry(flow).or_insert(if flow <= flows { State::Created } else { State::Absent });
        let next = state.step(event, transitions);
        if let Some(rule) = next.broken() {
            let what = match rule {
                Rule::OffloadedTwice => format!("asks for the entry of flow {flow} again"),
                Rule::EntryUnasked => format!("creates an entry of flow {flow} that was not asked for"),
                _ => format!("does not create the entry of flow {flow}"),
            };
            let evidence = Evidence::default().with_time("at", record.at_ns).with_number("flow", flow.into());
            anomalies.push(Anomaly { rule, who, state: state.name().into(), what, evidence });
        }
        *state = next.state(*state);
    }
}
