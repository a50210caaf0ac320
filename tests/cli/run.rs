//! Running the built binary.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Result of a run of the program.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// Runs `lumina-fuzz` in the folder of test data, so that paths in messages are short and the same everywhere.
pub(crate) fn lumina_fuzz<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    ran(command().args(args))
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.output().expect("the binary was built for this test");
    Ran {
        code: output.status.code().expect("it was not killed"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The command without its arguments.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lumina-fuzz"));
    command.current_dir(data()).stdin(Stdio::null()).env("NO_COLOR", "1");
    command
}

/// The folder of test data.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data")
}

/// A test that loses a packet.
pub(crate) const DROP: &str = "[traffic]\nnum-connections = 2\nnum-msgs-per-qp = 2\nmtu = 1024\nmessage-size = 4096\n\n\
                    [[event]]\nqpn = 2\npsn = 2\ntype = \"drop\"\n";

/// A folder with files in it.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Runs `lumina-fuzz` in a folder.
pub(crate) fn in_folder(folder: &Path, args: &[&str]) -> Ran {
    ran(command().current_dir(folder).args(args))
}
