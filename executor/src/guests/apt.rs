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

/// Suites of the archive, whose packages are looked for together.
pub(crate) struct Apt {
    options: Vec<String>,
    /// The name of the first.
    suite: &'static str,
}

/// The suite of security updates of Debian 12, which has both series of kernels.
const SECURITY: &str = "bookworm-security";

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
        archives: &Archives,
        state: &Path,
        tell: &dyn Fn(Event<'_>),
    ) -> Result<Self, GuestError> {
        let Archives { main: archive, security } = archives;
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
        let line = |(archive, suite)| format!("deb [signed-by={KEYS}] {archive} {suite} main\n");
        let security = security.as_ref().map(|security| (security, SECURITY));
        let lines: String = [(archive, suite)].into_iter().chain(security).map(line).collect();
        fs::write(&sources, lines).at("write", &sources)?;
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

    /// The newest version of a package.
    pub(crate) fn package(&self, name: &str) -> Result<Package, GuestError> {
        self.version_of(name, None)
    }

    /// A package, of an upstream version or the newest.
    pub(crate) fn version_of(&self, name: &str, version: Option<&str>) -> Result<Package, GuestError> {
        let doing = self.doing(&format!("looking for package {name}"));
        let mut command = self.command(APT_CACHE);
        command.arg("show");
        if version.is_none() {
            command.arg("--no-all-versions");
        }
        let shown = APT_CACHE.run(&doing, command.arg(name))?;
        let wrong = |why| GuestError::Package { package: name.into(), why };
        let packages: Vec<Package> = shown.split("\n\n").filter_map(package).collect();
        let Some(wanted) = version else {
            let said = || wrong(format!("what {} says of it cannot be read", self.suite));
            return packages.into_iter().next().ok_or_else(said);
        };
        let there = packages.iter().map(|package| upstream(&package.version)).collect::<Vec<_>>().join(", ");
        let found = packages.into_iter().find(|package| upstream(&package.version) == wanted);
        found.ok_or_else(|| wrong(format!("the archive has no version {wanted}; it has {there}")))
    }

    /// A package in a version, or, where the suite does not have it, another one in that version.
    pub(crate) fn either(
        &self,
        (name, other): (&str, Option<&str>),
        version: Option<&str>,
    ) -> Result<Package, GuestError> {
        let is_there = |name: &&str| self.version_of(name, None).is_ok();
        let found = [name].into_iter().chain(other).find(is_there);
        self.version_of(found.unwrap_or(name), version)
    }

    /// The package that a metapackage stands for: the first that it depends on whose name begins so.
    pub(crate) fn stands_for(&self, metapackage: &Package, prefix: &str) -> Result<Package, GuestError> {
        let (depends, metapackage) = (&metapackage.depends, &metapackage.name);
        let name = dependencies(depends).find(|name| name.starts_with(prefix)).ok_or_else(|| {
            GuestError::Package {
                package: metapackage.clone(),
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

/// The upstream version of a package's version (`6.12.107` of `6.12.107-1~deb12u1`).
fn upstream(version: &str) -> &str {
    version.rsplit_once('-').map_or(version, |(upstream, _)| upstream)
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

/// Debian archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Archives {
    main: String,
    /// That of the security updates, if there is one.
    security: Option<String>,
}

impl Archives {
    /// The one that the user names, or else those that this machine uses, as its apt names them.
    pub(crate) fn of(mirror: Option<&str>) -> Result<Self, GuestError> {
        if let Some(mirror) = mirror {
            return Ok(Self { main: mirror.to_owned(), security: None });
        }
        let format = "$(ORIGIN)|$(RELEASE)|$(REPO_URI)";
        let targets = APT_GET.run(
            "asking for this machine's archives",
            APT_GET.command().args(["indextargets", "--format", format, "Created-By: Packages"]),
        )?;
        Self::among(&targets).ok_or(GuestError::NoArchive)
    }

    /// The first archives of Debian's own suites. Their origin is known once apt has fetched a list; on a machine where it
    /// has not yet, an archive's address ends as those of Debian's mirrors do.
    fn among(targets: &str) -> Option<Self> {
        let archives = targets.lines().filter_map(|line| {
            let mut fields = line.splitn(3, '|');
            Some((fields.next()?, fields.next()?, fields.next()?.trim()))
        });
        let first = |of_security: bool, end: &str| {
            let mut archives = archives.clone().filter(|(_, suite, address)| {
                (suite.contains("security") || address.contains("security")) == of_security
            });
            let found = archives.find(|(origin, _, address)| {
                *origin == "Debian" || address.trim_end_matches('/').ends_with(end)
            });
            found.map(|(_, _, address)| address.to_owned())
        };
        Some(Self { main: first(false, "/debian")?, security: first(true, "/debian-security") })
    }
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
    fn the_archives_are_debians_own() {
        let archives = |main: &str, security: Option<&str>| {
            Some(Archives { main: main.into(), security: security.map(str::to_owned) })
        };
        let targets = "Node|nodistro|http://node.example/\nDebian|bookworm-security|http://a.example/debian-security/\n\
            Debian|bookworm|http://a.example/d/\n";
        let both = archives("http://a.example/d/", Some("http://a.example/debian-security/"));
        assert_eq!(Archives::among(targets), both);
        let unknown =
            "$(ORIGIN)|bookworm-security|http://a.example/debian/\n|bookworm|http://a.example/debian/\n";
        assert_eq!(Archives::among(unknown), archives("http://a.example/debian/", None));
        assert_eq!(Archives::among("Ubuntu|noble|http://a.example/ubuntu/\n"), None);
        assert_eq!(Archives::among("\n|\n||"), None);
    }

    #[test]
    fn a_version_is_the_upstream_one() {
        assert_eq!(upstream("6.12.107-1~deb12u1"), "6.12.107");
        assert_eq!(upstream("6.1.192-2"), "6.1.192");
        assert_eq!(upstream("1"), "1");
    }
}
