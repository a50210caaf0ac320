//! Making and opening a corpus, and being refused.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use corpus::Evaluation;
use corpus::store::{Archive, Condition, Decision, Distilled, Lost, Progress, REMEMBERED, Store, StoreError};

use crate::contents::Contents;
use crate::samples::{copy, evaluation, fill, finding, is_kept, write};

#[test]
fn a_new_corpus_needs_a_new_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some/where/corpus");
    let store = Store::create(&path).unwrap();
    assert_eq!(Contents::of(&store, 3), Contents::default());
    drop(store);
    assert!(matches!(Store::create(&path), Err(StoreError::NotEmpty { .. })));
    assert_eq!(
        Store::create(folder.path()).unwrap_err().to_string(),
        format!("{}: is not empty; name a new folder or an empty one", folder.path().display())
    );
}

#[test]
fn there_is_a_corpus_or_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "text").unwrap();
    for path in [folder.path().to_owned(), folder.path().join("nowhere"), file] {
        let error = Store::open(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: there is no corpus; name", path.display())), "{error}");
        let error = Archive::read(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: there is no corpus; name", path.display())), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "looking for one makes nothing");
}

#[test]
fn one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let store = Store::create(&path).unwrap();
    assert_eq!(
        Store::open(&path).unwrap_err().to_string(),
        format!("{}: another process has this corpus open; wait for it, or stop it", path.display())
    );
    drop(store);
    let archive = Archive::read(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Busy { .. })));
    drop(archive);
    Store::open(&path).unwrap();
}

/// A process that is being started has copies of all open files for a moment, and with them of the lock.
#[test]
fn processes_that_are_being_started_are_not_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    drop(Store::create(&path).unwrap());
    let opened = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !opened.load(Ordering::Relaxed) {
                    Command::new("true").status().unwrap();
                }
            });
        }
        let read = (0..200).try_for_each(|_| Archive::read(&path).map(drop));
        let reopened = (0..20).try_for_each(|_| Store::open(&path).map(drop));
        opened.store(true, Ordering::Relaxed);
        read.and(reopened).unwrap();
    });
}

#[test]
fn a_step_is_whole_before_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let store = Store::create(&path).unwrap();
    fill(&store, 1..=10);
    let before = Contents::of(&store, 12);
    let decision = Decision {
        number: 11,
        kept: Some(0.5),
        new_references: &[],
        findings: &[finding(11)],
        situations: &[],
        losses: None,
        progress: Progress { executions: 11, ..Progress::default() },
    };
    let error = store.decide(&decision).unwrap_err();
    assert!(matches!(error, StoreError::NotRecorded { number: 11 }), "{error}");

    let mut large = finding(1);
    large.evidence = "x".repeat(17 << 20);
    let error = store.put_finding(&large, Progress::default()).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    assert_eq!(Contents::of(&store, 12), before);

    store.record(&evaluation(11)).unwrap();
    store.decide(&decision).unwrap();
    drop(store);
    let (store, _) = Store::open(&path).unwrap();
    assert_eq!(store.findings().unwrap().iter().find(|one| one.id == finding(11).id), Some(&finding(11)));
}

/// A test is remembered after its execution was dropped, in a corpus that is opened or written anew, until another one takes its place.
#[test]
fn tests_of_dropped_executions_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let mut store = Store::create(&path).unwrap();
    let last = REMEMBERED + 3;
    for number in 1..=last {
        store.remember(number, &evaluation(number).config).unwrap();
        write(&store, number).unwrap();
    }
    for _ in 0..2 {
        for number in 1..=last + 1 {
            let expected = (4..=last).contains(&number).then(|| evaluation(number).config);
            assert_eq!(store.remembered(number).unwrap(), expected, "{number}");
            assert_eq!(store.evaluation(number).unwrap().is_some(), number <= last && is_kept(number));
        }
        drop(store);
        store = Store::open(&path).unwrap().0;
    }
    drop(store);
    let anew = folder.path().join("anew");
    Archive::read(&path).unwrap().restore(&anew).unwrap();
    let (store, _) = Store::open(&anew).unwrap();
    assert_eq!(store.remembered(last).unwrap(), Some(evaluation(last).config));
}

/// Records that are larger than a piece of sled's log.
#[test]
fn large_records_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let store = Store::create(&path).unwrap();
    let mut large = finding(1);
    for n in 1..6 {
        large.signature = format!("large {n}");
        large.evidence = "evidence ".repeat(n << 16);
        store.put_finding(&large, Progress::default()).unwrap();
    }
    store.flush().unwrap();
    let killed = folder.path().join("killed");
    copy(&path, &killed);
    let findings = store.findings().unwrap();
    assert_eq!(findings.len(), 5);
    assert_eq!(findings[4], large);
    drop(store);
    for path in [&path, &killed] {
        assert_eq!(Store::open(path).unwrap().0.findings().unwrap(), findings);
    }
}

