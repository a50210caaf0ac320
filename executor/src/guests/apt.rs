//! Debian packages, fetched by this machine's apt with a state of its own: no root, and nothing of the machine's own
//! packages is looked at or changed. apt checks the archive's signature and every checksum.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::statvfs::statvfs;

use super::GuestError;
use super::{Event, PackageVersion};
use crate::guests::error::At as _;
use crate::guests::tool::{APT_CACHE, APT_GET, DPKG_DEB, Tool};

/// The archive's keys, in the package that every Debian machine has.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Bytes for lists of packages and the rest of apt's state.
const STATE: u64 = 150 << 20;

/// One suite of the archive.
pub(crate) struct Apt {
    options: Vec<String>,
    suite: &'static str,
}

/// A package that a suite has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Bytes to fetch.
    pub(crate) size: u64,
    /// Bytes that it takes unpacked.
    pub(crate) unpacked: u64,
    sha256: String,
    depends: String,
}

impl Package {
    /// The part of it that a manifest keeps.
    pub(crate) fn kept(self) -> PackageVersion {
        PackageVersion { name: self.name, version: self.version, sha256: self.sha256 }
    }
}

impl Apt {
    /// Fetches the suite's list of packages.
    pub(crate) fn of(
        suite: &'static str,
        archive: &str,
        state: &Path,
        tell: &dyn Fn(Event<'_>),
    ) -> Result<Self, GuestError> {
        let keys = Path::new(KEYS);
        if !keys.exists() {
            return Err(GuestError::NoKeys(keys.to_owned()));
        }
        let folder = |name: &str| {
            let folder = state.join(suite).join(name);
            fs::create_dir_all(&folder).at("make", &folder).map(|()| folder)
        };
        let (lists, cache) = (folder("lists/partial")?, folder("cache/archives/partial")?);
        let sources = state.join(suite).join("sources.list");
        fs::write(&sources, format!("deb [signed-by={KEYS}] {archive} {suite} main\n"))
            .at("write", &sources)?;
        let parent = |path: &Path| path.parent().unwrap_or(path).display().to_string();
        let options = [
            format!("Dir::Etc::sourcelist={}", sources.display()),
            "Dir::Etc::sourceparts=-".into(),
            format!("Dir::State::lists={}", parent(&lists)),
            format!("Dir::Cache={}", parent(Path::new(&parent(&cache)))),
            "Dir::State::status=/dev/null".into(),
            "APT::Architecture=amd64".into(),
            "APT::Architectures=amd64".into(),
            // Started by root, apt would want its own user to read the cache.
            "APT::Sandbox::User=root".into(),
            "Acquire::Languages=none".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
            "Acquire::Retries=3".into(),
        ];
        let apt = Self { options: options.into(), suite };
        tell(Event::Step(&format!("fetching the list of packages of {suite} from {archive}")));
        APT_GET.run(
            &apt.doing("fetching the list of packages"),
            apt.command(APT_GET).arg("update").arg("--error-on=any"),
        )?;
        Ok(apt)
    }

    fn doing(&self, what: &str) -> String {
        format!("{what} of {}", self.suite)
    }

    fn command(&self, tool: Tool) -> Command {
        let mut command = tool.command();
        command.arg("-q");
        for option in &self.options {
            command.arg("-o").arg(option);
        }
        command
    }

    /// A package of the suite.
    pub(crate) fn package(&self, name: &str) -> Result<Package, GuestError> {
        let doing = self.doing(&format!("looking for package {name}"));
        let shown =
            APT_CACHE.run(&doing, self.command(APT_CACHE).arg("show").arg("--no-all-versions").arg(name))?;
        package(&shown).ok_or_else(|| GuestError::Package {
            package: name.into(),
            why: format!("what {} says of it cannot be read", self.suite),
        })
    }

    /// The package that a metapackage stands for: the first that it depends on whose name begins so.
    pub(crate) fn stands_for(&self, metapackage: &str, prefix: &str) -> Result<Package, GuestError> {
        let depends = self.package(metapackage)?.depends;
        let name = dependencies(&depends).find(|name| name.starts_with(prefix)).ok_or_else(|| {
            GuestError::Package {
                package: metapackage.into(),
                why: format!("in {} it depends on no {prefix}…", self.suite),
            }
        })?;
        self.package(name)
    }

    /// Fetches packages and unpacks them into a folder.
    pub(crate) fn fetch(
        &self,
        packages: &[Package],
        work: &Path,
        into: &Path,
        tell: &dyn Fn(Event<'_>),
    ) -> Result<(), GuestError> {
        for package in packages {
            let (name, version, mb) = (&package.name, &package.version, package.size as f64 / 1e6);
            tell(Event::Step(&format!("fetching {name} {version} ({mb:.1} MB)")));
        }
        fs::create_dir_all(work).at("make", work)?;
        let mut command = self.command(APT_GET);
        command.current_dir(work).args(["-o", "APT::Status-Fd=1", "download"]);
        command.args(packages.iter().map(|package| format!("{}={}", package.name, package.version)));
        let doing = self.doing("fetching packages");
        let mut apt = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| APT_GET.not_started(&doing, &error))?;
        if let Some(stdout) = apt.stdout.take() {
            // Unreadable lines are progress, no more.
            for line in BufReader::new(stdout.take(16 << 20)).lines().map_while(Result::ok) {
                if let Some(percent) = percent(&line) {
                    tell(Event::Percent(percent));
                }
            }
        }
        let output = apt.wait_with_output().map_err(|error| APT_GET.not_started(&doing, &error))?;
        APT_GET.succeeded(&doing, &output)?;

        for file in files(work)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            tell(Event::Step(&format!("unpacking {name}")));
            DPKG_DEB.run(&format!("unpacking {name}"), DPKG_DEB.command().arg("-x").arg(&file).arg(into))?;
            fs::remove_file(&file).at("remove", &file)?;
        }
        Ok(())
    }
}

