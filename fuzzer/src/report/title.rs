//! The title of a finding.

use corpus::TestConfig;
use scoring::{Anomaly, Kind, Rule};

use super::words;
use crate::measure::digits;

/// Longest title, in characters: one line of a terminal or of a bug tracker's list.
pub(super) const MAX_TITLE: usize = 100;

/// The finding, in one line of at most a hundred characters: the host, its behaviour, the traffic.
pub fn title(anomaly: &Anomaly, config: &TestConfig) -> String {
    let traffic = words::messages(&config.traffic);
    let who = anomaly.who.role;
    let what = match anomaly.kind() {
        Kind::NoisyNeighbor => stalls(anomaly, config),
        _ => in_short(anomaly).unwrap_or_else(|| anomaly.what.clone()),
    };
    let room = MAX_TITLE.saturating_sub(traffic.len() + 3);
    format!("{} ({traffic})", shortened(&format!("{who} {what}"), room))
}

/// Short behaviour for anomalies whose full text does not fit a title; `None` for the others.
fn in_short(anomaly: &Anomaly) -> Option<String> {
    let time = |name: &str| anomaly.evidence.times_ns.get(name).copied();
    let number = |name: &str| anomaly.evidence.numbers.get(name).copied();
    let text = match (anomaly.rule, anomaly.state.as_ref()) {
        (Rule::CnpWithheld, "per-port") => {
            "sends one CNP per interval and port, not per interval and QP".into()
        }
        (Rule::CnpWithheld, "per-destination-ip") => {
            "sends one CNP per interval and destination IP, not per interval and QP".into()
        }
        (Rule::CnpWithheld, "interval") => {
            format!("sends CNPs farther apart than the configured {}", time("configured")?)
        }
        (Rule::BandwidthWithheld, _) => {
            let (class, used) = (number("class")?, number("used-percent")?);
            format!("gives class {class} only {used} % of the link while others leave more idle")
        }
        (Rule::SuccessUnacknowledged, _) => {
            let (acknowledged, packets) = (number("acknowledged")?, number("packets")?);
            format!("reports success with {acknowledged} of {packets} packets acknowledged")
        }
        (Rule::PairDiscards, _) => "discards packets of the other kind of NIC, none of its own kind".into(),
        (Rule::RetransmissionWithoutCause, _) => {
            "retransmits without a NAK or an expiry of the ACK timer".into()
        }
        (Rule::MitigationHarms, "fails") => "fails with retry-exceeded at a copy of a NAK".into(),
        (Rule::GoodputUnderReordering, _) => {
            let (goodput, alone) = (number("goodput-kbps")?, number("one-path-goodput-kbps")?);
            let extent = number("extent-packets")?;
            let percent = digits(goodput as f64 * 100.0 / alone.max(1) as f64);
            format!("keeps {percent} % of its goodput, packets up to {extent} packets late")
        }
        (Rule::ReissueAddress, _) => "retransmits a Read with a wrong address or length".into(),
        (Rule::RtoAboveMaximum, _) => {
            let [waited, limit] = time("waited")?.apart(time("limit")?);
            format!("times out after {waited}, later than 4T ({limit})")
        }
        (Rule::RtoBelowMinimum, _) => {
            let [waited, limit] = time("waited")?.apart(time("limit")?);
            format!("times out after {waited}, sooner than T ({limit})")
        }
        _ => return None,
    };
    Some(text)
}

/// Effect on the uninvolved connections, and the connections that cause it.
fn stalls(anomaly: &Anomaly, config: &TestConfig) -> String {
    let count = |name| anomaly.evidence.connections.get(name).map_or(0, Vec::len);
    let (stalled, failing) = match count("suffering") {
        0 | 1 => ("an uninvolved QP".to_owned(), count("failing")),
        many => (format!("{many} uninvolved QPs"), count("failing")),
    };
    let verb = match (failing, anomaly.evidence.times_ns.get("innocent-mct-max")) {
        (0, Some(longest)) => format!("stalls {stalled} for {longest}"),
        _ => format!("makes {stalled} fail"),
    };
    let loses = |event: &corpus::Event| event.action.loses();
    let with_events = config.connections_with_events();
    match (config.events.iter().all(loses), with_events) {
        (true, 1) => format!("{verb} while another recovers"),
        (true, _) => format!("{verb} while {with_events} others recover"),
        (false, 1) => format!("{verb} beside 1 with events"),
        (false, _) => format!("{verb} beside {with_events} with events"),
    }
}

/// The first words of a sentence that fit into so many characters.
fn shortened(sentence: &str, room: usize) -> String {
    let mut text = String::new();
    if sentence.chars().count() <= room {
        text.push_str(sentence);
    } else {
        for word in sentence.split_inclusive(' ') {
            if text.chars().count() + word.trim_end().chars().count() + 3 > room {
                break;
            }
            text.push_str(word);
        }
        text.truncate(text.trim_end_matches([' ', ',', ';', ':']).len());
        text.push_str("...");
    }
    words::capitalised(&text)
}
