//! A file of either format, for the command line.

use std::{fs::File, io, io::Read as _, path::Path};

use crate::{
    config::TestConfig,
    error::ConfigErrors,
    intake::too_large,
    lumina::{Dialect, ImportNote, Imported, Lab, from_yaml},
    source::{Format, MAX_FILE_BYTES, Value},
    toml_form::from_toml,
};

/// A configuration and how it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The test.
    pub config: TestConfig,
    /// The language of the file.
    pub format: Format,
    /// The dialect, if it is Lumina's YAML.
    pub dialect: Option<Dialect>,
    /// The laboratory of a Lumina file; none of TOML.
    pub lab: Lab,
    /// Parts of a Lumina file that the configuration does not hold as they stand; empty for TOML.
    pub notes: Vec<ImportNote>,
}

/// Reads a file: TOML if its name ends in `.toml`, Lumina YAML if in `.yaml` or `.yml`, else by its text.
///
/// # Errors
/// The file cannot be read, is larger than [`MAX_FILE_BYTES`] or no UTF-8; or everything that is
/// wrong with its text.
pub fn load(path: impl AsRef<Path>) -> Result<Loaded, ConfigErrors> {
    let path = path.as_ref();
    let file = path.display().to_string();
    let text = read_text(path)?;
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let format = match extension.to_ascii_lowercase().as_str() {
        "toml" => Format::Toml,
        "yaml" | "yml" => Format::Yaml,
        _ => guess(&text),
    };
    load_text(&file, &text, format, None).map_err(|errors| hinted(errors, &text, format))
}

/// Says of a text that is in the other language than its name tells, and is reported for that, what to call it.
fn hinted(errors: ConfigErrors, text: &str, format: Format) -> ConfigErrors {
    let (other, help) = match format {
        Format::Toml => (Format::Yaml, "the text is YAML: a file in Lumina's language ends in .yaml or .yml"),
        Format::Yaml => (Format::Toml, "the text is TOML: the file's name should end in .toml"),
    };
    let is_other = format.parse(text).is_err() && guess(text) == other;
    let is_other = is_other && other.parse(text).is_ok_and(|tree| matches!(tree.value, Value::Table(_)));
    // Every line of it is wrong in the language of the name; one says it.
    if is_other { errors.with_only_first(help) } else { errors }
}

/// Reads a text whose format is known; `dialect` overrules the keys of a Lumina file.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn load_text(
    file: &str,
    text: &str,
    format: Format,
    dialect: Option<Dialect>,
) -> Result<Loaded, ConfigErrors> {
    match format {
        Format::Toml => {
            let config = from_toml(file, text)?;
            Ok(Loaded { config, format, dialect: None, lab: Lab::default(), notes: Vec::new() })
        }
        Format::Yaml => {
            let Imported { config, dialect, lab, notes } = from_yaml(file, text, dialect)?;
            Ok(Loaded { config, format, dialect: Some(dialect), lab, notes })
        }
    }
}

/// Opens a file to read it, if it is a regular one: a named pipe would wait for its writer, a device may have no end.
///
/// # Errors
/// It is not there, of another kind, or cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let metadata = std::fs::metadata(path)?;
    // Reading a folder is refused by the system, in words that users know.
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(io::Error::other("it is not a regular file"));
    }
    File::open(path)
}

/// The text of a file, never more than [`MAX_FILE_BYTES`] even if it grows.
///
/// # Errors
/// The file cannot be read, is not a regular one, is larger or no UTF-8.
pub fn read_text(path: &Path) -> Result<String, ConfigErrors> {
    let file = &path.display().to_string();
    let cannot = |error: &io::Error| {
        let help = match error.kind() {
            io::ErrorKind::Other => "named pipes, sockets and devices are not read",
            _ => "check the name and its permissions",
        };
        ConfigErrors::whole_file(file, format!("cannot be read: {error}"), help)
    };
    let mut bytes = Vec::new();
    let opened = open_regular(path).map_err(|error| cannot(&error))?;
    opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(file));
    }
    String::from_utf8(bytes).map_err(|error| {
        let message = format!("is not text: byte {} is not UTF-8", error.utf8_error().valid_up_to());
        ConfigErrors::whole_file(file, message, "save it as UTF-8")
    })
}

/// The format of a text without a telling name, by its first line that says something.
fn guess(text: &str) -> Format {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    match line {
        Some(line) if line.starts_with('[') || line.contains('=') => Format::Toml,
        Some(_) => Format::Yaml,
        None => Format::Toml,
    }
}
