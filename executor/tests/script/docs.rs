//! `docs/packet-scripts.md` says what the code does.

use dumper::script::{Field, MAX_BYTES, MAX_GROUP, MAX_PACKETS, PostVerb, STATUSES, Unit, parse};
use executor::script::to_config;

const DOCS: &str = include_str!("../../../docs/packet-scripts.md");

#[test]
fn every_example_is_a_script() {
    let examples: Vec<&str> =
        DOCS.split("```rds\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(examples.len() >= 3);
    for text in examples {
        let script = parse("docs.rds", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        to_config(&script).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    }
}

#[test]
fn every_word_of_the_language_is_described() {
    let fields =
        Field::NUMBERS.iter().map(|(name, ..)| *name).chain(Field::WORDS.iter().map(|(name, ..)| *name));
    let verbs = PostVerb::NAMES.iter().map(|(name, _)| *name);
    let statuses = STATUSES.iter().map(|(name, _)| *name);
    for word in fields.chain(verbs).chain(statuses).chain(Unit::NAMES.map(|(_, name)| name)) {
        assert!(DOCS.contains(&format!("`{word}`")) || DOCS.contains(&format!("`{word} N`")), "{word}");
    }
    for limit in [MAX_BYTES >> 20, MAX_PACKETS, MAX_GROUP] {
        assert!(DOCS.contains(&limit.to_string()), "{limit}");
    }
}
