//! Paths of the machine that a finding was made on, and their removal from the finding's texts.

use std::collections::BTreeMap;
use std::env;
use std::path::{MAIN_SEPARATOR, Path};

use crate::finding::{Document, FINDINGS, Kept};
use crate::page;

/// Paths of the machine, each with the name that takes its place.
#[derive(Debug, Default)]
pub(super) struct MachinePaths(BTreeMap<String, String>);

impl MachinePaths {
    /// Paths that the files of a finding may name: the NICs, the target and the testbed as the user gave them, the folders that hold the
    /// finding, and the user's home folder.
    pub(super) fn of(kept: &Kept) -> Self {
        let mut paths = Self::default();
        if let Some(home) = env::var_os("HOME").filter(|home| Path::new(home).components().count() > 1) {
            paths.add(Path::new(&home), "~");
        }
        let Document { requester_nic, responder_nic, target, testbed, id, .. } = &kept.document;
        // The campaign's folder becomes that of the bundle's member.
        let folder = kept.folder.canonicalize().unwrap_or_else(|_| kept.folder.clone());
        let above = folder.parent().filter(|above| above.file_name().is_some_and(|name| name == FINDINGS));
        let above = above.and_then(Path::parent).filter(|campaign| campaign.components().count() > 1);
        for (folder, instead) in [(above, "."), (Some(&*folder), id)] {
            folder.into_iter().for_each(|folder| paths.add(folder, instead));
        }
        let testbed = testbed.name();
        let given = [&*requester_nic.given, &*responder_nic.given, target, &*testbed].map(Path::new);
        let copied = [requester_nic, responder_nic].into_iter().filter_map(|copy| copy.path.as_deref());
        for path in given.into_iter().chain(copied).filter(|path| path.components().count() > 1) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            paths.add(path, &name);
        }
        paths
    }

    fn add(&mut self, path: &Path, instead: &str) {
        let path = path.to_string_lossy();
        let quoted = serde_json::Value::from(&*path).to_string();
        let [html, markdown] = page::escaped(&path);
        let quoted = quoted[1..quoted.len() - 1].to_owned();
        let forms = [path.to_string(), path.escape_debug().to_string(), quoted, html, markdown];
        self.0.extend(forms.map(|form| (form, instead.to_owned())));
    }

    /// The text without these paths.
    pub(super) fn removed_from(&self, mut text: String) -> String {
        let mut longest_first: Vec<_> = self.0.iter().collect();
        longest_first.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        for (path, instead) in longest_first {
            text = replaced(&text, path, instead);
        }
        text
    }
}

/// A text with a path replaced where it is whole or the beginning of a longer one.
fn replaced(text: &str, path: &str, instead: &str) -> String {
    let is_of_name = |c: char| c.is_alphanumeric() || "-_".contains(c);
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let end = at + path.len();
        let before = result.chars().chain(rest[..at].chars()).next_back();
        let is_inside = before.is_some_and(|c| is_of_name(c) || ['.', MAIN_SEPARATOR].contains(&c))
            || rest[end..].starts_with(is_of_name);
        result.push_str(&rest[..at]);
        result.push_str(if is_inside { path } else { instead });
        rest = &rest[end..];
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_replaced_where_they_are_whole() {
        let mut paths = MachinePaths::default();
        paths.add(Path::new("/home/a b/\"nics\"/my.toml"), "my.toml");
        paths.add(Path::new("/home/a b"), "~");
        paths.add(Path::new("../x"), "x");
        for (text, expected) in [
            ("given = /home/a b/\"nics\"/my.toml, and /home/a b/c", "given = my.toml, and ~/c"),
            (r#"{"given": "/home/a b/\"nics\"/my.toml"}"#, r#"{"given": "my.toml"}"#),
            ("(/home/a b) /home/a bc /mnt/home/a b", "(~) /home/a bc /mnt/home/a b"),
            ("../x ../../x ../xy ../x", "x ../../x ../xy x"),
            ("<td>/home/a b/&#34;nics&#34;/my.toml</td>", "<td>my.toml</td>"),
        ] {
            assert_eq!(paths.removed_from(text.to_owned()), expected);
        }
    }
}
