//! Stores whose files were cut short, overwritten, emptied or removed.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use corpus::store::{Archive, Condition, Store, StoreError};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::contents::Contents;
use crate::samples::{copy, fill};

const EXECUTIONS: u64 = 300;
/// No opening of these small stores takes longer, however damaged they are.
const LIMIT: Duration = Duration::from_secs(20);

/// A corpus that was closed, one that was reopened (with a snapshot) and closed, and one whose process died, with what
/// they hold.
fn stores(folder: &Path) -> (Vec<PathBuf>, Contents) {
    let [closed, reopened, killed] = ["closed", "reopened", "killed"].map(|name| folder.join(name));
    let store = Store::create(&reopened).unwrap();
    fill(&store, 1..=EXECUTIONS / 2);
    drop(store);
    let (store, _) = Store::open(&reopened).unwrap();
    fill(&store, EXECUTIONS / 2 + 1..=EXECUTIONS);
    let contents = Contents::of(&store, EXECUTIONS);
    store.flush().unwrap();
    copy(&reopened, &killed);
    drop(store);
    let store = Store::create(&closed).unwrap();
    fill(&store, 1..=EXECUTIONS);
    assert_eq!(Contents::of(&store, EXECUTIONS), contents);
    drop(store);
    (vec![closed, reopened, killed], contents)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Opens a damaged store. Its contents are part of the former contents, unchanged; returns the number of kept
/// tests.
fn open(path: &Path, whole: &Contents, what: &str) -> Option<u64> {
    let began = Instant::now();
    let archive = Archive::read(path)
        .map(|archive| (archive.kept().clone(), archive.lost(), archive.condition(), archive.is_whole()));
    let opened = Store::open(path);
    assert!(began.elapsed() < LIMIT, "{what}: {:?}", began.elapsed());
    let (store, notes) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            assert!(
                matches!(error, StoreError::Unreadable { .. } | StoreError::Schema { .. }),
                "{what}: {error}"
            );
            assert!(error.to_string().contains(&path.display().to_string()), "{what}: {error}");
            assert_eq!(archive.unwrap_err().to_string(), error.to_string(), "{what}");
            return None;
        }
    };
    let (kept, lost, condition, is_whole) = archive.unwrap();
    let left = Contents::of(&store, EXECUTIONS);
    assert_eq!(kept, left.kept, "{what}");
    for (number, score) in &left.kept {
        assert_eq!(whole.kept.get(number), Some(score), "{what}");
        assert_eq!(left.evaluations.get(number), whole.evaluations.get(number), "{what}");
    }
    assert!(left.progress.executions <= EXECUTIONS, "{what}");
    assert!(left.kept.keys().all(|number| *number <= left.progress.executions), "{what}");
    for signature in left.findings.keys() {
        assert!(whole.findings.contains_key(signature), "{what}");
    }
    for (key, summary) in &left.references {
        assert_eq!(whole.references.get(key), Some(summary), "{what}");
    }
    if is_whole && condition == Condition::Closed {
        assert_eq!((&left, &notes[..]), (whole, &[][..]), "{what}");
    }
    if lost.state == 0 && left.progress == whole.progress {
        assert_eq!(lost.kept, (whole.kept.len() - left.kept.len()) as u64, "{what}");
        assert_eq!(lost.findings, (whole.findings.len() - left.findings.len()) as u64, "{what}");
    }
    // Damaged files are set aside, and the repaired corpus is whole and can be resumed.
    let damaged = path.join("db.damaged-1");
    assert_eq!(damaged.is_dir(), !is_whole, "{what}: {notes:?}");
    assert_eq!(notes.iter().any(|note| note.contains("db.damaged-1")), damaged.is_dir(), "{what}: {notes:?}");
    drop(store);
    let archive = Archive::read(path).unwrap();
    assert_eq!((archive.condition(), archive.is_whole()), (Condition::Closed, true), "{what}");
    drop(archive);
    let (store, notes) = Store::open(path).unwrap();
    assert_eq!((Contents::of(&store, EXECUTIONS), notes), (left.clone(), Vec::new()), "{what}");
    fill(&store, left.progress.executions + 1..=left.progress.executions + 20);
    Some(left.kept.len() as u64)
}

fn noise(random: &mut ChaCha8Rng, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random.fill_bytes(&mut bytes);
    bytes
}

fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    random.next_u64() % bound.max(1)
}