fn reseal(path: &Path, from: &str, to: &str) {
    let seal = path.join("db/seal");
    let text = fs::read_to_string(&seal).unwrap();
    assert!(text.contains(from));
    fs::write(&seal, text.replace(from, to)).unwrap();
}

/// The schema that a seal says.
fn schema(path: &Path) -> u8 {
    let text = fs::read_to_string(path.join("db/seal")).unwrap();
    text.lines().find_map(|line| line.strip_prefix("schema ")).unwrap().parse().unwrap()
}

#[test]
fn another_schema_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    drop(Store::create(&path).unwrap());
    let own = schema(&path);
    reseal(&path, &format!("schema {own}"), "schema 99");
    let before = fs::read(path.join("db/db")).unwrap();
    for error in [Store::open(&path).unwrap_err(), Archive::read(&path).unwrap_err()] {
        let message = error.to_string();
        let expected = format!("schema 99, this program reads schema {own}; use the version");
        assert!(message.contains(&expected), "{message}");
    }
    // Its records say so too, if nothing else does.
    fs::remove_file(path.join("db/seal")).unwrap();
    let mut bytes = before.clone();
    let magic = [b"LuFzRec".as_slice(), &[own]].concat();
    let places = memchr::memmem::find_iter(&before, &magic).collect::<Vec<_>>();
    assert!(!places.is_empty());
    for place in places {
        bytes[place + magic.len() - 1] = 99;
    }
    fs::write(path.join("db/db"), &bytes).unwrap();
    let message = Store::open(&path).unwrap_err().to_string();
    assert!(message.contains(&format!("schema 99, this program reads schema {own}")), "{message}");
    assert_eq!(fs::read(path.join("db/db")).unwrap(), bytes);
}

/// A corpus is read while another process writes it, and its readers disturb neither it nor each other.
#[test]
fn a_running_corpus_is_read_as_it_is_at_a_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let store = Store::create(&path).unwrap();
    // Readers of an empty corpus may have ended before its writer comes to write at all.
    fill(&store, 1..=16);
    store.flush().unwrap();
    let read = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut executions = 16;
            while !read.load(Ordering::Relaxed) && executions < 100_000 {
                fill(&store, executions + 1..=executions + 16);
                executions += 16;
                store.flush().unwrap();
            }
            executions
        });
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut before = 0;
                    for _ in 0..20 {
                        let archive = Archive::read(folder.path()).unwrap();
                        assert_eq!(
                            (archive.condition(), archive.lost()),
                            (Condition::Running, Lost::default())
                        );
                        let executions = archive.progress().executions;
                        assert!(executions >= before, "{executions} after {before}");
                        before = executions;
                        let kept: Vec<u64> = archive.kept().keys().copied().collect();
                        assert_eq!(
                            kept,
                            (1..=executions).filter(|number| is_kept(*number)).collect::<Vec<_>>()
                        );
                        for number in kept {
                            assert_eq!(archive.evaluation(number).unwrap(), Some(evaluation(number)));
                        }
                    }
                    before
                })
            })
            .collect();
        let seen: Vec<u64> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        read.store(true, Ordering::Relaxed);
        let written = writer.join().unwrap();
        assert!(seen.iter().all(|seen| (1..=written).contains(seen)), "{seen:?} of {written}");
    });
    drop(store);
    assert_eq!(Archive::read(&path).unwrap().condition(), Condition::Closed);
}

/// What is written into a file without a name is lost.
#[test]
fn a_database_that_is_deleted_or_replaced_is_an_error_at_once() {
    let ways: [fn(&Path); 3] = [
        |database| fs::remove_dir_all(database).unwrap(),
        |database| fs::remove_file(database.join("db")).unwrap(),
        |database| {
            let aside = database.with_extension("aside");
            fs::rename(database, &aside).unwrap();
            copy(&aside, database);
        },
    ];
    for delete in ways {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus");
        let store = Store::create(&path).unwrap();
        fill(&store, 1..=20);
        store.flush().unwrap();
        let database = path.join("db");
        delete(&database);
        let there = database.exists().then(|| fs::read_dir(&database).unwrap().count());
        for error in [store.record(&evaluation(21)).unwrap_err(), store.flush().unwrap_err()] {
            let message = error.to_string();
            assert!(message.contains("was deleted or replaced while it was in use"), "{message}");
        }
        drop(store);
        let left = database.exists().then(|| fs::read_dir(&database).unwrap().count());
        assert_eq!(left, there, "nothing is made in its place");
    }
}

