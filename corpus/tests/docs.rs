//! `docs/test-config.md` says what the code does.

use corpus::{config::fields, from_toml};

const DOCS: &str = include_str!("../../docs/test-config.md");

#[test]
fn every_numeric_field_is_described_with_its_bounds() {
    for field in fields::ALL {
        let row = format!("| `{}` |", field.key);
        let bounds = format!("{} to {}", field.min, field.max);
        assert!(
            DOCS.lines().any(|line| line.starts_with(&row) && line.contains(&bounds)),
            "{} ({bounds}) is not in the description",
            field.key
        );
    }
}

#[test]
fn limits_are_those_of_the_code() {
    assert!(DOCS.contains(&format!("at most {} data packets", fields::MAX_TOTAL_PACKETS)));
    assert!(DOCS.contains(&format!("at most {} events", fields::MAX_EVENTS)));
    assert_eq!(corpus::MAX_FILE_BYTES, 1 << 20);
}

/// Every key of the canonical form has a row.
#[test]
fn every_key_is_described() {
    let config = from_toml("docs.toml", &example()).unwrap();
    for line in config.to_toml().lines() {
        let Some((key, _)) = line.split_once(" = ") else { continue };
        let row = format!("| `{key}` |");
        assert!(DOCS.lines().any(|line| line.starts_with(&row)), "{key} is not in the description");
    }
}

#[test]
fn the_first_example_is_a_test() {
    let config = from_toml("docs.toml", &example()).unwrap();
    assert_eq!((config.events.len(), config.requester.nic.as_str()), (2, "cx5"));
}

/// The first block of TOML in the description.
fn example() -> String {
    let block = DOCS.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("the description begins with an example").to_owned()
}

/// Every header field has a row with its bounds.
#[test]
fn every_header_field_is_described_with_its_bounds() {
    for (name, field) in corpus::HeaderField::NAMES {
        let row = format!("| `\"{name}\"` | {} |", field.bounds().range());
        assert!(DOCS.lines().any(|line| line.starts_with(&row)), "{row} is not in the description");
    }
}
