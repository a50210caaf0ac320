//! Running the programs that the testbed rests on.

use std::io;
use std::process::{Command, Output};

use super::GuestError;

/// A program, the Debian package that has it, and its purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
}

pub(crate) const APT_GET: Tool = Tool { program: "apt-get", package: "apt" };
pub(crate) const APT_CACHE: Tool = Tool { program: "apt-cache", package: "apt" };
pub(crate) const DPKG_DEB: Tool = Tool { program: "dpkg-deb", package: "dpkg" };
pub(crate) const LDD: Tool = Tool { program: "ldd", package: "libc-bin" };
pub(crate) const STRIP: Tool = Tool { program: "strip", package: "binutils" };
pub(crate) const SETPRIV: Tool = Tool { program: "setpriv", package: "util-linux" };
pub(crate) const SETARCH: Tool = Tool { program: "setarch", package: "util-linux" };
pub(crate) const GCC: Tool = Tool { program: "gcc", package: "gcc" };
pub(crate) const MAKE: Tool = Tool { program: "make", package: "make" };
pub(crate) const FLEX: Tool = Tool { program: "flex", package: "flex" };
pub(crate) const BISON: Tool = Tool { program: "bison", package: "bison" };
pub(crate) const BC: Tool = Tool { program: "bc", package: "bc" };
pub(crate) const GIT: Tool = Tool { program: "git", package: "git" };
pub(crate) const TAR: Tool = Tool { program: "tar", package: "tar" };
pub(crate) const XZ: Tool = Tool { program: "xz", package: "xz-utils" };
pub(crate) const QEMU: Tool = Tool { program: "qemu-system-x86_64", package: "qemu-system-x86" };

/// Lines of a failed program's words that a message repeats.
const SAID_LINES: usize = 8;

impl Tool {
    /// The command, with messages in English, as they are read.
    pub(crate) fn command(self) -> Command {
        let mut command = Command::new(self.program);
        command.env("LC_ALL", "C");
        command
    }

    /// The same for a program that takes long: it is asked to end (SIGTERM) when the thread that started it does, however that
    /// comes, and ends what it started.
    pub(crate) fn command_that_ends_with_us(self) -> Command {
        let mut command = SETPRIV.command();
        command.args(["--pdeathsig", "TERM", self.program]);
        command
    }

    /// Runs the command to its end; returns its stdout.
    pub(crate) fn run(self, doing: &str, command: &mut Command) -> Result<String, GuestError> {
        let output = command.output().map_err(|error| self.not_started(doing, &error))?;
        self.succeeded(doing, &output)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Error of a program that could not be started.
    pub(crate) fn not_started(self, doing: &str, error: &io::Error) -> GuestError {
        if error.kind() == io::ErrorKind::NotFound {
            return GuestError::Missing { program: self.program, package: self.package };
        }
        GuestError::Tool { doing: doing.into(), program: self.program.into(), said: error.to_string() }
    }

    /// Checks that it ended well.
    pub(crate) fn succeeded(self, doing: &str, output: &Output) -> Result<(), GuestError> {
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = last_lines(&stderr, SAID_LINES);
        let said = if said.is_empty() { output.status.to_string() } else { said };
        Err(GuestError::Tool { doing: doing.into(), program: self.program.into(), said })
    }
}

/// The last lines of a text that are not empty.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Stdio;
    use std::thread;

    use super::*;

    const SLEEP: Tool = Tool { program: "sleep", package: "coreutils" };

    #[test]
    fn a_program_that_takes_long_ends_with_what_started_it() {
        let started = thread::spawn(|| {
            let mut command = SLEEP.command_that_ends_with_us();
            let child = command.arg("1000").stdout(Stdio::null()).spawn().unwrap();
            // The kernel knows who its parent is once it has become the program.
            let is_there = || {
                std::fs::read_to_string(format!("/proc/{}/comm", child.id()))
                    .is_ok_and(|name| name.trim() == "sleep")
            };
            while !is_there() {
                thread::yield_now();
            }
            child
        });
        let mut child = started.join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(15));
    }
}
