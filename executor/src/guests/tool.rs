//! Running the programs that the testbed rests on.

use std::io;
use std::process::{Command, Output};

use super::VmError;

/// A program, the Debian package that has it, and its purpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tool {
    pub(super) program: &'static str,
    pub(super) package: &'static str,
}

pub(super) const APT_GET: Tool = Tool { program: "apt-get", package: "apt" };
pub(super) const APT_CACHE: Tool = Tool { program: "apt-cache", package: "apt" };
pub(super) const DPKG_DEB: Tool = Tool { program: "dpkg-deb", package: "dpkg" };
pub(super) const LDD: Tool = Tool { program: "ldd", package: "libc-bin" };
pub(super) const STRIP: Tool = Tool { program: "strip", package: "binutils" };
pub(super) const SETPRIV: Tool = Tool { program: "setpriv", package: "util-linux" };
pub(super) const QEMU: Tool = Tool { program: "qemu-system-x86_64", package: "qemu-system-x86" };

/// Lines of a failed program's words that a message repeats.
const SAID_LINES: usize = 8;

impl Tool {
    /// The command, with messages in English, as they are read.
    pub(super) fn command(self) -> Command {
        let mut command = Command::new(self.program);
        command.env("LC_ALL", "C");
        command
    }

    /// Runs the command to its end; returns its stdout.
    pub(super) fn run(self, doing: &str, command: &mut Command) -> Result<String, VmError> {
        let output = command.output().map_err(|error| self.not_started(doing, &error))?;
        self.succeeded(doing, &output)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Error of a program that could not be started.
    pub(super) fn not_started(self, doing: &str, error: &io::Error) -> VmError {
        if error.kind() == io::ErrorKind::NotFound {
            return VmError::Missing { program: self.program, package: self.package };
        }
        VmError::Tool { doing: doing.into(), program: self.program.into(), said: error.to_string() }
    }

    /// Checks that it ended well.
    pub(super) fn succeeded(self, doing: &str, output: &Output) -> Result<(), VmError> {
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = last_lines(&stderr, SAID_LINES);
        let said = if said.is_empty() { output.status.to_string() } else { said };
        Err(VmError::Tool { doing: doing.into(), program: self.program.into(), said })
    }
}

/// The last lines of a text that are not empty.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
