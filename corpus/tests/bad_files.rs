//! Every file under `tests/bad` is wrong in the way that its name says; the messages for users are a
//! snapshot.

use std::{fs, path::PathBuf};

use corpus::{ConfigErrors, load};
use miette::{GraphicalReportHandler, GraphicalTheme};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bad")
}

/// Errors of a file, under its bare name: the folder differs between machines.
fn errors(name: &str) -> ConfigErrors {
    let mut errors = load(folder().join(name)).expect_err(name);
    name.clone_into(&mut errors.file);
    errors
}

#[test]
fn every_bad_file_is_answered() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 45);
    for name in names {
        let errors = errors(&name);
        assert!(errors.problems.is_sorted_by_key(|problem| problem.location.map(|at| at.offset)), "{name}");
        let text = fs::read_to_string(folder().join(&name)).unwrap();
        insta::with_settings!({ description => text, omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name.as_str(), errors);
        });
    }
}

#[test]
fn problems_are_shown_in_the_text() {
    let mut shown = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(110);
    handler.render_report(&mut shown, &errors("several-faults.toml").into_diagnostic()).unwrap();
    insta::assert_snapshot!(shown);
}

#[test]
fn problems_are_data_for_programs() {
    let json = serde_json::to_string_pretty(&errors("range-mtu.toml")).unwrap();
    insta::assert_snapshot!(json);
}
