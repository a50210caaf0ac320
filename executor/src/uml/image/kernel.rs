//! User-mode kernels, built from Debian's source packages with two recorded changes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use super::LINUX;
use crate::guests::apt::{Apt, Package, archive, check_space};
use crate::guests::error::At as _;
use crate::guests::manifest::{Manifest, digest_of_bytes};
use crate::guests::store::replace;
use crate::guests::tool::{BC, BISON, FLEX, GCC, MAKE, TAR, XZ, last_lines};
use crate::guests::{Event, GuestError, Kernel};

/// The configuration.
const CONFIGURATION: &str = include_str!("config");

/// A change to a source.
struct Change {
    file: &'static str,
    before: &'static str,
    after: &'static str,
}

/// The changes to every source.
const CHANGES: [Change; 2] = [
    // Timers by jiffies, as those of rdma_rxe, are on a raster of 1 ms, as on other machines, and not of 10 ms.
    Change {
        file: "arch/um/Kconfig",
        before: "config HZ\n\tint\n\tdefault 100\n",
        after: "config HZ\n\tint\n\tdefault 1000\n",
    },
    // The same test gives the same packets: nothing random comes in from this machine.
    Change {
        file: "arch/um/os-Linux/util.c",
        before: "\treturn getrandom(buf, len, flags);\n",
        after: "\tmemset(buf, 0x5a, len);\n\treturn len;\n",
    },
];

/// Bytes for a source and its build.
const ROOM: u64 = 3 << 30;

/// Files that make tells of, about: for people who wait.
const FILES: u64 = 1_150;

/// Builds the kernel of a series into `folder`, if what is there was not made from the same.
pub(super) fn build(
    kernel: Kernel,
    mirror: Option<&str>,
    folder: &Path,
    tell: &dyn Fn(Event<'_>),
) -> Result<Manifest, GuestError> {
    let inputs = inputs()?;
    match Manifest::read(folder, kernel) {
        Ok(manifest) if manifest.inputs == inputs => return Ok(manifest),
        Ok(_) => {
            tell(Event::Step(&format!("Linux {kernel}: its configuration or the compiler has changed")));
        }
        Err(why) => tell(Event::Step(&format!("Linux {kernel}: {why}"))),
    }
    for tool in [FLEX, BISON, BC, XZ, TAR] {
        tool.run(&format!("looking for {}", tool.program), tool.command().arg("--version"))?;
    }
    let archive = mirror.map_or_else(archive, |mirror| Ok(mirror.to_owned()))?;
    replace(folder, |new| {
        let work = new.join("work");
        let apt = Apt::of(kernel.suite(), &archive, &work, tell)?;
        let package = apt.package(&format!("linux-source-{kernel}"))?;
        check_space(new, [&package].into_iter(), ROOM)?;
        apt.fetch(std::slice::from_ref(&package), &work.join("source"), &work, tell)?;
        let packed = work.join(format!("usr/src/linux-source-{kernel}.tar.xz"));
        tell(Event::Step("unpacking the source"));
        TAR.run("unpacking the source", TAR.command().arg("-xf").arg(&packed).arg("-C").arg(&work))?;
        let source = work.join(format!("linux-source-{kernel}"));
        make(&source, tell)?;
        fs::rename(source.join(LINUX), new.join(LINUX)).at("move", &source.join(LINUX))?;
        let release = source.join("include/config/kernel.release");
        let release = fs::read_to_string(&release).at("read", &release)?.trim().to_owned();
        fs::remove_dir_all(&work).at("remove", &work)?;
        Manifest::of(new, kernel, release, vec![Package::kept(package)], inputs, &[LINUX.to_owned()])
    })
}

/// What a kernel is made from, beside its source.
fn inputs() -> Result<BTreeMap<String, String>, GuestError> {
    let compiler = GCC.run("asking for the compiler's version", GCC.command().arg("--version"))?;
    let changes: Vec<_> =
        CHANGES.iter().map(|change| [change.file, change.before, change.after].join("\n")).collect();
    let compiler = compiler.lines().next().unwrap_or_default();
    Ok(BTreeMap::from([
        ("configuration".to_owned(), digest_of_bytes(CONFIGURATION.as_bytes())),
        ("changes".to_owned(), digest_of_bytes(changes.join("\n").as_bytes())),
        ("compiler".to_owned(), compiler.to_owned()),
    ]))
}

/// Changes, configures and builds a source.
fn make(source: &Path, tell: &dyn Fn(Event<'_>)) -> Result<(), GuestError> {
    for Change { file, before, after } in CHANGES {
        let path = source.join(file);
        let text = fs::read_to_string(&path).at("read", &path)?;
        if text.matches(before).count() != 1 {
            let why = "it is not as the change to it expects".to_owned();
            return Err(GuestError::Program { path, why });
        }
        fs::write(&path, text.replace(before, after)).at("write", &path)?;
    }
    let configuration = source.join("lumina.config");
    fs::write(&configuration, CONFIGURATION).at("write", &configuration)?;
    let make = || {
        let mut make = MAKE.command();
        make.arg("-C").arg(source).arg("ARCH=um").env("KCONFIG_ALLCONFIG", &configuration);
        make
    };
    MAKE.run("configuring the kernel", make().arg("allnoconfig"))?;
    check_configured(source)?;

    let jobs = thread::available_parallelism().map_or(1, usize::from);
    tell(Event::Step(&format!("building the kernel with {jobs} jobs: minutes")));
    let doing = "building the kernel";
    // The same bytes from the same source, wherever it is built.
    let stamped = [
        ("KBUILD_BUILD_TIMESTAMP", "2026-01-01"),
        ("KBUILD_BUILD_USER", "lumina"),
        ("KBUILD_BUILD_HOST", "lumina"),
        ("KBUILD_BUILD_VERSION", "1"),
    ];
    let mut command = make();
    command.envs(stamped).arg(format!("-j{jobs}")).arg(LINUX);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| MAKE.not_started(doing, &error))?;
    let stderr = child.stderr.take().expect("it is piped");
    let said = thread::spawn(move || first_error(stderr));
    let mut files = 0;
    let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    for _ in stdout.lines().map_while(Result::ok) {
        files += 1;
        tell(Event::Percent((files * 100 / FILES).min(99) as u8));
    }
    let status = child.wait().map_err(|error| MAKE.not_started(doing, &error))?;
    let said = said.join().unwrap_or_default();
    if status.success() {
        return Ok(());
    }
    Err(GuestError::Tool { doing: doing.into(), program: MAKE.program.into(), said })
}

/// Refuses a source that has not what guests need: make leaves out silently what depends on something that is off.
fn check_configured(source: &Path) -> Result<(), GuestError> {
    let path = source.join(".config");
    let configured = fs::read_to_string(&path).at("read", &path)?;
    let wanted = CONFIGURATION
        .lines()
        .filter(|line| line.starts_with("CONFIG_RDMA_RXE") || line.contains("TIME_TRAVEL"));
    for option in wanted {
        if !configured.lines().any(|line| line == option) {
            let why = format!("this source cannot be configured with {option}");
            return Err(GuestError::Program { path, why });
        }
    }
    Ok(())
}

/// The first error in the words of the compiler or the linker, or else the last lines.
fn first_error(stderr: impl std::io::Read) -> String {
    let mut kept = String::new();
    let mut first = None;
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if first.is_none()
            && [": error:", ": fatal error:", "undefined reference"].iter().any(|word| line.contains(word))
        {
            first = Some(line.clone());
        }
        kept = last_lines(&format!("{kept}\n{line}"), 8);
    }
    first.unwrap_or(kept)
}
