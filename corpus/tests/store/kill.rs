//! A process that writes, killed at any moment.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use corpus::store::Store;

use crate::contents::Contents;
use crate::samples::{fill, is_kept};

/// Tells the child its folder.
const FOLDER: &str = "LUMINA_FUZZ_TEST_CORPUS";
/// Executions between two flushes.
const BATCH: u64 = 16;

/// The child: goes on with a corpus until it is killed, and says after each flush how far it is.
#[test]
#[ignore = "it is started, and killed, by the test below"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let path = Path::new(&folder);
    let store = if path.exists() { Store::open(path).unwrap().0 } else { Store::create(path).unwrap() };
    let mut out = std::io::stderr();
    let mut done = store.progress().unwrap().executions;
    loop {
        fill(&store, done + 1..=done + BATCH);
        store.flush().unwrap();
        done += BATCH;
        // In one piece.
        out.write_all(format!("flushed {done}\n").as_bytes()).unwrap();
    }
}

#[test]
fn nothing_that_was_flushed_is_lost_when_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus");
    let mut flushed = 0;
    for round in 0..20_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child", "--ignored", "--nocapture"])
            .env(FOLDER, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        // It has begun; from here on any moment is as good as another.
        let mut last = said.next().unwrap();
        std::thread::sleep(Duration::from_micros(round * 7919 % 60_000));
        child.kill().unwrap();
        child.wait().unwrap();
        last = said.last().unwrap_or(last);
        let number = last.strip_prefix("flushed ").unwrap_or_else(|| panic!("the child says {last}"));
        assert!(number.parse::<u64>().unwrap() > flushed, "it goes on where it was");
        flushed = number.parse().unwrap();

        let (store, notes) = Store::open(&path).unwrap();
        assert!(notes.iter().all(|note| note.contains("all that it had saved is there")), "{notes:?}");
        let executions = store.progress().unwrap().executions;
        assert!(executions >= flushed, "{executions} of {flushed}");
        let left = Contents::of(&store, executions);
        assert_eq!(left, Contents::uninterrupted(executions));
        assert!((1..=executions).all(|number| left.kept.contains_key(&number) == is_kept(number)));
    }
}
