//! Journals of settings: former values of the files that a test changes, so that they can be put back after a crash of the agent.
//!
//! A journal is a file in a folder of the agent's. It is made before the first value changes, has each former value before that value
//! changes, and goes when all are put back. It is locked while its agent lives: one that is not is a dead agent's.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process;

use nix::libc;
use nix::unistd::geteuid;

use super::families::{FAMILIES, Place};
use super::roots::{Root, Roots};
use super::value;

/// First line of a journal.
const HEADER: &str = "lumina-agent settings 1";

/// Beginning of a journal's name; the agent's process and a number follow.
const NAME: &str = "settings-";

/// Journals of one agent that can lie in the folder: each is of a test whose settings could not be put back.
const MAX_JOURNALS: usize = 64;

/// Values that a journal notes: a test sets two switches for each of eight priorities, and two other files.
const MAX_ENTRIES: usize = 32;

/// Bytes of a journal: its values, each with a path of at most three names.
const MAX_BYTES: u64 = 1 << 14;

/// Nobody else may enter the agent's folder or read what is in it.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Permission bits of a folder or file that others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A setting and its former value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    place: &'static Place,
    /// Below the root of the place.
    path: String,
    value: u32,
}

impl Entry {
    pub(super) const fn new(place: &'static Place, path: String, value: u32) -> Self {
        Self { place, path, value }
    }

    /// The file of the setting.
    fn file(&self, roots: &Roots) -> PathBuf {
        roots.of(self.place.root).join(&self.path)
    }

    /// Has the setting take the value; true if it has, false if it is no longer there.
    ///
    /// # Errors
    /// A message that names the file.
    pub(super) fn put_back(&self, roots: &Roots) -> Result<bool, String> {
        let file = self.file(roots);
        if !file.exists() {
            return Ok(false);
        }
        set(self.place, &file, self.value).map(|()| true)
    }

    fn line(&self) -> String {
        format!("{} {} {}\n", self.place.root.name(), self.path, self.value)
    }

    /// Reads a line, if it names a file that the tables of families have.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (root, path, value) = (words.next()?, words.next()?, words.next()?);
        let root = Root::ALL.into_iter().find(|known| known.name() == root)?;
        let value: u32 = value.parse().ok()?;
        let mut places = FAMILIES.iter().flat_map(|family| family.settings).flat_map(|one| one.places);
        let place = places.find(|place| place.root == root && place.has(path))?;
        let entry = Self { place, path: path.to_owned(), value };
        // No second way to write it.
        (words.next().is_none() && entry.line().trim_end() == line).then_some(entry)
    }
}

/// Writes a setting, and looks whether the driver has taken it.
///
/// # Errors
/// A message that names the file.
pub(super) fn set(place: &Place, file: &Path, number: u32) -> Result<(), String> {
    value::write(file, &place.radix.written(number)).map_err(|error| value::of(file, error))?;
    if let Some(apply) = place.apply {
        let apply = file.with_file_name(apply);
        value::write(&apply, &place.radix.written(1)).map_err(|error| value::of(&apply, error))?;
    }
    let kept = value::number(file)?;
    if kept != u64::from(number) {
        return Err(value::of(file, format!("the driver has {kept} instead of {number}")));
    }
    Ok(())
}

/// The journal of a test that runs.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Makes a journal in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// The folder cannot be made or written, or others may write it.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
        // Recovery takes no journal for a dead agent's that is not locked yet.
        let locked = lock_folder(folder)?;
        for number in 0..MAX_JOURNALS {
            let path = folder.join(format!("{NAME}{}-{number}", process::id()));
            let mut options = OpenOptions::new();
            let opened = options.write(true).create_new(true).mode(FILE_MODE).open(&path);
            let mut file = match opened {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            file.lock()?;
            file.write_all(format!("{HEADER}\n").as_bytes())?;
            file.sync_all()?;
            locked.sync_all()?;
            return Ok(Self { file, path });
        }
        Err(io::Error::other("too many journals of settings that could not be put back"))
    }

    /// Notes a former value; when this returns, it is on the disk.
    ///
    /// # Errors
    /// The file system fails.
    pub(super) fn note(&mut self, entry: &Entry) -> io::Result<()> {
        self.file.write_all(entry.line().as_bytes())?;
        self.file.sync_all()
    }

    /// Removes it: everything is put back.
    pub(super) fn remove(self) {
        // One that stays has the values that are there.
        let _ = fs::remove_file(&self.path);
    }
}

