//! A smaller case with the same fault, and its packets.

use std::fmt::Write as _;

use executor::NicProfile;

use super::Case;

/// Leaves out events and brings fields back to their defaults, as long as the fault stays.
pub(crate) fn shrink(case: &Case, fault: &str) -> Case {
    let mut best = case.clone();
    let still = |case: &Case| {
        case.config.is_valid()
            && case.faults().iter().any(|found| found.split(" of ").next() == fault.split(" of ").next())
    };
    loop {
        let mut better = candidates(&best).into_iter().filter(|candidate| still(candidate));
        match better.next() {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// Fields that go down step by step, or up.
const SIZE: [&str; 4] = ["num-msgs-per-qp", "message-size", "tx-depth", "mtu"];

fn candidates(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    let mut push = |edit: &dyn Fn(&mut Case)| {
        let mut edited = case.clone();
        edit(&mut edited);
        if edited.config != case.config || edited.profiles != case.profiles {
            candidates.push(edited);
        }
    };
    let plain = corpus::TestConfig::default();
    for at in 0..case.config.events.len() {
        push(&|case| drop(case.config.events.remove(at)));
        push(&|case| case.config.events[at].progression = None);
    }
    push(&|case| case.config.traffic.num_msgs_per_qp = case.config.traffic.num_msgs_per_qp.div_ceil(2));
    push(&|case| {
        case.config.traffic.num_msgs_per_qp = case.config.traffic.num_msgs_per_qp.saturating_sub(1).max(1);
    });
    push(&|case| case.config.traffic.message_size /= 2);
    push(&|case| {
        case.config.traffic.message_size =
            case.config.traffic.message_size.saturating_sub(case.config.traffic.mtu.bytes());
    });
    push(&|case| case.config.traffic.tx_depth = case.config.traffic.tx_depth.div_ceil(2));
    push(&|case| {
        case.config.traffic.load = match case.config.traffic.load {
            corpus::Load::Same { verb, connections } => {
                corpus::Load::Same { verb, connections: connections.div_ceil(2) }
            }
            corpus::Load::Alternating { connections } => {
                corpus::Load::Alternating { connections: connections.div_ceil(2) }
            }
            split => split,
        }
    });
    push(&|case| case.config.traffic.mtu = corpus::Mtu::B4096);
    for field in corpus::TrafficField::ALL.iter().filter(|field| !SIZE.contains(&field.key)) {
        push(&|case| (field.set)(&mut case.config.traffic, field.default));
    }
    for role in corpus::Role::ALL {
        push(&|case| *case.config.host_mut(role) = plain.host(role).clone());
        let at = role as usize;
        push(&|case| case.profiles[at] = NicProfile::default());
        let default = NicProfile::default();
        push(&|case| case.profiles[at].link = default.link);
        push(&|case| case.profiles[at].host = default.host);
        push(&|case| case.profiles[at].transmit = default.transmit);
        push(&|case| case.profiles[at].receive = default.receive);
        push(&|case| case.profiles[at].responder = default.responder);
        push(&|case| case.profiles[at].requester = default.requester);
        push(&|case| case.profiles[at].retransmission = default.retransmission);
        push(&|case| case.profiles[at].timeout = default.timeout);
        push(&|case| case.profiles[at].notification = default.notification);
        push(&|case| case.profiles[at].counters = default.counters.clone());
    }
    candidates
}

/// The case and what it leaves behind.
pub(crate) fn describe(case: &Case) -> String {
    let mut text = case.config.to_toml();
    for profile in &case.profiles {
        text.push_str(&profile.to_toml());
    }
    let observation = case.run().unwrap();
    let anomalies = case.assess(&observation).anomalies;
    for anomaly in &anomalies {
        let _ = writeln!(text, "{anomaly:?}");
    }
    let told = anomalies.iter().find_map(|anomaly| anomaly.evidence.packets.first());
    let around = told.map_or(0, |packet| packet.saturating_sub(60) as usize);
    for record in observation.trace.records().iter().skip(around).take(100) {
        let flow = observation.trace.flow(record);
        let connection = observation
            .connections
            .iter()
            .position(|ends| [ends.requester.qpn, ends.responder.qpn].contains(&Some(flow.dest_qpn)))
            .unwrap();
        let first = observation.connections[connection].requester.initial_psn.unwrap();
        let exit = observation.trace.exit(record);
        let _ = writeln!(
            text,
            "{:>6} {:>12} {} #{} {} psn {} {} {:?} ack_req {} len {} {exit:?}",
            record.sequence,
            record.time.0,
            flow.source,
            connection + 1,
            record.opcode(),
            record.psn.relative_to(first),
            record.event(),
            record.aeth(),
            record.ack_req(),
            record.dma_length,
        );
    }
    let _ = writeln!(
        text,
        "{:#?}\n{:?}\n{:?}",
        observation.completions().iter().take(20).collect::<Vec<_>>(),
        observation.requester.as_ref().map(|counters| &counters.finish),
        observation.responder.as_ref().map(|counters| &counters.finish)
    );
    text
}
