//! Files as trees with positions: TOML and YAML become the same [`Node`]s, and one typed reader
//! collects everything that is wrong with them.

mod reader;
mod section;
mod toml;
mod yaml;

use std::ops::Range;

use crate::error::Finding;

pub use self::reader::clip;
pub(crate) use self::{
    reader::{Names, Reader, list_or, quoted},
    section::Section,
};

/// Upper bound on the size of a file, in bytes. The largest useful configuration (4096 events) is
/// a quarter of it.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// Upper bound on nesting; our deepest value is four levels down.
const MAX_DEPTH: usize = 32;

/// The languages that configurations are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Our own.
    Toml,
    /// Lumina's.
    Yaml,
}

/// A value and the bytes of the file that it stands in.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float,
    Text(String),
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

impl Format {
    /// The tree of a text.
    pub(crate) fn parse(self, text: &str) -> Result<Node, Vec<Finding>> {
        match self {
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text).map_err(|error| vec![error]),
        }
    }
}
