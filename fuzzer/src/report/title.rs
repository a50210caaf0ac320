//! The title of a finding.

use corpus::TestConfig;
use dumper::Nanos;
use scoring::{Anomaly, Kind, Rule};

use super::words;
use crate::measure::digits;

/// Longest title, in characters: one line of a terminal or of a bug tracker's list.
pub(super) const MAX_TITLE: usize = 100;

/// The finding, in one line of at most a hundred characters: the host, its behaviour, the traffic.
pub fn title(anomaly: &Anomaly, config: &TestConfig) -> String {
    let traffic = words::connections(config.traffic.load);
    let who = anomaly.who.role;
    let what = match anomaly.kind() {
        // The oracle's text has the other connections as its subject.
        Kind::NoisyNeighbor => {
            let with_events = config.connections_with_events();
            format!("lets connections suffer that have no events, beside {with_events} that have")
        }
        _ => in_short(anomaly).unwrap_or_else(|| anomaly.what.clone()),
    };
    let room = MAX_TITLE.saturating_sub(traffic.len() + 3);
    format!("{} ({traffic})", shortened(&format!("{who} {what}"), room))
}

/// Short behaviour for anomalies whose full text does not fit a title; `None` for the others.
fn in_short(anomaly: &Anomaly) -> Option<String> {
    let time = |name: &str| anomaly.evidence.times_ns.get(name).map(|time| rough(*time));
    let text = match (anomaly.rule, anomaly.state.as_ref()) {
        (Rule::CnpWithheld, "per-port") => {
            "sends one CNP an interval for the whole port, not for each QP".into()
        }
        (Rule::CnpWithheld, "per-destination-ip") => {
            "sends one CNP an interval for each destination IP, not for each QP".into()
        }
        (Rule::CnpWithheld, "interval") => {
            format!("keeps a longer interval between CNPs than the configured {}", time("configured")?)
        }
        (Rule::RtoAboveMaximum, _) => {
            format!("times out after {}, and the latest is 4 T, {}", time("waited")?, time("limit")?)
        }
        (Rule::RtoBelowMinimum, _) => {
            format!("times out after {}, and the earliest is T, {}", time("waited")?, time("limit")?)
        }
        _ => return None,
    };
    Some(text)
}

/// A time to three digits.
fn rough(time: Nanos) -> String {
    let (unit, name) = match time.0 {
        0..1_000 => (1.0, "ns"),
        1_000..1_000_000 => (1e3, "µs"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        1_000_000_000.. => (1e9, "s"),
    };
    format!("{} {name}", digits(time.0 as f64 / unit))
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
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
