//! The root file system of a guest: a tree of files as an archive that the kernel unpacks into memory.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cpio::newc::{self, ModeFileType};
use flate2::{Compression, GzBuilder};

/// Files and folders, by their paths without the leading `/`.
#[derive(Debug, Default)]
pub(crate) struct Tree(BTreeMap<String, Node>);

#[derive(Debug)]
enum Node {
    Folder,
    File(Vec<u8>),
}

impl Tree {
    /// A file, with the folders above it. Any may be run: a guest has one user, and no secrets.
    pub(crate) fn file(&mut self, path: &str, content: Vec<u8>) {
        self.put(path, Node::File(content));
    }

    /// An empty folder, with those above it.
    pub(crate) fn folder(&mut self, path: &str) {
        self.put(path, Node::Folder);
    }

    fn put(&mut self, path: &str, node: Node) {
        let path = path.trim_start_matches('/');
        for (at, _) in path.match_indices('/') {
            self.0.entry(path[..at].to_owned()).or_insert(Node::Folder);
        }
        self.0.insert(path.to_owned(), node);
    }

    /// Writes the tree as a newc archive. The same tree gives the same bytes.
    pub(crate) fn write(self, out: impl Write, packing: Packing) -> io::Result<()> {
        match packing {
            // The lowest level: the archive is unpacked at every boot, and read once from a warm disk.
            Packing::Gzip => {
                let mut out = GzBuilder::new().write(out, Compression::fast());
                self.archive(&mut out)?;
                out.finish()?.flush()
            }
            Packing::Plain => {
                let mut out = out;
                self.archive(&mut out)?;
                out.flush()
            }
        }
    }

    /// Names are ordered, so that a folder comes before its contents, as the kernel needs it.
    fn archive(self, mut out: &mut impl Write) -> io::Result<()> {
        for (inode, (path, node)) in (1..).zip(self.0) {
            let entry = newc::Builder::new(&path).ino(inode);
            let (entry, content) = match node {
                Node::Folder => {
                    (entry.mode(0o755).nlink(2).set_mode_file_type(ModeFileType::Directory), Vec::new())
                }
                Node::File(content) => {
                    (entry.mode(0o755).nlink(1).set_mode_file_type(ModeFileType::Regular), content)
                }
            };
            let size =
                u32::try_from(content.len()).map_err(|_| io::Error::other(format!("{path} is too large")))?;
            let mut file = entry.write(&mut out, size);
            file.write_all(&content)?;
            file.finish()?;
        }
        newc::trailer(&mut out)?;
        Ok(())
    }
}

/// Form of an archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    /// Small, for guests whose memory is read from a disk.
    Gzip,
    /// As it is: quickest to unpack, for guests that boot often.
    Plain,
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read as _;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.file("/init", b"#!/bin/sh\n".to_vec());
        tree.file("etc/libibverbs.d/rxe.driver", b"driver rxe\n".to_vec());
        tree.folder("proc");
        tree
    }

    fn written(tree: Tree) -> Vec<u8> {
        let mut bytes = Vec::new();
        tree.write(&mut bytes, Packing::Gzip).unwrap();
        bytes
    }

    #[test]
    fn the_archive_has_every_folder_before_what_is_in_it() {
        let archive = written(tree());
        let mut rest: Box<dyn io::Read> = Box::new(GzDecoder::new(&archive[..]));
        let mut seen = Vec::new();
        loop {
            let mut reader = newc::Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let mut content = String::new();
            reader.read_to_string(&mut content).unwrap();
            seen.push(format!("{:o} {} {content:?}", reader.entry().mode(), reader.entry().name()));
            rest = Box::new(reader.finish().unwrap());
        }
        assert_eq!(
            seen,
            [
                "40755 etc \"\"",
                "40755 etc/libibverbs.d \"\"",
                "100755 etc/libibverbs.d/rxe.driver \"driver rxe\\n\"",
                "100755 init \"#!/bin/sh\\n\"",
                "40755 proc \"\"",
            ]
        );
    }

    #[test]
    fn the_same_tree_gives_the_same_bytes() {
        assert_eq!(written(tree()), written(tree()));
    }
}
