//! `paper`: the experiments of the papers.

use std::collections::BTreeSet;
use std::fs;

use fuzzer::paper::plot::{FIGURES, Source, Style};

use crate::run::{folder, in_folder, lumina_fuzz};

#[test]
fn every_experiment_agrees_with_the_paper() {
    let ran = lumina_fuzz(["paper", "--format", "json"]);
    let document = ran.json();
    let rows = document["rows"].as_array().unwrap();
    let off: Vec<_> = rows.iter().filter(|row| row["verdict"] == "off").collect();
    assert!(off.is_empty(), "{off:#?}");
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    let counts = ["ok", "off", "open", "hardware"].map(|verdict| document[verdict].as_u64().unwrap());
    assert_eq!(counts.iter().sum::<u64>(), rows.len() as u64);
    let agree: u64 =
        document["agree"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(agree, document["ok"].as_u64().unwrap());
    // Numbers that the papers do not give of what they measured; of theory there are more.
    let is_of = |row: &serde_json::Value, experiments: &[&str]| {
        experiments.iter().any(|name| row["experiment"] == *name)
    };
    let of_models = ["reorder-throughput", "flow-table", "flow-table-symptoms"];
    let is_open = |row: &&serde_json::Value| {
        row["verdict"] == "open" && row["basis"] != "formula" && !is_of(row, &of_models)
    };
    let open: Vec<_> = rows.iter().filter(is_open).map(|row| &row["what"]).collect();
    let flat = "The same where packets of every size are lost alike, which it cannot have been";
    assert_eq!(open, ["NACK reaction, Write 100 KB", flat]);
    let nics: BTreeSet<&str> =
        rows.iter().filter(|row| !is_of(row, &of_models)).filter_map(|row| row["nics"].as_str()).collect();
    assert_eq!(
        nics,
        BTreeSet::from(["cx4-lx", "cx5", "cx6-dx", "cx6-perftest", "e810", "e810 -> cx5", "reference"])
    );
}

/// Flow tables: every NIC of ScalaCN has its rows, and all symptoms theirs.
#[test]
fn flow_tables_are_those_of_six_nics() {
    let ran = lumina_fuzz(["paper", "flow-table", "flow-table-symptoms", "--format", "json"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    let document = ran.json();
    let rows = document["rows"].as_array().unwrap();
    let of = |part: &str| -> Vec<&str> {
        let rows = rows.iter().filter(|row| row["what"].as_str().unwrap().starts_with(part));
        rows.filter_map(|row| row["nics"].as_str()).collect()
    };
    let nics = ["rcn-cx4", "rcn-cx5", "rcn-cx6", "rcn-cx7", "rcn-bf3", "rcn-e810"];
    for part in [
        "Each mask at the local egress",
        "Each mask at the remote ingress",
        "Latency but for masks",
        "Goodness of",
    ] {
        assert_eq!(of(part), nics, "{part}");
    }
    for symptom in 1..=8 {
        assert!(!of(&format!("S{symptom}, ")).is_empty(), "S{symptom}");
    }
}

#[test]
fn named_experiments_are_run_alone_and_always_the_same() {
    let ran = lumina_fuzz(["paper", "iteration", "retries"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    assert!(ran.stdout.contains("1 2x 3 4 2 3x 4 3 4"), "{}", ran.stdout);
    let summary = "\n7 rows: 7 ok, 0 off, 0 open, 0 hardware. Those that agree: 4 derived, 3 calibrated.\n";
    assert!(ran.stdout.contains(summary), "{}", ran.stdout);
    assert!(ran.stdout.contains("models of these published measurements"), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 112), "{}", ran.stdout);
    assert_eq!(lumina_fuzz(["paper", "iteration", "retries"]).stdout, ran.stdout);
    let ran = lumina_fuzz(["paper", "testbed"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("0 ok, 0 off, 0 open, 9 hardware"), "{}", ran.stdout);
    let ran = lumina_fuzz(["paper", "figure-8"]);
    assert_eq!((ran.code, ran.stderr.contains("possible values: nack-latency")), (2, true), "{}", ran.stderr);
}

/// Elements of a well-formed XML document: name and attributes as they stand there, and what stands before the next
/// one.
fn elements(svg: &str) -> Vec<(&str, &str)> {
    let (mut open, mut elements) = (Vec::new(), Vec::new());
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("a tag without an end: {piece}"));
        assert!(!text.contains('>'), "{piece}");
        if tag.starts_with(['?', '!']) {
            continue;
        }
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{piece}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{piece}");
        elements.push((tag, text.trim()));
    }
    assert_eq!(open, Vec::<&str>::new());
    elements
}

#[test]
fn figures_are_drawn_with_what_the_paper_says() {
    let here = folder(&[]);
    let ran = in_folder(here.path(), &["paper", "iteration", "--plot", "new/figures"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    let figures = here.path().join("new/figures");
    let mut files: Vec<_> = fs::read_dir(&figures)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let expected = (8..=12).map(|figure| format!("lumina-preprint-figure-{figure}.svg"));
    let mut expected: Vec<_> =
        expected.chain((8..=11).map(|figure| format!("lumina-figure-{figure}.svg"))).collect();
    expected.sort();
    assert_eq!(files, expected);
    for figure in FIGURES {
        let svg = fs::read_to_string(figures.join(figure.file)).unwrap();
        let elements = elements(&svg);
        let texts: BTreeSet<&str> =
            elements.iter().map(|(_, text)| *text).filter(|text| !text.is_empty()).collect();
        let has = |text: &str| {
            assert!(text.is_empty() || texts.contains(text), "{}: {text}: {texts:?}", figure.file);
        };
        has(figure.title);
        for panel in figure.panels {
            [panel.title, panel.x, panel.y].into_iter().chain(panel.names.iter().copied()).for_each(has);
            let published =
                panel.series.iter().filter(|series| matches!(series.points, Source::Published(_)));
            assert!(published.clone().count() > 0, "{}", figure.file);
            for series in published {
                let drawn = match series.style {
                    Style::Line => "dashed",
                    Style::Dots => "circles",
                    Style::Columns(_) => "frames",
                };
                has(&format!("{} (paper, {drawn})", series.name));
            }
        }
    }
    // Seven waits of the first message, and the first ones of the others, as circles that are not filled.
    let svg = fs::read_to_string(figures.join("lumina-preprint-figure-12.svg")).unwrap();
    let hollow = elements(&svg)
        .iter()
        .filter(|(tag, _)| tag.starts_with("circle") && tag.contains("fill=\"none\""))
        .count();
    assert_eq!(hollow, 7 + 4);
    let again = in_folder(here.path(), &["paper", "iteration", "--plot", "again"]);
    assert_eq!(again.code, 0);
    assert_eq!(fs::read_to_string(here.path().join("again/lumina-preprint-figure-12.svg")).unwrap(), svg);
}

#[test]
fn figures_that_cannot_be_written() {
    let here = folder(&[("figures", "a file")]);
    let ran = in_folder(here.path(), &["paper", "iteration", "--plot", "figures"]);
    assert_eq!((ran.code, ran.stderr.contains("figures: cannot be written")), (1, true), "{}", ran.stderr);
}
