//! A corpus on a disk that is full: a small tmpfs in a user and mount namespace of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test says no")]

mod contents;
mod samples;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use corpus::store::{Store, free_space};

use crate::contents::Contents;
use crate::samples::{evaluation, fill, write};

/// Says in the child where its small disk is.
const DISK: &str = "LUMINA_FUZZ_TEST_DISK";
const DISK_SIZE: u64 = 24 << 20;
/// Space that is freed when the disk is full.
const BALLAST: usize = 12 << 20;

/// Runs the test of this name again, on a disk of [`DISK_SIZE`]. Whatever it says on stderr is an error: a
/// thread of sled that panics does not fail a test.
fn on_a_small_disk(test: &str) -> bool {
    if std::env::var_os(DISK).is_some() {
        return true;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .arg(format!("mount -t tmpfs -o size={DISK_SIZE} tmpfs \"$0\" && exec \"$@\""))
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(DISK, folder.path())
        .output()
        .expect("`unshare` is there");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.is_empty(), "{said}{}", String::from_utf8_lossy(&out.stdout));
    false
}

/// The corpus, the file beside it that can be given back, and how to do so.
fn disk() -> (PathBuf, impl Fn()) {
    let disk = PathBuf::from(std::env::var_os(DISK).unwrap());
    let ballast = disk.join("ballast");
    if !ballast.exists() {
        fs::write(&ballast, vec![1; BALLAST]).unwrap();
    }
    (disk.join("corpus"), move || fs::remove_file(&ballast).unwrap())
}

/// Writes until the disk is full; how many executions are decided then.
fn fill_up(store: &Store) -> u64 {
    let error =
        (store.progress().unwrap().executions + 1..).find_map(|number| write(store, number).err()).unwrap();
    assert!(error.is_full() && error.to_string().contains("no space left"), "{error}");
    let decided = store.progress().unwrap().executions;
    assert!(decided > 500, "{decided}");
    decided
}

#[test]
fn a_full_disk_is_said_and_there_is_a_way_on() {
    if !on_a_small_disk("a_full_disk_is_said_and_there_is_a_way_on") {
        return;
    }
    let (path, give_back) = disk();
    assert!(free_space(path.parent().unwrap()).unwrap() <= DISK_SIZE - BALLAST as u64);
    let store = Store::create(&path).unwrap();
    let decided = fill_up(&store);
    assert!(free_space(&path).unwrap() < 5 << 20, "it was full");
    // Everything that does not write goes on.
    assert_eq!(Contents::of(&store, decided), Contents::uninterrupted(decided));
    store.checkpoint().unwrap();
    assert!(store.record(&evaluation(decided + 1)).unwrap_err().is_full());
    give_back();
    fill(&store, decided + 1..=decided + 100);
    assert_eq!(Contents::of(&store, decided + 100), Contents::uninterrupted(decided + 100));
}

#[test]
fn what_was_closed_on_a_full_disk_opens_when_there_is_room() {
    if !on_a_small_disk("what_was_closed_on_a_full_disk_opens_when_there_is_room") {
        return;
    }
    let (path, give_back) = disk();
    let store = Store::create(&path).unwrap();
    let decided = fill_up(&store);
    drop(store);
    fill_the_rest(&path);
    assert!(Store::open(&path).unwrap_err().is_full());
    give_back();
    let (store, notes) = Store::open(&path).unwrap();
    assert_eq!((Contents::of(&store, decided), notes), (Contents::uninterrupted(decided), Vec::new()));
}

/// Where there is no room for another database, the old one stays, and is the same.
#[test]
fn a_database_for_whose_copy_there_is_no_room_stays() {
    if !on_a_small_disk("a_database_for_whose_copy_there_is_no_room_stays") {
        return;
    }
    static CLOSED: AtomicBool = AtomicBool::new(false);
    let (path, give_back) = disk();
    give_back();
    let store = Store::create(&path).unwrap();
    let mut decided = 0;
    while store.size_on_disk().unwrap() < 17 << 20 {
        decided += 1;
        write(&store, decided).unwrap();
    }
    assert!(!store.compact(|| CLOSED.store(true, Ordering::Relaxed)).unwrap());
    assert!(CLOSED.load(Ordering::Relaxed), "there is room to begin with it");
    assert_eq!(Contents::of(&store, decided), Contents::uninterrupted(decided));
    // It goes on until the disk is full.
    let decided = fill_up(&store);
    assert_eq!(Contents::of(&store, decided), Contents::uninterrupted(decided));
    assert!(store.record(&evaluation(decided + 1)).unwrap_err().is_full());
    drop(store);
    assert!(!path.join("db.new").exists() && path.join("db").exists());
}

/// The child of the test below, if it has a disk: its process ends where it is.
#[test]
fn dies_on_a_full_disk() {
    if std::env::var_os(DISK).is_none() {
        return;
    }
    let (path, _) = disk();
    let store = Store::create(&path).unwrap();
    let decided = fill_up(&store);
    store.flush().unwrap();
    fs::write(path.parent().unwrap().join("decided"), decided.to_string()).unwrap();
    std::process::exit(0);
}

#[test]
fn a_process_that_dies_on_a_full_disk_loses_nothing() {
    if !on_a_small_disk("a_process_that_dies_on_a_full_disk_loses_nothing") {
        return;
    }
    let (path, give_back) = disk();
    let me = std::env::current_exe().unwrap();
    assert!(Command::new(me).args(["--exact", "dies_on_a_full_disk"]).status().unwrap().success());
    let decided = fs::read_to_string(path.parent().unwrap().join("decided")).unwrap().parse().unwrap();
    fill_the_rest(&path);
    for _ in 0..2 {
        assert!(Store::open(&path).unwrap_err().is_full());
    }
    give_back();
    let (store, notes) = Store::open(&path).unwrap();
    assert!(notes[0].contains("all that it had saved is there"), "{notes:?}");
    assert_eq!(Contents::of(&store, decided), Contents::uninterrupted(decided));
}

/// Leaves nothing free.
fn fill_the_rest(path: &Path) {
    let rest = vec![1; free_space(path).unwrap() as usize];
    let _ = fs::write(path.parent().unwrap().join("rest"), rest);
}