/// The packages in a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let entries = fs::read_dir(folder).at("list", folder)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.at("list", folder)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "deb"));
    paths.sort();
    Ok(paths)
}

/// Reads the first stanza that `apt-cache show` prints.
fn package(shown: &str) -> Option<Package> {
    let field = |name: &str| {
        let lines = shown.lines().take_while(|line| !line.is_empty());
        lines
            .filter_map(|line| line.split_once(": "))
            .find(|(field, _)| *field == name)
            .map(|(_, value)| value.trim())
    };
    Some(Package {
        name: field("Package")?.into(),
        version: field("Version")?.into(),
        size: field("Size")?.parse().ok()?,
        unpacked: field("Installed-Size")?.parse::<u64>().ok()?.checked_mul(1024)?,
        sha256: field("SHA256")?.into(),
        depends: field("Depends").unwrap_or_default().into(),
    })
}

/// Names in a `Depends` field, the first of each choice.
fn dependencies(depends: &str) -> impl Iterator<Item = &str> {
    depends.split(',').filter_map(|choice| choice.split_whitespace().next())
}

/// Progress of apt, from a line of its status (`dlstatus:1:12.5:Retrieving file 1 of 3 (2s remaining)`).
fn percent(line: &str) -> Option<u8> {
    let percent = line.strip_prefix("dlstatus:")?.split(':').nth(1)?;
    let percent: f64 = percent.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent as u8)
}

/// Refuses a disk that cannot hold packages, their contents and so many bytes beside.
pub(crate) fn check_space<'a>(
    folder: &Path,
    packages: impl Iterator<Item = &'a Package>,
    beside: u64,
) -> Result<(), GuestError> {
    let needed = packages
        .map(|package| package.size.saturating_add(package.unpacked))
        .fold(STATE.saturating_add(beside), u64::saturating_add);
    let stat = statvfs(folder).map_err(std::io::Error::from).at("look at the room of", folder)?;
    let free = stat.blocks_available().saturating_mul(stat.fragment_size());
    if free < needed {
        return Err(GuestError::Space { path: folder.to_owned(), free: free >> 20, needed: needed >> 20 });
    }
    Ok(())
}

