//! Contents of an image, with checksums.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{GuestError, Kernel};
use crate::guests::error::At as _;

/// Raised when the contents of an image, or the form of a manifest, change: older ones are then built again.
const FORMAT: u32 = 1;

/// Most bytes of a manifest; a longer file is not a manifest.
const LARGEST: u64 = 1 << 20;

/// A package of which an image has files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageVersion {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the package's file, as the signed archive has it.
    pub sha256: String,
}

/// Contents of one folder of the cache, and their sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    /// The kernel, as the image is called.
    pub kernel: Kernel,
    /// The kernel's release (`6.1.0-50-amd64`).
    pub release: String,
    /// Debian packages in it.
    pub packages: Vec<PackageVersion>,
    /// SHA-256 of further inputs, by name: the agent, its libraries, the parts from Debian.
    pub inputs: BTreeMap<String, String>,
    /// SHA-256 of the folder's files, by their paths in it.
    pub files: BTreeMap<String, String>,
}

impl Manifest {
    /// The name of its file.
    pub(crate) const FILE: &str = "manifest.json";

    /// A manifest of the files in `folder`, which has no others.
    pub(crate) fn of(
        folder: &Path,
        kernel: Kernel,
        release: String,
        packages: Vec<PackageVersion>,
        inputs: BTreeMap<String, String>,
        files: &[String],
    ) -> Result<Self, GuestError> {
        let digest = |file: &String| Ok((file.clone(), digest_of(&folder.join(file))?));
        let files = files.iter().map(digest).collect::<Result<_, GuestError>>()?;
        Ok(Self { format: FORMAT, kernel, release, packages, inputs, files })
    }

    /// Writes it into its folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), GuestError> {
        let path = folder.join(Self::FILE);
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        text.and_then(|text| fs::write(&path, text)).at("write", &path)
    }

    /// Reads the manifest of a folder, and holds its files to it.
    ///
    /// # Errors
    /// Difference of the folder from its manifest, in words that follow the folder's name.
    pub(crate) fn read(folder: &Path, kernel: &Kernel) -> Result<Self, String> {
        let path = folder.join(Self::FILE);
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
        read.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "it was not built yet".to_owned(),
            _ => format!("its manifest cannot be read: {error}"),
        })?;
        let manifest: Self =
            serde_json::from_str(&text).map_err(|error| format!("its manifest is damaged: {error}"))?;
        if manifest.format != FORMAT {
            return Err("it was built by another version of this program".into());
        }
        if manifest.kernel != *kernel {
            return Err(format!("its manifest is that of Linux {}", manifest.kernel));
        }
        for (file, expected) in &manifest.files {
            let digest = digest_of(&folder.join(file)).map_err(|error| error.to_string())?;
            if digest != *expected {
                return Err(format!("its file {file} is damaged (its checksum is wrong)"));
            }
        }
        Ok(manifest)
    }

    /// One checksum over everything.
    pub(crate) fn digest(&self) -> String {
        let files = self.files.iter().map(|(file, digest)| format!("{file} {digest}\n"));
        hex(&Sha256::digest(files.collect::<String>()))
    }
}

/// SHA-256 of a file.
pub(crate) fn digest_of(path: &Path) -> Result<String, GuestError> {
    let mut file = File::open(path).at("open", path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer).at("read", path)? {
            0 => return Ok(hex(&hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// SHA-256 of bytes.
pub(crate) fn digest_of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Manifest) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("vmlinuz"), b"kernel").unwrap();
        fs::write(folder.path().join("initramfs"), b"files").unwrap();
        let inputs = BTreeMap::from([("agent".to_owned(), digest_of_bytes(b"agent"))]);
        let files = ["vmlinuz", "initramfs"].map(String::from);
        let release = "6.1.0-50-amd64".to_owned();
        let manifest =
            Manifest::of(folder.path(), Kernel::V6_1, release, Vec::new(), inputs, &files).unwrap();
        manifest.write(folder.path()).unwrap();
        (folder, manifest)
    }

    fn spoilt(spoil: impl Fn(&Path)) -> String {
        let (folder, _) = folder();
        spoil(folder.path());
        Manifest::read(folder.path(), &Kernel::V6_1).unwrap_err()
    }

    #[test]
    fn a_whole_folder_reads_as_it_was_written() {
        let (folder, manifest) = folder();
        assert_eq!(Manifest::read(folder.path(), &Kernel::V6_1).unwrap(), manifest);
        assert_eq!(manifest.files["vmlinuz"], digest_of_bytes(b"kernel"));
    }

    #[test]
    fn checksums_are_sha256() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            digest_of_bytes(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn damage_is_named() {
        assert!(
            spoilt(|folder| fs::write(folder.join("initramfs"), b"filez").unwrap())
                .contains("initramfs is damaged")
        );
        assert!(spoilt(|folder| fs::remove_file(folder.join("vmlinuz")).unwrap()).contains("vmlinuz"));
        assert!(
            spoilt(|folder| fs::write(folder.join("manifest.json"), b"{").unwrap())
                .contains("manifest is damaged")
        );
        assert!(
            spoilt(|folder| fs::remove_file(folder.join("manifest.json")).unwrap()).contains("not built yet")
        );
        let other_format = |folder: &Path| {
            let path = folder.join("manifest.json");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replace(&format!("\"format\": {FORMAT}"), "\"format\": 0")).unwrap();
        };
        assert!(spoilt(other_format).contains("another version"));
    }

    #[test]
    fn the_image_of_another_kernel_is_refused() {
        let (folder, _) = folder();
        assert!(Manifest::read(folder.path(), &Kernel::V6_12).unwrap_err().contains("Linux 6.1"));
    }

    #[test]
    fn the_digest_of_all_changes_with_each_file() {
        let (_folder, manifest) = folder();
        let mut other = manifest.clone();
        other.files.insert("vmlinuz".into(), digest_of_bytes(b"other"));
        assert_ne!(manifest.digest(), other.digest());
    }
}