/// Of tests that come and go the files keep no trace.
#[test]
fn a_corpus_that_is_distilled_does_not_grow() {
    const EACH: u64 = 2_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let store = Store::create(&path).unwrap();
    let check = |path: &Path, rounds: u64| {
        let (store, repaired) = Store::open(path).unwrap();
        assert_eq!(store.kept().count(), 100, "{}: {repaired:?}", path.display());
        assert_eq!(u64::from(store.distilled().unwrap().unwrap().memory[0]) + 1, rounds);
        assert_eq!(store.progress().unwrap().executions, rounds * EACH);
    };
    let mut sizes = Vec::new();
    for round in 0..12 {
        // Tests are removed one by one from a small database, and a large one is written anew without them.
        let bytes = if round % 2 == 0 { 1_000 } else { 8_000 };
        for number in round * EACH + 1..=(round + 1) * EACH {
            keep(&store, &large(number, bytes));
        }
        let before = (round + 1) * EACH + 1;
        let stay: Vec<u64> = (1..before).rev().take(100).collect::<Vec<_>>().into_iter().rev().collect();
        let distilled = Distilled { before, stay: stay.clone(), memory: vec![round as u8; 100_000] };
        store.distil(&distilled, || {}).unwrap();
        assert_eq!(store.kept().map(|kept| kept.unwrap().0).collect::<Vec<_>>(), stay);
        assert_eq!(store.evaluation(stay[0]).unwrap(), Some(large(stay[0], bytes)));
        sizes.push(store.size_on_disk().unwrap());
        if round % 3 == 2 {
            store.flush().unwrap();
            let killed = folder.path().join(format!("killed-{round}"));
            copy(&path, &killed);
            check(&killed, round + 1);
        }
    }
    assert!(sizes.iter().step_by(2).all(|size| *size < 40 << 20), "{sizes:?}");
    assert!(sizes.iter().skip(1).step_by(2).all(|size| *size < 6 << 20), "{sizes:?}");
    drop(store);
    check(&path, 12);
}

/// A database that has grown is written anew, and has the same contents.
#[test]
fn a_database_that_has_grown_is_written_anew() {
    const EACH: u64 = 500;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let store = Store::create(&path).unwrap();
    // Sizes are of all files: the log has nearly all of it.
    const OTHERS: u64 = 1 << 20;
    let (mut times, mut worth) = (0, 16 << 20);
    for round in 1..=8 {
        for number in (round - 1) * EACH + 1..=round * EACH {
            keep(&store, &large(number, 10_000));
        }
        let size = store.size_on_disk().unwrap();
        if store.compact(|| {}).unwrap() {
            assert!(size >= worth, "{size}, round {round}");
            (times, worth) = (times + 1, 4 * (store.size_on_disk().unwrap() - OTHERS));
        } else {
            assert!(size < worth + OTHERS, "{size}, round {round}");
        }
        assert_eq!(store.kept().count() as u64, round * EACH);
        assert_eq!(store.evaluation(round * EACH).unwrap(), Some(large(round * EACH, 10_000)));
    }
    assert_eq!(times, 1);
    drop(store);
    let (store, repaired) = Store::open(&path).unwrap();
    assert_eq!((store.kept().count() as u64, repaired), (8 * EACH, Vec::new()));
}

/// An evaluation with so many bytes more.
fn large(number: u64, bytes: usize) -> Evaluation {
    let mut evaluation = evaluation(number);
    evaluation.lineage.operators = vec!["x".repeat(bytes)];
    evaluation
}

/// Records an evaluation, and keeps it.
fn keep(store: &Store, evaluation: &Evaluation) {
    store.record(evaluation).unwrap();
    let progress = Progress { executions: evaluation.number, ..Progress::default() };
    let decision = Decision {
        number: evaluation.number,
        kept: Some(0.5),
        new_references: &[],
        findings: &[],
        situations: &[],
        losses: None,
        progress,
    };
    store.decide(&decision).unwrap();
}

/// The archive of a whole corpus has the same contents as the store; reading it changes nothing.
#[test]
fn an_archive_is_the_store_on_paper() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let store = Store::create(&path).unwrap();
    fill(&store, 1..=50);
    store.record(&evaluation(51)).unwrap();
    store.record(&evaluation(52)).unwrap();
    let contents = Contents::of(&store, 60);
    store.flush().unwrap();
    let killed = folder.path().join("killed");
    copy(&path, &killed);
    drop(store);
    for (path, condition) in [(&path, Condition::Closed), (&killed, Condition::Interrupted)] {
        for _ in 0..2 {
            let archive = Archive::read(path).unwrap();
            assert_eq!((archive.condition(), archive.lost()), (condition, Lost::default()));
            assert_eq!((archive.progress(), archive.kept()), (contents.progress, &contents.kept));
            assert_eq!(archive.references(), contents.references.len() as u64);
            assert_eq!(archive.undecided().collect::<Vec<_>>(), [51, 52]);
            assert_eq!(archive.findings().unwrap(), contents.findings.values().cloned().collect::<Vec<_>>());
            for number in 1..60 {
                assert_eq!(archive.evaluation(number).unwrap().as_ref(), contents.evaluations.get(&number));
            }
        }
    }
}
