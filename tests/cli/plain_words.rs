//! Words that users read: papers by name, and nouns of the standard instead of words of this house.

use std::fs;
use std::path::{Path, PathBuf};

use scoring::score::calibration;
use scoring::{Kind, Rule, analyzers};

use crate::run::lumina_fuzz;

/// True if a text cites a paper by a number of a private list: `00` and a digit up to 4, before a section, figure or table.
fn cites_a_number(text: &str) -> bool {
    let cites = |(at, _): (usize, &str)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + 2..];
        let named = after.strip_prefix(['0', '1', '2', '3', '4']).is_some_and(|rest| {
            let place = rest.trim_start_matches(',').strip_prefix(' ').unwrap_or_default();
            let place = place.to_lowercase();
            ["§", "figure", "fig.", "table", "algorithm"].iter().any(|word| place.starts_with(word))
        });
        // Numbers have their thousands apart.
        let in_number = text[..at].trim_end().ends_with(|last: char| last.is_ascii_digit());
        named
            && !in_number
            && !before.is_some_and(|before| before.is_alphanumeric() || ".,_-".contains(before))
    };
    text.match_indices("00").any(cites)
}

/// Text files of the repository below a folder; neither what was built nor inputs of fuzzing.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_text = ["rs", "md", "toml", "rds", "snap", "yml", "yaml", "sh"]
            .iter()
            .any(|ending| path.extension().is_some_and(|extension| extension == *ending));
        if path.is_dir() {
            if !matches!(name, "target" | ".git" | "corpus" | "artifacts") || path.join("Cargo.toml").exists()
            {
                texts(&path, found);
            }
        } else if is_text {
            found.push(path);
        }
    }
}

#[test]
fn papers_are_cited_by_name() {
    for (text, cites) in [
        (format!("(00{} §6.1)", 1), true),
        (format!("00{}, figure 8", 0), true),
        (format!("00{} Table 1", 1), true),
        (format!("Lumina §6.1; 100 00{} §", 0), false),
        (format!("p = 0.00{} table", 3), false),
    ] {
        assert_eq!(cites_a_number(&text), cites, "{text}");
    }
    let mut files = Vec::new();
    texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files);
    assert!(files.len() > 500, "{}", files.len());
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let line = text.lines().find(|line| cites_a_number(line));
        assert_eq!(line, None, "{}", file.display());
    }
    for arguments in [&["paper", "iteration"][..], &["nics", "show", "cx4-lx"], &["targets", "list"]] {
        let said = lumina_fuzz(arguments).stdout;
        assert!(!cites_a_number(&said) && !said.is_empty(), "{said}");
    }
}

/// Words that stand for terms of the standard, and the words that these texts use instead.
const HOUSE: [(&str, &str); 12] = [
    ("throw", "discard"),
    ("hear", "receive"),
    ("owe", "must send"),
    ("owed", "must send"),
    ("told", "configured"),
    ("anew", "again"),
    ("goes back", "retransmits from"),
    ("go back", "retransmit from"),
    ("mend", "repair"),
    ("innocent", "uninvolved"),
    ("whoever", "a noun"),
    ("nobody", "a noun"),
];

#[test]
fn rules_and_reasons_use_words_of_the_standard() {
    let rules = Rule::ALL.iter().map(|rule| rule.expected());
    let kinds = Kind::ALL.iter().map(|kind| kind.meaning());
    let calibrations = calibration::TABLE.iter().flat_map(|row| [row.measure.what(), row.reason]);
    let consequences = Rule::ALL.iter().flat_map(|rule| rule.consequences()).map(|row| row.reason);
    let summaries = analyzers().map(|analyzer| analyzer.about().summary);
    for text in rules.chain(kinds).chain(calibrations).chain(consequences).chain(summaries) {
        let words = format!(" {} ", text.to_lowercase().replace([',', ';', ':', '.', '(', ')'], " "));
        for (word, instead) in HOUSE {
            let used = words.contains(&format!(" {word} ")) || words.contains(&format!(" {word}s "));
            assert!(!used, "`{text}`: {instead} instead of {word}");
        }
        assert!(!words.starts_with(" what ") && !words.starts_with(" who "), "`{text}`: a clause for a noun");
    }
}