/// Damages one file, and says how.
fn damage(random: &mut ChaCha8Rng, file: &Path) -> String {
    let len = file.metadata().unwrap().len();
    let at = below(random, len);
    let open = || File::options().write(true).open(file).unwrap();
    let what = match below(random, 8) {
        0 => {
            open().set_len(at).unwrap();
            format!("cut to {at} of {len}")
        }
        1 => {
            // At the edges of pages and of sled's pieces of 512 KiB things are cut by real accidents.
            let edge = at / 4096 * 4096 + below(random, 2);
            open().set_len(edge.min(len)).unwrap();
            format!("cut to {edge} of {len}")
        }
        2 => {
            let bytes = [1, 16, 4096, 100_000][below(random, 4) as usize];
            open().write_all_at(&noise(random, bytes), at).unwrap();
            format!("{bytes} bytes of noise at {at} of {len}")
        }
        3 => {
            let pages = 1 + below(random, 32) as usize;
            open().write_all_at(&vec![0; pages * 4096], at / 4096 * 4096).unwrap();
            format!("{pages} pages of zeros at {at} of {len}")
        }
        4 => {
            for _ in 0..20 {
                let at = below(random, len);
                open().write_all_at(&noise(random, 1), at).unwrap();
            }
            format!("20 bytes of {len} changed")
        }
        5 => {
            fs::write(file, noise(random, len as usize)).unwrap();
            "nothing but noise".to_owned()
        }
        6 => {
            fs::write(file, "").unwrap();
            "emptied".to_owned()
        }
        _ => {
            fs::remove_file(file).unwrap();
            "removed".to_owned()
        }
    };
    format!("{}: {what}", file.display())
}

#[test]
fn a_damaged_store_never_panics_and_gives_back_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (stores, whole) = stores(folder.path());
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut read = Vec::new();
    for round in 0..120_usize {
        let path = folder.path().join(format!("damaged-{round}"));
        copy(&stores[round % stores.len()], &path);
        let files = files(&path.join("db"));
        // The log is what matters most.
        let file = if round % 2 == 0 {
            &path.join("db/db")
        } else {
            &files[below(&mut random, files.len() as u64) as usize]
        };
        let what = format!("round {round}, {}", damage(&mut random, file));
        read.push((open(&path, &whole, &what).unwrap_or(0), what));
        fs::remove_dir_all(&path).unwrap();
    }
    let all = whole.kept.len() as u64;
    let nothing = read.iter().filter(|(kept, _)| *kept == 0).count();
    let everything = read.iter().filter(|(kept, _)| *kept == all).count();
    let share = read.iter().map(|(kept, _)| *kept).sum::<u64>() as f64 / (all * read.len() as u64) as f64;
    println!("{everything} whole, {nothing} with nothing, {:.1} % of kept tests read", share * 100.0);
    assert!(everything > 30 && nothing < 40 && share > 0.5, "{read:#?}");
}

/// The trap of sled: a snapshot that was being written when the process died makes every later open fail.
#[test]
fn broken_snapshots_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let (stores, whole) = stores(folder.path());
    let [_, reopened, killed] = &stores[..] else { panic!("three stores") };
    let snapshot = |path: &Path| {
        let mut files = files(&path.join("db")).into_iter();
        files.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("snap.")).unwrap()
    };
    for (path, aside) in [(reopened, true), (killed, false)] {
        let file = snapshot(path);
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        fs::write(file.with_extension("FFFFFFFFFFFFFFFF.generating"), &bytes[..bytes.len() / 3]).unwrap();
        let (store, notes) = Store::open(path).unwrap();
        assert_eq!(Contents::of(&store, EXECUTIONS), whole);
        assert_eq!((notes.len(), path.join("db.damaged-1").is_dir()), (1, aside), "{notes:?}");
    }
}

/// A process that dies while it repairs a corpus leaves the old database, or the new one.
#[test]
fn mending_that_was_interrupted_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let (stores, whole) = stores(folder.path());
    let [closed, _, killed] = &stores[..] else { panic!("three stores") };
    // Half a new database beside the old one.
    copy(&killed.join("db"), &killed.join("db.new"));
    fs::write(killed.join("db.new/db"), "half").unwrap();
    assert_eq!(Contents::of(&Store::open(killed).unwrap().0, EXECUTIONS), whole);
    // The new one is complete, and the old one's place is free.
    fs::rename(closed.join("db"), closed.join("db.new")).unwrap();
    fs::create_dir(closed.join("db.old")).unwrap();
    assert_eq!(Archive::read(closed).unwrap().kept(), &whole.kept);
    let (store, notes) = Store::open(closed).unwrap();
    assert_eq!((Contents::of(&store, EXECUTIONS), notes), (whole, Vec::new()));
    assert!(!closed.join("db.old").exists() && !closed.join("db.new").exists());
}
