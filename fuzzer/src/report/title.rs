//! The title of a finding.

use corpus::TestConfig;
use scoring::{Anomaly, Kind};

use super::words;

/// Longest title, in characters: one line of a terminal or of a bug tracker's list.
pub(super) const MAX_TITLE: usize = 100;

/// What was found, in one line of at most a hundred characters: who does what, in which traffic.
pub fn title(anomaly: &Anomaly, config: &TestConfig) -> String {
    let traffic = words::connections(config.traffic.load);
    let who = anomaly.who.role;
    let what = match anomaly.kind() {
        // It is the others that do something in what the oracle says.
        Kind::NoisyNeighbor => {
            let with_events = config.connections_with_events();
            format!("lets connections suffer that have no events, beside {with_events} that have")
        }
        _ => anomaly.what.clone(),
    };
    let room = MAX_TITLE.saturating_sub(traffic.len() + 3);
    format!("{} ({traffic})", shortened(&format!("{who} {what}"), room))
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
