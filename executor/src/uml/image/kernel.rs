//! User-mode kernels, built from Debian's source packages or a tree of the user's with recorded changes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

use super::source::Tree;
use super::{Build, LINUX, RXE, RXE_SOURCE, Source, copy};
use crate::guests::apt::{Apt, Archives, Package, check_space};
use crate::guests::error::At as _;
use crate::guests::manifest::{Manifest, digest_of_bytes};
use crate::guests::store::{remove, replace};
use crate::guests::tool::{BC, BISON, FLEX, GCC, MAKE, SETPRIV, TAR, XZ, last_lines};
use crate::guests::{Event, GuestError, Kernel, Options};

/// The configuration.
const CONFIGURATION: &str = include_str!("config");

/// What a kernel has beside if it watches accesses to its memory. Virtually mapped memory would not fit.
const KASAN: &str = "CONFIG_KASAN=y\nCONFIG_KASAN_GENERIC=y\n# CONFIG_KASAN_VMALLOC is not set\n";

fn configuration(options: Options) -> String {
    let kasan = if options.kasan { KASAN } else { "" };
    format!("{CONFIGURATION}{kasan}")
}

/// A change to a source.
struct Change {
    file: &'static str,
    before: &'static str,
    after: &'static str,
    /// A source that has this does so by itself.
    unless: Option<&'static str>,
}

/// The changes to every source.
const CHANGES: [Change; 3] = [
    // Timers by jiffies, as those of rdma_rxe, are on a raster of 1 ms, as on other machines, and not of 10 ms.
    Change {
        file: "arch/um/Kconfig",
        before: "config HZ\n\tint\n\tdefault 100\n",
        after: "config HZ\n\tint\n\tdefault 1000\n",
        unless: None,
    },
    // The same test gives the same packets: nothing random comes in from this machine.
    Change {
        file: "arch/um/os-Linux/util.c",
        before: "\treturn getrandom(buf, len, flags);\n",
        after: "\tmemset(buf, 0x5a, len);\n\treturn len;\n",
        unless: None,
    },
    // A host takes registers back only with all that it has, and those of AMX are not among the 2,696 bytes that are kept. No program
    // of a guest has used them: they are as they were in the beginning. Linux 6.13 asks the host for the size.
    Change {
        file: "arch/x86/um/os-Linux/registers.c",
        before: "\t\tiov.iov_base = fp_regs;
\t\tiov.iov_len = FP_SIZE * sizeof(unsigned long);
\t\tif (ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov) < 0)
",
        after: "\t\tstatic char host_fp_regs[65536] __attribute__((aligned(64)));
\t\tstatic unsigned long host_fp_size;

\t\tif (!host_fp_size) {
\t\t\tiov.iov_base = host_fp_regs;
\t\t\tiov.iov_len = sizeof(host_fp_regs);
\t\t\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) < 0)
\t\t\t\treturn -errno;
\t\t\thost_fp_size = iov.iov_len;
\t\t}
\t\t__builtin_memcpy(host_fp_regs, fp_regs, FP_SIZE * sizeof(unsigned long));
\t\tiov.iov_base = host_fp_regs;
\t\tiov.iov_len = host_fp_size;
\t\tif (ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov) < 0)
",
        unless: Some("host_fp_size"),
    },
];

/// The changes to a source whose rdma_rxe counts what runs of it.
const CHANGES_FOR_COVERAGE: [Change; 2] = [
    // As the kernel's own Makefiles have it for GCOV_KERNEL; that option itself is of no use, as it does not boot in user mode,
    // and a file of debugfs takes longer to read than a test. Neither the time nor
    // the place of the build are in the program.
    Change {
        file: "drivers/infiniband/sw/rxe/Makefile",
        before: "obj-$(CONFIG_RDMA_RXE) += rdma_rxe.o\n",
        after: "obj-$(CONFIG_RDMA_RXE) += rdma_rxe.o\n\nccflags-y += -fprofile-arcs -ftest-coverage -fno-tree-loop-im \
                -frandom-seed=lumina -fprofile-dir=/lumina -fprofile-prefix-path=$(CURDIR)\n",
        unless: None,
    },
    // What the compiler's code calls at the start and at the end, in a file that is not counted.
    Change {
        file: "lib/ctype.c",
        before: "EXPORT_SYMBOL(_ctype);\n",
        after: "EXPORT_SYMBOL(_ctype);\n
void __gcov_init(void *info);
void __gcov_exit(void);
void __gcov_merge_add(void *counters, unsigned int number);
void __gcov_init(void *info) { }
void __gcov_exit(void) { }
void __gcov_merge_add(void *counters, unsigned int number) { }
",
        unless: None,
    },
];

