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

/// A corpus without a target is a mistake in the list.
#[test]
fn every_corpus_has_a_target() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for corpus in fs::read_dir(corpora).expect("the folder is there") {
        let name = corpus.expect("the corpora can be listed").file_name();
        assert!(fuzz_bodies::TARGETS.iter().any(|(target, _)| name == *target), "{name:?}");
    }
}