/// Opens and locks the folder of journals.
fn lock_folder(folder: &Path) -> io::Result<File> {
    let opened =
        OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(folder)?;
    check_owner(&opened)?;
    opened.lock()?;
    Ok(opened)
}

/// Fails if others may have written it.
fn check_owner(file: &File) -> io::Result<()> {
    let data = file.metadata()?;
    if data.uid() != geteuid().as_raw() || data.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(io::Error::other("others than the agent's user may write it"));
    }
    Ok(())
}

/// Puts back what the journals of dead agents note; a line for each value and for each journal that is not obeyed. While
/// another agent's test has settings of its own, nothing is put back.
pub(super) fn recover(folder: &Path, roots: &Roots) -> Vec<String> {
    let _locked = match lock_folder(folder) {
        Ok(locked) => locked,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![value::of(folder, error)],
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_journal = |name: &str| name.starts_with(NAME);
    let mut paths: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_journal))
        .map(|entry| entry.path())
        .collect();
    paths.sort_unstable();
    let (mut notes, mut dead, mut living) = (Vec::new(), Vec::new(), false);
    for path in paths {
        let opened =
            OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
        match opened.map(|file| (file.try_lock(), file)) {
            Ok((Ok(()), file)) => dead.push((path, file)),
            Ok((Err(TryLockError::WouldBlock), _)) => living = true,
            Ok((Err(TryLockError::Error(error)), _)) | Err(error) => notes.push(not_obeyed(&path, error)),
        }
    }
    if living && !dead.is_empty() {
        notes.push(
            "settings of an agent that died are put back when the test that is running has ended".to_owned(),
        );
        return notes;
    }
    for (path, file) in dead {
        match read(&file) {
            Ok(entries) => notes.extend(obey(&path, &entries, roots)),
            Err(reason) => notes.push(not_obeyed(&path, reason)),
        }
    }
    notes
}

fn not_obeyed(path: &Path, reason: impl std::fmt::Display) -> String {
    value::of(path, format!("no journal of settings ({reason}): it is not obeyed; look at it, and remove it"))
}

/// Puts back the values of a journal, the last one first; the journal stays if one of them cannot be put back.
fn obey(journal: &Path, entries: &[Entry], roots: &Roots) -> Vec<String> {
    let mut notes = Vec::new();
    let mut all = true;
    for entry in entries.iter().rev() {
        let file = entry.file(roots);
        match entry.put_back(roots) {
            Ok(true) => {
                let what = format!("{} again, as it was before a test whose agent died", entry.value);
                notes.push(value::of(&file, what));
            }
            Ok(false) => notes.push(value::of(&file, "gone, so that its former value cannot be put back")),
            Err(reason) => {
                all = false;
                notes.push(format!("the former value {} could not be put back: {reason}", entry.value));
            }
        }
    }
    if all && let Err(error) = fs::remove_file(journal) {
        notes.push(value::of(journal, error));
    }
    notes
}