/// The changes to a source.
fn changes(options: Options) -> impl Iterator<Item = &'static Change> {
    let for_coverage: &[Change] = if options.coverage { &CHANGES_FOR_COVERAGE } else { &[] };
    CHANGES.iter().chain(for_coverage)
}

/// Bytes for a source and its build.
const ROOM: u64 = 3 << 30;

/// Files that make tells of, about: for people who wait.
const FILES: u64 = 1_150;

/// Builds a kernel into `folder`, if what is there was not made from the same. A user's tree is built below `trees`, where it
/// leaves what the next build need not do again.
pub(super) fn build(
    build: &Build<'_>,
    folder: &Path,
    trees: &Path,
    tell: &dyn Fn(Event<'_>),
) -> Result<Manifest, GuestError> {
    let kernel = &build.kernel();
    let tree = match &build.source {
        Source::Debian(_) => None,
        Source::Tree { folder, .. } => Some(Tree::of(folder)?),
    };
    let inputs = inputs(build.options, tree.as_ref())?;
    let there = match Manifest::read(folder, kernel) {
        Ok(manifest) if manifest.inputs == inputs && !build.update => return Ok(manifest),
        Ok(manifest) if manifest.inputs == inputs => Some(manifest),
        Ok(_) => {
            let why = "its source, its configuration or the compiler has changed";
            tell(Event::Step(&format!("Linux {kernel}: {why}")));
            None
        }
        Err(why) => {
            tell(Event::Step(&format!("Linux {kernel}: {why}")));
            None
        }
    };
    for tool in [SETPRIV, MAKE, FLEX, BISON, BC, XZ, TAR] {
        tool.run(&format!("looking for {}", tool.program), tool.command().arg("--version"))?;
    }
    match &build.source {
        Source::Debian(debian) => of_debian(debian, build, folder, inputs, there, tell),
        Source::Tree { .. } => {
            let tree = tree.expect("it was listed above");
            let source = trees.join(format!("{}{}", tree.own(), build.options.suffix()));
            fs::create_dir_all(&source).at("make", &source)?;
            check_space(&source, [].into_iter(), ROOM)?;
            tell(Event::Step(&format!("linking the files of {}", tree.file("").display())));
            tree.shadow(&source)?;
            make(&source, |file| tree.file(file), build.options, tell)?;
            replace(folder, |new| {
                let files = built(&source, build.options, new)?;
                Manifest::of(new, kernel.clone(), release_of(&source)?, Vec::new(), inputs, &files)
            })
        }
    }
}

/// Builds one of Debian's kernels, unless the one that is there is the newest.
fn of_debian(
    debian: &Kernel,
    build: &Build<'_>,
    folder: &Path,
    inputs: BTreeMap<String, String>,
    there: Option<Manifest>,
    tell: &dyn Fn(Event<'_>),
) -> Result<Manifest, GuestError> {
    let Some((series, version)) = debian.of_debian() else {
        let why =
            format!("Debian 12 has no Linux {debian}; it has 6.1 and 6.12, and versions of them as 6.12.107");
        return Err(GuestError::Package { package: "linux-source".into(), why });
    };
    let archives = Archives::of(build.mirror)?;
    let name = series.name();
    let kernel = build.kernel();
    let work = folder.with_extension("work");
    remove(&work)?;
    let apt = Apt::of(series.suite(), &archives, &work, tell)?;
    let package = apt.version_of(&format!("linux-source-{name}"), version)?;
    if let Some(there) = there.filter(|there| there.packages == [package.clone().kept()]) {
        remove(&work)?;
        return Ok(there);
    }
    let made = replace(folder, |new| {
        check_space(new, [&package].into_iter(), ROOM)?;
        apt.fetch(std::slice::from_ref(&package), &work.join("source"), &work, tell)?;
        let packed = work.join(format!("usr/src/linux-source-{name}.tar.xz"));
        tell(Event::Step("unpacking the source"));
        TAR.run(
            "unpacking the source",
            TAR.command_that_ends_with_us().arg("-xf").arg(&packed).arg("-C").arg(&work),
        )?;
        let source = work.join(format!("linux-source-{name}"));
        make(&source, |file| source.join(file), build.options, tell)?;
        let files = built(&source, build.options, new)?;
        let packages = vec![Package::kept(package)];
        Manifest::of(new, kernel, release_of(&source)?, packages, inputs, &files)
    });
    let removed = remove(&work);
    made.and_then(|made| removed.map(|()| made))
}

/// Copies what a build has made and is kept into a folder; the files' names.
fn built(source: &Path, options: Options, new: &Path) -> Result<Vec<String>, GuestError> {
    let mut files = vec![(LINUX.to_owned(), source.join(LINUX))];
    if options.coverage {
        let folder = source.join(RXE_SOURCE);
        for entry in fs::read_dir(&folder).at("list", &folder)? {
            let path = entry.at("list", &folder)?.path();
            let is_kept =
                path.extension().is_some_and(|end| ["gcno", "c", "h"].iter().any(|kept| end == *kept));
            if let Some(name) = path.file_name().filter(|_| is_kept) {
                files.push((format!("{RXE}/{}", name.display()), path));
            }
        }
    }
    files.sort();
    for (file, from) in &files {
        copy(from, &new.join(file))?;
    }
    Ok(files.into_iter().map(|(file, _)| file).collect())
}

/// The release of a kernel that was built.
fn release_of(source: &Path) -> Result<String, GuestError> {
    let release = source.join("include/config/kernel.release");
    Ok(fs::read_to_string(&release).at("read", &release)?.trim().to_owned())
}

/// What a kernel is made from, beside a source of Debian's.
fn inputs(options: Options, tree: Option<&Tree>) -> Result<BTreeMap<String, String>, GuestError> {
    let compiler = GCC.run("asking for the compiler's version", GCC.command().arg("--version"))?;
    let changes: Vec<_> =
        changes(options).map(|change| [change.file, change.before, change.after].join("\n")).collect();
    let compiler = compiler.lines().next().unwrap_or_default();
    let mut inputs = BTreeMap::from([
        ("configuration".to_owned(), digest_of_bytes(configuration(options).as_bytes())),
        ("changes".to_owned(), digest_of_bytes(changes.join("\n").as_bytes())),
        ("compiler".to_owned(), compiler.to_owned()),
    ]);
    if let Some(tree) = tree {
        inputs.insert("tree".into(), tree.digest.clone());
        inputs.extend(tree.commit.clone().map(|commit| ("commit".into(), commit)));
    }
    Ok(inputs)
}

/// Changes, configures and builds a source; `original` is where a file of it is unchanged.
fn make(
    source: &Path,
    original: impl Fn(&str) -> PathBuf,
    options: Options,
    tell: &dyn Fn(Event<'_>),
) -> Result<(), GuestError> {
    for Change { file, before, after, unless } in changes(options) {
        let path = original(file);
        let text = fs::read_to_string(&path).at("read", &path)?;
        if unless.is_some_and(|unless| text.contains(unless)) {
            continue;
        }
        if text.matches(before).count() != 1 {
            let why = format!("{file} is not as the change to it expects");
            return Err(GuestError::Source { folder: original(""), why });
        }
        put(&source.join(file), &text.replace(before, after))?;
    }
    let wanted = source.join("lumina.config");
    put(&wanted, &configuration(options))?;
    let make = || {
        let mut make = MAKE.command_that_ends_with_us();
        make.arg("-C").arg(source).arg("ARCH=um").env("KCONFIG_ALLCONFIG", &wanted);
        make
    };
    MAKE.run("configuring the kernel", make().arg("allnoconfig"))?;
    check_configured(source, &original(""), options)?;

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
    let doing = format!("building {}", original("").display());
    Err(GuestError::Tool { doing, program: MAKE.program.into(), said })
}

/// Refuses a source that has not what guests need: make leaves out silently what depends on something that is off.
fn check_configured(source: &Path, original: &Path, options: Options) -> Result<(), GuestError> {
    let path = source.join(".config");
    let configured = fs::read_to_string(&path).at("read", &path)?;
    let needed = ["CONFIG_RDMA_RXE=", "CONFIG_UML_TIME_TRAVEL_SUPPORT=", "CONFIG_KASAN="];
    let wanted = configuration(options);
    for option in wanted.lines().filter(|line| needed.iter().any(|needed| line.starts_with(needed))) {
        if !configured.lines().any(|line| line == option) {
            let why = format!("it cannot be configured with {option}");
            return Err(GuestError::Source { folder: original.to_owned(), why });
        }
    }
    Ok(())
}

/// Writes a file that is none yet or differs, in the place of a link too: what was built from it is built again only then.
fn put(path: &Path, text: &str) -> Result<(), GuestError> {
    let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        fs::remove_file(path).at("remove", path)?;
    } else if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    fs::write(path, text).at("write", path)
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
