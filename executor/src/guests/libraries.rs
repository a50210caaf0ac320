//! The shared libraries of the agent, as this machine's dynamic linker finds them.

use std::path::{Path, PathBuf};

use object::{Architecture, Object as _};

use super::GuestError;
use crate::guests::tool::LDD;

/// Paths of every shared library that a program needs, the dynamic linker among them. A guest has them at the same
/// paths.
///
/// The agent was built against this machine's C library, and the userland of the guests against that of
/// Debian 12, which runs with any newer one too.
pub(crate) fn of(agent: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let doing = format!("listing the libraries of {}", agent.display());
    let listed = LDD.run(&doing, LDD.command().arg(agent))?;
    parse(&listed).map_err(|why| GuestError::Program { path: agent.to_owned(), why })
}

/// Reads the output of `ldd`: `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)`, or a path alone for the
/// dynamic linker. The kernel's own (`linux-vdso.so.1 (0x…)`) has no path.
fn parse(listed: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in listed.lines().map(str::trim) {
        if let Some((name, "not found")) = line.split_once(" => ") {
            return Err(format!("it needs {name}, which this machine lacks"));
        }
        let path = line.split_once(" => ").map_or(line, |(_, path)| path);
        let path = path.split(" (0x").next().unwrap_or_default();
        if path.starts_with('/') {
            paths.push(PathBuf::from(path));
        }
    }
    if paths.is_empty() {
        return Err("it has no shared libraries: the guests' agent loads libibverbs, so build it for a target with a \
                    dynamic C library (x86_64-unknown-linux-gnu)"
            .into());
    }
    Ok(paths)
}

/// Checks that a guest, which has an x86-64 processor, can run a program.
pub(crate) fn check(agent: &Path, content: &[u8]) -> Result<(), GuestError> {
    let wrong = |why: String| GuestError::Program { path: agent.to_owned(), why };
    let file = object::File::parse(content).map_err(|_| wrong("it is no program".into()))?;
    match file.architecture() {
        Architecture::X86_64 => Ok(()),
        other => Err(wrong(format!("it is for {other:?}, and guests have x86-64 processors"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_ldd() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffd3a5f2000)\n\
                      \tlibgcc_s.so.1 => /lib/x86_64-linux-gnu/libgcc_s.so.1 (0x00007f1)\n\
                      \tlibc.so.6 => /opt/odd (name)/libc.so.6 (0x00007f2)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f3)\n";
        let paths = [
            "/lib/x86_64-linux-gnu/libgcc_s.so.1",
            "/opt/odd (name)/libc.so.6",
            "/lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(parse(listed).unwrap(), paths.map(PathBuf::from));
    }

    #[test]
    fn what_cannot_run_is_said() {
        assert!(parse("\tlibodd.so.3 => not found\n").unwrap_err().contains("libodd.so.3"));
        assert!(parse("\tstatically linked\n").unwrap_err().contains("no shared libraries"));
        assert!(check(Path::new("agent"), b"#!/bin/sh\n").is_err());
    }
}
