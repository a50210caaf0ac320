//! Scripts that read well and describe no test.

use std::fs;
use std::path::PathBuf;

use dumper::script::parse;
use executor::script::to_config;

#[test]
fn every_bad_script_is_answered() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bad_scripts");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 20);
    let answers = names.iter().map(|name| {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let script = parse(name, &text).unwrap_or_else(|errors| panic!("{errors}"));
        let errors = to_config(&script).expect_err(name);
        format!("{text}----\n{errors}\n")
    });
    insta::assert_snapshot!(answers.collect::<Vec<_>>().join("\n"));
}
