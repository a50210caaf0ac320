//! Every input of the committed corpora, through the body of its target.

use std::fs;
use std::path::Path;

#[test]
fn every_corpus_passes() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for (name, body) in fuzz_bodies::TARGETS {
        let inputs = fs::read_dir(corpora.join(name)).expect("every target has a corpus");
        let mut count = 0;
        for input in inputs {
            let path = input.expect("the corpus can be listed").path();
            println!("{}", path.display());
            body(&fs::read(&path).expect("the corpus can be read"));
            count += 1;
        }
        assert!(count > 0, "the corpus of {name} is empty");
    }
}

/// A target without a corpus, or a corpus without a target, is a mistake in one of the lists.
#[test]
fn targets_and_corpora_are_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let names = |of: &str| {
        let mut names: Vec<String> = fs::read_dir(folder.join(of))
            .expect("the folder is there")
            .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        names
    };
    let mut targets: Vec<String> = fuzz_bodies::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    targets.sort();
    assert_eq!(names("corpus"), targets);
    assert_eq!(names("targets"), targets);
}
