//! The agent that goes into an image, with its libraries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::At as _;
use super::initramfs::Tree;
use super::manifest::{Manifest, digest_of, digest_of_bytes};
use super::tool::STRIP;
use super::{AGENT, GuestError, libraries};

/// Returns true if the agent among the inputs of an image is the program at that path.
pub(crate) fn is_in(inputs: &BTreeMap<String, String>, agent: &Path) -> bool {
    digest_of(agent).is_ok_and(|digest| inputs.get(AGENT) == Some(&digest))
}

/// The agent with its libraries.
pub(crate) struct Agent {
    path: PathBuf,
    content: Vec<u8>,
    libraries: Vec<PathBuf>,
    /// Checksums of all of them.
    digests: BTreeMap<String, String>,
}

impl Agent {
    /// Reads the program at a path, and finds its libraries.
    pub(crate) fn read(path: &Path) -> Result<Self, GuestError> {
        let content = fs::read(path)
            .map_err(|error| GuestError::Program { path: path.into(), why: error.to_string() })?;
        libraries::check(path, &content)?;
        let libraries = libraries::of(path)?;
        let mut digests = BTreeMap::from([(AGENT.to_owned(), digest_of_bytes(&content))]);
        for library in &libraries {
            digests.insert(library.display().to_string(), digest_of(library)?);
        }
        Ok(Self { path: path.to_owned(), content, libraries, digests })
    }

    /// Checksums of everything that an image is made from: it, the first process if that is another, and the parts.
    pub(crate) fn inputs(&self, init: Option<&str>, parts: &Manifest) -> BTreeMap<String, String> {
        let mut inputs = self.digests.clone();
        inputs.extend(init.map(|init| ("init".to_owned(), digest_of_bytes(init.as_bytes()))));
        inputs.insert("parts".into(), parts.digest());
        inputs
    }

    /// Puts it and its libraries into the tree of an image. They come after the parts: of a library that both have, this
    /// machine's is the newer.
    pub(crate) fn put(self, tree: &mut Tree, work: &Path) -> Result<(), GuestError> {
        for library in &self.libraries {
            tree.file(&library.display().to_string(), fs::read(library).at("read", library)?);
        }
        tree.file(&format!("bin/{AGENT}"), self.stripped(work)?);
        Ok(())
    }

    /// The program without its symbols, which only take memory in a guest; whole if they cannot be taken away.
    fn stripped(self, work: &Path) -> Result<Vec<u8>, GuestError> {
        let stripped = work.join("agent");
        let doing = format!("stripping {}", self.path.display());
        let done = STRIP.run(&doing, STRIP.command().arg("-o").arg(&stripped).arg(&self.path));
        match done {
            Ok(_) => {
                let content = fs::read(&stripped).at("read", &stripped)?;
                fs::remove_file(&stripped).at("remove", &stripped)?;
                Ok(content)
            }
            Err(_) => Ok(self.content),
        }
    }
}