/// The Debian archive that this machine uses, as its apt names it.
pub(crate) fn archive() -> Result<String, GuestError> {
    let format = "$(ORIGIN)|$(RELEASE)|$(REPO_URI)";
    let targets = APT_GET.run(
        "asking for this machine's archives",
        APT_GET.command().args(["indextargets", "--format", format, "Created-By: Packages"]),
    )?;
    first_archive(&targets).map(str::to_owned).ok_or(GuestError::NoArchive)
}

/// The first archive of Debian's own suites. Their origin is known once apt has fetched a list; on a machine where it
/// has not yet, an archive's address ends as Debian's mirrors do.
fn first_archive(targets: &str) -> Option<&str> {
    let mut archives = targets.lines().filter_map(|line| {
        let mut fields = line.splitn(3, '|');
        Some((fields.next()?, fields.next()?, fields.next()?.trim()))
            .filter(|(_, suite, _)| !suite.contains("security"))
    });
    archives
        .find(|(origin, _, address)| {
            *origin == "Debian" || address.trim_end_matches('/').ends_with("/debian")
        })
        .map(|(_, _, address)| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "Package: linux-image-amd64\nSource: linux-signed-amd64 (6.1.176+1)\nVersion: 6.1.176-1\n\
        Installed-Size: 13\nDepends: linux-image-6.1.0-50-amd64 (= 6.1.176-1), other | third (>= 2)\nSize: 1480\n\
        SHA256: 03c256\nDescription: Linux\n\nPackage: another\nVersion: 0\n";

    #[test]
    fn a_package_is_read_from_its_stanza() {
        let package = package(SHOWN).unwrap();
        assert_eq!(
            (&*package.name, &*package.version, package.size, package.unpacked, &*package.sha256),
            ("linux-image-amd64", "6.1.176-1", 1480, 13 * 1024, "03c256")
        );
        assert_eq!(
            dependencies(&package.depends).collect::<Vec<_>>(),
            ["linux-image-6.1.0-50-amd64", "other"]
        );
    }

    #[test]
    fn stanzas_that_lack_a_field_are_none() {
        assert_eq!(package(""), None);
        assert_eq!(package(&SHOWN.replace("SHA256", "SHA1")), None);
        assert_eq!(package(&SHOWN.replace("Size: 1480", "Size: many")), None);
        assert_eq!(
            package(&SHOWN.replace("Installed-Size: 13", "Installed-Size: 18446744073709551615")),
            None
        );
    }

    #[test]
    fn progress_is_read_from_the_status() {
        assert_eq!(percent("dlstatus:1:12.5:Retrieving file 1 of 3 (2s remaining)"), Some(12));
        assert_eq!(percent("dlstatus:1:1e9:odd"), None);
        assert_eq!(percent("Get:1 something"), None);
    }

    #[test]
    fn the_archive_is_debians_own() {
        let targets = "Node|nodistro|http://node.example/\nDebian|bookworm-security|http://a.example/debian-security/\n\
            Debian|bookworm|http://a.example/d/\n";
        assert_eq!(first_archive(targets), Some("http://a.example/d/"));
        let unknown =
            "$(ORIGIN)|bookworm-security|http://a.example/debian/\n|bookworm|http://a.example/debian/\n";
        assert_eq!(first_archive(unknown), Some("http://a.example/debian/"));
        assert_eq!(first_archive("Ubuntu|noble|http://a.example/ubuntu/\n"), None);
        assert_eq!(first_archive("\n|\n||"), None);
    }
}
