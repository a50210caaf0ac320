//! Findings in one file: made without the machine's paths, taken in the place of the folder, refused if hostile.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, EntryType, Header};

use crate::run::{Ran, command, folder, in_folder, ran};

/// A finding of a short campaign whose NIC and target are files, named by absolute paths.
fn finding(root: &Path) -> String {
    let put = |name: &str, args: &[&str]| {
        let shown = in_folder(root, args);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let path = root.join(name);
        fs::write(&path, shown.stdout).unwrap();
        path.display().to_string()
    };
    let nic = put("my-nic.toml", &["nics", "show", "cx4-lx"]);
    let target = put("my-target.toml", &["targets", "show", "noisy-neighbor"]);
    let limits = "--strategy genetic --seed 1 --executions 16 --out c".split(' ');
    let args: Vec<&str> = ["campaign", &target, "--nic", &nic].into_iter().chain(limits).collect();
    let ran = in_folder(root, &args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let findings: Vec<_> = fs::read_dir(root.join("c/findings")).unwrap().map(Result::unwrap).collect();
    assert_eq!(findings.len(), 1, "{findings:?}");
    format!("c/findings/{}", findings[0].file_name().into_string().unwrap())
}

/// A member of an archive, with its content.
struct Member {
    name: String,
    header: Header,
    bytes: Vec<u8>,
}

fn members(bundle: &Path) -> Vec<Member> {
    let mut archive = Archive::new(GzDecoder::new(File::open(bundle).unwrap()));
    let member = |entry: io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let name = entry.path().unwrap().display().to_string();
        Member { name, header: entry.header().clone(), bytes }
    };
    archive.entries().unwrap().map(member).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Output of a program, trimmed.
fn said(program: &str, args: &[&str]) -> String {
    String::from_utf8(Command::new(program).args(args).output().unwrap().stdout).unwrap().trim().to_owned()
}

fn export(root: &Path, from: &str, out: &str) {
    let ran = in_folder(root, &["export", from, "--format", "bundle", "--out", out]);
    assert_eq!((ran.code, &ran.stdout[..]), (0, ""), "{}", ran.stderr);
}

#[test]
fn a_bundle_holds_the_finding_and_nothing_of_the_machine() {
    let root = folder(&[]);
    let root = root.path();
    let finding = finding(root);
    // A page that somebody wrote, with paths in it.
    let note = format!("from {}/c, by {0}/my-nic.toml and {0}/{finding}/trace.pcapng\n", root.display());
    fs::write(root.join(&finding).join("note.txt"), note).unwrap();
    export(root, &finding, "finding.tar.gz");

    let members = members(&root.join("finding.tar.gz"));
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let id = finding.rsplit('/').next().unwrap();
    let mut expected: Vec<String> = fs::read_dir(root.join(&finding))
        .unwrap()
        .map(|entry| format!("{id}/{}", entry.unwrap().file_name().into_string().unwrap()))
        .collect();
    expected.sort();
    assert_eq!(names, expected, "sorted, and everything");
    for needed in ["finding.json", "reproducer.toml", "trace.pcapng", "report.txt", "nic-requester.toml"] {
        assert!(names.contains(&&*format!("{id}/{needed}")), "{needed}: {names:?}");
    }

    let before = fs::read(root.join(&finding).join("finding.json")).unwrap();
    let machine = [root.to_str().unwrap().to_owned(), said("id", &["-un"]), said("uname", &["-n"])];
    assert!(holds(&before, &machine[0]), "the finding names the paths that the bundle must not");
    for Member { name, header, bytes } in &members {
        for text in &machine {
            assert!(!holds(bytes, text), "{name} has {text}: {}", String::from_utf8_lossy(bytes));
        }
        let owner = (header.uid().unwrap(), header.gid().unwrap(), header.username(), header.groupname());
        assert_eq!(owner, (0, 0, Ok(Some("")), Ok(Some(""))), "{name}");
        assert_eq!((header.mtime().unwrap(), header.mode().unwrap()), (0, 0o644), "{name}");
    }
    let content = |name: &str| &members.iter().find(|member| member.name.ends_with(name)).unwrap().bytes;
    assert_eq!(
        String::from_utf8_lossy(content("/note.txt")),
        format!("from ., by my-nic.toml and {id}/trace.pcapng\n")
    );
    let document: serde_json::Value = serde_json::from_slice(content("/finding.json")).unwrap();
    assert_eq!(document["requester_nic"]["given"], "my-nic.toml");
    assert_eq!(document["target"], "my-target.toml");
    assert_eq!(content("/trace.pcapng"), &fs::read(root.join(&finding).join("trace.pcapng")).unwrap());
}

#[test]
fn the_same_finding_gives_the_same_bundle() {
    let root = folder(&[]);
    let root = root.path();
    let finding = finding(root);
    export(root, &finding, "first.tar.gz");
    let first = fs::read(root.join("first.tar.gz")).unwrap();
    // A time in the header of gzip (RFC 1952, section 2.3.1) would be in these bytes.
    assert_eq!(first[4..8], [0; 4]);

    // The same files elsewhere, written in another order and at another time, beside what a killed process left.
    let copy = root.join("elsewhere/copy");
    fs::create_dir_all(&copy).unwrap();
    let mut names: Vec<_> =
        fs::read_dir(root.join(&finding)).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for from in names.iter().rev() {
        fs::write(copy.join(from.file_name().unwrap()), fs::read(from).unwrap()).unwrap();
    }
    let old = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    File::open(copy.join("report.txt")).unwrap().set_times(old).unwrap();
    fs::write(copy.join(".tmp12345"), "half").unwrap();
    export(root, "elsewhere/copy", "second.tar.gz");
    export(root, "first.tar.gz", "third.tar.gz");
    for again in ["second.tar.gz", "third.tar.gz"] {
        assert!(fs::read(root.join(again)).unwrap() == first, "{again} differs");
    }
}

/// Runs the program in a folder, with temporary files in `tmp` there, of which none must be left.
fn leaving_nothing(root: &Path, args: &[&str]) -> Ran {
    let tmp = root.join("tmp");
    fs::create_dir_all(&tmp).unwrap();
    let ran = ran(command().current_dir(root).env("TMPDIR", &tmp).args(args));
    let left: Vec<_> = fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{args:?} left {left:?}");
    assert!(
        !format!("{}{}", ran.stdout, ran.stderr).contains(tmp.to_str().unwrap()),
        "{args:?}: {}",
        ran.stdout
    );
    ran
}

#[test]
fn a_bundle_takes_the_place_of_its_folder() {
    let root = folder(&[]);
    let root = root.path();
    let finding = finding(root);
    let id = finding.rsplit('/').next().unwrap().to_owned();
    export(root, &finding, "finding.tar.gz");
    // On another machine.
    let other = folder(&[]);
    let other = other.path();
    fs::copy(root.join("finding.tar.gz"), other.join("finding.tar.gz")).unwrap();
    fs::create_dir_all(other.join("kept")).unwrap();
    Archive::new(GzDecoder::new(File::open(other.join("finding.tar.gz")).unwrap()))
        .unpack(other.join("kept"))
        .unwrap();
    let kept = format!("kept/{id}");

    let replayed = leaving_nothing(other, &["replay", "finding.tar.gz", &kept, "finding.tar.gz"]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
    let paths: Vec<&str> =
        replayed.stdout.lines().map(|line| line.strip_prefix("reproduced      ").unwrap()).collect();
    assert_eq!(paths.len(), 3, "{}", replayed.stdout);
    for (line, path) in paths.iter().zip(["finding.tar.gz", &kept, "finding.tar.gz"]) {
        assert!(line.starts_with(&format!("{path}  ")), "{}", replayed.stdout);
    }

    for args in [&["--format", "json"][..], &[]] {
        let analyzed = |path: &str| {
            let ran = leaving_nothing(other, &[&["analyze", path], args].concat());
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            ran.stdout.replace(path, "FINDING")
        };
        let of_bundle = analyzed("finding.tar.gz");
        assert_eq!(of_bundle, analyzed(&kept));
        assert!(of_bundle.contains("FINDING/reproducer.toml"), "{of_bundle}");
    }

    for format in ["toml", "perftest"] {
        let exported = |path: &str| {
            let ran = leaving_nothing(other, &["export", path, "--format", format]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            ran.stdout
        };
        let of_bundle = exported("finding.tar.gz");
        assert_eq!(of_bundle, exported(&kept), "{format}");
    }
    let script = leaving_nothing(other, &["export", "finding.tar.gz", "--format", "script"]);
    assert_eq!((script.code, &script.stdout[..]), (2, ""));
    assert!(script.stderr.contains("unpack the bundle (tar -xzf)"), "{}", script.stderr);
}

/// The smaller test is in the bundle, as it would be in the folder.
#[test]
fn a_bundle_is_minimised_in_its_place() {
    let root = folder(&[]);
    let root = root.path();
    let finding = finding(root);
    export(root, &finding, "whole.tar.gz");
    let document = root.join(&finding).join("finding.json");
    let text = fs::read_to_string(&document).unwrap();
    assert!(text.contains("\"minimized\": \"full\""), "{text}");
    fs::write(&document, text.replace("\"minimized\": \"full\"", "\"minimized\": \"partial\"")).unwrap();
    export(root, &finding, "partial.tar.gz");

    let minimised = leaving_nothing(root, &["minimize", "partial.tar.gz", "--format", "json"]);
    assert_eq!(minimised.code, 0, "{}", minimised.stderr);
    let said = minimised.json();
    assert_eq!((&said["path"], &said["minimized"]), (&"partial.tar.gz".into(), &"full".into()));
    assert_eq!(said["reproducer"], "partial.tar.gz/reproducer.toml");
    let content = |bundle: &str, name: &str| {
        members(&root.join(bundle)).into_iter().find(|member| member.name.ends_with(name)).unwrap().bytes
    };
    assert!(holds(&content("partial.tar.gz", "/finding.json"), "\"minimized\": \"full\""));
    assert_eq!(content("partial.tar.gz", "/reproducer.toml"), content("whole.tar.gz", "/reproducer.toml"));
}

#[test]
fn a_finding_that_cannot_be_bundled_is_said() {
    let root = folder(&[("test.toml", "")]);
    let root = root.path();
    let finding = finding(root);
    let refused = |args: &[&str], said: &str| {
        let ran = in_folder(root, &[&["export"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert!(!root.join("b.tar.gz").exists());
    };
    refused(
        &[&finding, "--format", "bundle"],
        "--format bundle: an archive is no text; name its file with --out",
    );
    let bundle = ["--format", "bundle", "--out", "b.tar.gz"];
    refused(&[&["test.toml"], &bundle[..]].concat(), "test.toml: is no finding; a bundle holds one");

    let link = root.join(&finding).join("link");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    refused(
        &[&[&*finding], &bundle[..]].concat(),
        "link: cannot be part of a bundle: it is not a regular file",
    );
    fs::remove_file(link).unwrap();
    fs::write(root.join(&finding).join("nic-requester.toml"), "name = \"other\"").unwrap();
    refused(
        &[&[&*finding], &bundle[..]].concat(),
        "nic-requester.toml: was changed since the finding was written",
    );
}

/// An archive of members, each with a header that may be anything.
fn archive(members: &[(&str, EntryType, u64, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, kind, size, content) in members {
        let mut header = Header::new_ustar();
        // `set_path` refuses hostile names.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(*size);
        header.set_mode(0o777);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// A finished archive with these bytes in the place of its contents.
fn gzipped(content: impl FnOnce(&mut dyn io::Write)) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    content(&mut out);
    out.finish().unwrap()
}

/// Hostile and damaged archives, each with the end of the only line that is printed.
fn hostile(whole: &[u8]) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let file = |name: &'static str| (name, EntryType::Regular, 1, &b"x"[..]);
    let of_kind = |kind| archive(&[("f/finding.json", kind, 0, b"")]);
    let many: Vec<String> = (0..3_000).map(|number| format!("f/{number}")).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), EntryType::Regular, 0, &b""[..])).collect();
    let mut flipped = whole.to_vec();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    vec![
        ("absolute", archive(&[file("/OUTSIDE/evil")]), "member `/OUTSIDE/evil`: its path is absolute"),
        (
            "above",
            archive(&[file("f/../../evil")]),
            "member `f/../../evil`: its path leads out of the bundle by `..`",
        ),
        ("terminal", archive(&[file("f/\u{1b}[2Jevil")]), "a backslash or a control character"),
        ("symlink", of_kind(EntryType::Symlink), "member `f/finding.json`: it is a link, not a file"),
        ("link", of_kind(EntryType::Link), "it is a link, not a file"),
        ("device", of_kind(EntryType::Char), "it is a device, not a file"),
        ("block", of_kind(EntryType::Block), "it is a device, not a file"),
        ("fifo", of_kind(EntryType::Fifo), "it is a named pipe, not a file"),
        ("sparse", of_kind(EntryType::GNUSparse), "it is of another kind, not a file"),
        ("long", archive(&[("f", EntryType::GNULongName, 1 << 32, b"")]), "it is a long name, not a file"),
        ("pax", archive(&[("f", EntryType::XHeader, 1 << 32, b"")]), "it is an extended header, not a file"),
        ("twice", archive(&[file("f/a"), file("f/./a")]), "member `f/./a`: it is there twice"),
        (
            "claims",
            archive(&[file("f/a"), ("f/b", EntryType::Regular, 1 << 40, b"")]),
            "member `f/b`: the members up to it have more than 1073741824 bytes",
        ),
        (
            "overflow",
            archive(&[file("f/a"), ("f/b", EntryType::Regular, u64::MAX, b"")]),
            "after 1 members: size overflow",
        ),
        ("many", archive(&many), "member `f/256`: it is one of more than 256"),
        (
            "bomb",
            gzipped(|out| {
                let zeros = [0; 1 << 16];
                (0..1 << 12).for_each(|_| out.write_all(&zeros).unwrap());
            }),
            "it has data after its last member",
        ),
        ("short", whole[..whole.len() / 2].to_vec(), "the file is cut short"),
        ("unsigned", whole[..whole.len() - 4].to_vec(), "the file is cut short"),
        ("flipped", flipped, "corrupt gzip stream does not have a matching checksum"),
        ("other", b"hello, this is a letter".to_vec(), "invalid gzip header"),
        ("nothing", Vec::new(), "the file is cut short"),
        ("no-archive", gzipped(|out| out.write_all(&[7; 5000]).unwrap()), "after 0 members: "),
        ("empty", archive(&[]), "it does not hold one folder with a finding.json"),
        ("no-finding", archive(&[file("f/a")]), "it does not hold one folder with a finding.json"),
        (
            "two",
            archive(&[file("f/finding.json"), file("g/finding.json")]),
            "it does not hold one folder with a finding.json",
        ),
        (
            "document",
            archive(&[file("f/finding.json")]),
            "finding.json: is no finding: expected value at line 1 column 1",
        ),
    ]
}

#[test]
fn hostile_bundles_are_refused_in_a_line() {
    let root = folder(&[]);
    let root = root.path();
    let finding = finding(root);
    export(root, &finding, "whole.tar.gz");
    let whole = fs::read(root.join("whole.tar.gz")).unwrap();

    for (name, bytes, expected) in hostile(&whole) {
        let bundle = format!("{name}.tar.gz");
        fs::write(root.join(&bundle), bytes).unwrap();
        for args in [&["analyze"][..], &["export", "--format", "toml"], &["minimize"], &["replay"]] {
            let ran = leaving_nothing(root, &[args, &[&*bundle]].concat());
            assert_eq!(ran.code, 2, "{name}, {args:?}: {} {}", ran.stdout, ran.stderr);
            let line = format!("error: {bundle}: is no bundle of a finding: ");
            assert!(ran.stderr.starts_with(&line), "{name}, {args:?}: {}", ran.stderr);
            assert!(ran.stderr.trim_end().contains(expected), "{name}, {args:?}: {}", ran.stderr);
            assert!(
                ran.stderr.lines().count() == 1 && !ran.stderr.contains('\u{1b}'),
                "{name}: {}",
                ran.stderr
            );
        }
    }
    assert!(
        !root.join("evil").exists() && !root.join("tmp/evil").exists() && !Path::new("/OUTSIDE").exists()
    );

    // Among others it is a line of its own, and the others are run.
    let ran = leaving_nothing(root, &["replay", "fifo.tar.gz", "whole.tar.gz"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("not run         fifo.tar.gz  "), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nreproduced      whole.tar.gz  "), "{}", ran.stdout);
}