/// The values that a journal notes.
fn read(file: &File) -> Result<Vec<Entry>, String> {
    let text = |error: io::Error| error.to_string();
    check_owner(file).map_err(text)?;
    if !file.metadata().map_err(text)?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(text)?;
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("more than {MAX_BYTES} bytes"));
    }
    let text = str::from_utf8(bytes).map_err(|_| "not UTF-8")?;
    // A line without its end was being written when the agent died, before its value changed.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.split('\n');
    match lines.next() {
        Some("") if HEADER.starts_with(text) => return Ok(Vec::new()),
        Some(HEADER) => {}
        _ => return Err(format!("the first line is not {HEADER:?}")),
    }
    let entries: Vec<_> = (2..)
        .zip(lines)
        .map(|(number, line)| {
            Entry::parse(line).ok_or_else(|| format!("line {number} is no setting of a NIC"))
        })
        .collect::<Result<_, _>>()?;
    if entries.len() > MAX_ENTRIES {
        return Err(format!("more than {MAX_ENTRIES} values"));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    const INTERVAL: &str = "mlx5/0000:04:00.0/cc_params/np_min_time_between_cnps";

    /// A folder of journals beside a debugfs with one setting.
    struct Crashed {
        folder: TempDir,
        roots: Roots,
    }

    impl Crashed {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let below = |name: &str| folder.path().join(name);
            let roots = Roots { sys: below("sys"), debug: below("debug"), config: below("config") };
            fs::create_dir_all(roots.debug.join(INTERVAL).parent().unwrap()).unwrap();
            fs::write(roots.debug.join(INTERVAL), "50\n").unwrap();
            Self { folder, roots }
        }

        fn journals(&self) -> PathBuf {
            self.folder.path().join("lib/lumina-agent")
        }

        fn interval(&self) -> String {
            fs::read_to_string(self.roots.debug.join(INTERVAL)).unwrap()
        }

        /// Makes a journal of this text as a dead agent leaves it.
        fn leave(&self, text: &[u8]) -> PathBuf {
            let journal = Journal::create(&self.journals()).unwrap();
            fs::write(&journal.path, text).unwrap();
            journal.path
        }

        fn recover(&self) -> Vec<String> {
            recover(&self.journals(), &self.roots)
        }
    }

    fn entry(line: &str) -> Entry {
        Entry::parse(line).unwrap()
    }

    fn journal_of(lines: &[&str]) -> Vec<u8> {
        [&[HEADER], lines].concat().iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
    }

    #[test]
    fn what_a_dead_agent_changed_is_put_back_and_told() {
        let crashed = Crashed::new();
        assert_eq!(crashed.recover(), Vec::<String>::new(), "no folder is no error");
        let mut journal = Journal::create(&crashed.journals()).unwrap();
        journal.note(&entry(&format!("debug {INTERVAL} 4"))).unwrap();
        journal.note(&entry(&format!("debug {INTERVAL} 9"))).unwrap();
        journal.note(&entry("sys class/net/eth0/ecn/roce_np/enable/3 1")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&crashed.journals()), mode(&journal.path)), (FOLDER_MODE, FILE_MODE));
        assert_eq!(crashed.recover(), Vec::<String>::new(), "its agent lives");
        assert_eq!(crashed.interval(), "50\n");

        let path = journal.path.clone();
        drop(journal);
        let notes = crashed.recover();
        assert_eq!(notes.len(), 3);
        assert!(
            notes[0].ends_with("enable/3: gone, so that its former value cannot be put back"),
            "{notes:?}"
        );
        assert!(notes[2].contains(INTERVAL) && notes[2].contains(": 4 again"), "{notes:?}");
        assert_eq!(crashed.interval(), "4", "the first value that was noted");
        assert!(!path.exists());
        assert_eq!(crashed.recover(), Vec::<String>::new());
    }

    #[test]
    fn nothing_is_put_back_below_a_test_that_runs() {
        let crashed = Crashed::new();
        crashed.leave(&journal_of(&[&format!("debug {INTERVAL} 4")]));
        let living = Journal::create(&crashed.journals()).unwrap();
        assert!(crashed.recover()[0].contains("when the test that is running has ended"));
        assert_eq!(crashed.interval(), "50\n");
        living.remove();
        assert_eq!(crashed.recover().len(), 1);
        assert_eq!(crashed.interval(), "4");
    }

    #[test]
    fn a_value_that_cannot_be_put_back_is_kept_and_told_again() {
        let crashed = Crashed::new();
        let path = crashed.leave(&journal_of(&[&format!("debug {INTERVAL} 4")]));
        fs::remove_file(crashed.roots.debug.join(INTERVAL)).unwrap();
        fs::create_dir(crashed.roots.debug.join(INTERVAL)).unwrap();
        for _ in 0..2 {
            let notes = crashed.recover();
            assert!(
                notes[0].contains("the former value 4 could not be put back") && notes[0].contains(INTERVAL)
            );
            assert!(path.exists());
        }
    }

    #[test]
    fn a_malformed_journal_is_told_and_not_obeyed() {
        let good = format!("debug {INTERVAL} 4");
        let long = "x".repeat(MAX_BYTES as usize);
        let many = vec![&good[..]; MAX_ENTRIES + 1];
        for (bytes, reason) in [
            (b"\xff\xfe".to_vec(), "not UTF-8"),
            (b"some other file\n".to_vec(), "the first line"),
            (b"some other file".to_vec(), "the first line"),
            (journal_of(&[&long]), "more than 16384 bytes"),
            (journal_of(&many), "more than 32 values"),
            (journal_of(&[&good, "debug"]), "line 3"),
            (journal_of(&[&good, ""]), "line 3"),
            (journal_of(&[&good, "debug /etc/passwd 4"]), "line 3"),
            (journal_of(&[&good, "sys class/net/../../etc/passwd 4"]), "line 3"),
            (journal_of(&[&good, "sys class/net/../ecn/roce_np/enable/3 1"]), "line 3"),
            (journal_of(&[&good, "proc sys/vm/overcommit_memory 1"]), "line 3"),
            (journal_of(&[&good, &format!("sys {INTERVAL} 4")]), "line 3"),
            (journal_of(&[&format!("debug {INTERVAL} 4294967296")]), "line 2"),
            (journal_of(&[&format!("debug {INTERVAL} -1")]), "line 2"),
            (journal_of(&[&format!("debug {INTERVAL} +4")]), "line 2"),
            (journal_of(&[&format!("debug {INTERVAL} 4 4")]), "line 2"),
            (journal_of(&[&format!("debug  {INTERVAL} 4")]), "line 2"),
            (journal_of(&[&format!("debug {INTERVAL} 4\r")]), "line 2"),
        ] {
            let crashed = Crashed::new();
            let path = crashed.leave(&bytes);
            let notes = crashed.recover();
            assert!(notes.len() == 1 && notes[0].contains(reason), "{notes:?} instead of {reason}");
            assert!(notes[0].starts_with(&path.display().to_string()));
            assert_eq!(crashed.interval(), "50\n");
            assert!(path.exists());
        }
    }

    #[test]
    fn a_line_that_was_being_written_has_changed_nothing() {
        let crashed = Crashed::new();
        for text in ["", "lumina-a", HEADER] {
            let path = crashed.leave(text.as_bytes());
            assert_eq!(crashed.recover(), Vec::<String>::new());
            assert!(!path.exists());
        }
        let torn = [journal_of(&[&format!("debug {INTERVAL} 4")]), b"sys class/net/eth".to_vec()].concat();
        crashed.leave(&torn);
        assert_eq!(crashed.recover().len(), 1);
        assert_eq!(crashed.interval(), "4");
    }

    #[test]
    fn what_others_may_write_is_not_obeyed() {
        let crashed = Crashed::new();
        let text = journal_of(&[&format!("debug {INTERVAL} 4")]);
        let path = crashed.leave(&text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(crashed.recover()[0].contains("may write it"));
        fs::remove_file(&path).unwrap();

        let elsewhere = crashed.folder.path().join("elsewhere");
        fs::write(&elsewhere, &text).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(crashed.recover()[0].contains("not obeyed"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(crashed.recover()[0].contains("no file"));

        fs::set_permissions(crashed.journals(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(crashed.recover()[0].contains("may write it"));
        assert!(Journal::create(&crashed.journals()).is_err());
        assert_eq!(crashed.interval(), "50\n");
    }

    proptest! {
        #[test]
        fn no_journal_makes_it_panic_or_leave_its_roots(bytes in prop::collection::vec(any::<u8>(), 0..200), line in "(sys|debug|config) [a-z0-9_/.{}]{0,80} [0-9]{0,12}") {
            for text in [bytes, journal_of(&[&line])] {
                for entry in parse(&text).unwrap_or_default() {
                    prop_assert!(entry.path.split('/').all(|part| !part.is_empty() && part != ".."));
                }
            }
        }
    }
}
